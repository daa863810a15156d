"""The command `trifact`, which is also `python -m trifact`."""

import sys


def main() -> None:
    """Run the command; a Ctrl-C while it is still being imported is no traceback either."""
    try:
        from trifact.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("trifact: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
