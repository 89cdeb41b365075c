"""The command line: verbs on nouns the user already has, one file per verb; heavy imports are lazy."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `foretell` command."""
    try:
        from foretell.cli.app import app

        app()
    except KeyboardInterrupt:  # a second passes before a verb can see to it
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


__all__ = ["main"]
