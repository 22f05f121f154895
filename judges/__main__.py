"""`python -m judges` is the `judges` command."""

from judges.cli.app import main

if __name__ == "__main__":
    main()
