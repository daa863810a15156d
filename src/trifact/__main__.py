"""`python -m trifact` is the command `trifact`."""

from trifact.cli import main

if __name__ == "__main__":
    main()
