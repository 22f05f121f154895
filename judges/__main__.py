"""`python -m judges`, and the `judges` command."""

import sys


def main() -> None:
    """Run the command line and exit. Ctrl-C is heard from the start, while the command line is still loading."""
    try:
        from judges.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
