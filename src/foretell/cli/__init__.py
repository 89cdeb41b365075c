"""The command line: verbs on nouns the user already has, one file a verb; heavy imports wait until they are needed."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `foretell` command."""
    from foretell.cli.app import app

    app()


__all__ = ["main"]
