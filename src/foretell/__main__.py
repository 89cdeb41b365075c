"""`python -m foretell`: the command line."""

from foretell.cli import main

main()
