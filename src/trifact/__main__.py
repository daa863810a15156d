"""`python -m trifact` is the command `trifact`."""

from trifact.cli import main

main()
