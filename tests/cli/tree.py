"""Every command of the command line with its parameters, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from typer.main import get_command

from foretell.cli.app import app


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands by their path, groups included; the root has the empty path."""
    command = _root() if command is None else command
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


@cache
def _root() -> Any:
    return get_command(app)


def parameters() -> Iterator[tuple[tuple[str, ...], Any]]:
    """All parameters with the path of their command, without the help option."""
    for path, command in commands():
        for parameter in command.params:
            yield path, parameter


def is_flag(parameter: Any) -> bool:
    return bool(getattr(parameter, "is_flag", False))


def is_option(parameter: Any) -> bool:
    return str(parameter.param_type_name) == "option"
