"""The `judges` command."""
