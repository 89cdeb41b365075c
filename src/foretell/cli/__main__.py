"""`python -m foretell.cli`: the same as the `foretell` command."""

from foretell.cli import main

main()
