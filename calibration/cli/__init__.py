"""The commands that hold judges against people's labels, each mounted into the `judges` command by its entry point."""
