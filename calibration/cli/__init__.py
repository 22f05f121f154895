"""The commands that hold judges against people's labels. Each is mounted into the `judges` command by its entry point."""
