"""The root command: usage errors in the form of every other problem, and plain text where colours are unwanted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup

from foretell.cli.errors import Problem, show_problem

UNSAFE = "--unsafe"
UNSAFE_VARIABLE = "FORETELL_UNSAFE"
_JSON = "foretell.json"
_UNREADABLE = re.compile(r"Input should be a valid (\w+), unable to parse string as an? \w+")
# Typer keeps its copy of click's exceptions private, or uses click's: this is UsageError in both cases.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Root(TyperGroup):
    """Reports what the parser rejects as a `Problem`, also as a JSON document if `--json` was given.

    `--unsafe` may stand anywhere: it holds for the whole command.
    """

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        plain_help()
        if UNSAFE in args:
            args = [argument for argument in args if argument != UNSAFE]
            os.environ[UNSAFE_VARIABLE] = "1"
        as_json = "--json" in args
        with _usage_errors(as_json):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[_JSON] = as_json
        return context

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        for one in (command, *getattr(command, "commands", {}).values()):
            if one is not None:
                _without_types(one.get_params(ctx))
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        with _usage_errors(ctx.meta.get(_JSON, False)):
            return super().invoke(ctx)


def _without_types(parameters: Any) -> Any:
    """The same parameters; the help of those that are flags no longer names a type, as if they took a value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


def help_alone(context: typer.Context) -> None:
    """Show the help of a group that is called without a command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def plain_help() -> None:
    """Keep Typer from styling help if NO_COLOR is set, and from styling what is not read on a terminal."""
    if os.environ.get("NO_COLOR") or os.environ.get("GITHUB_ACTIONS"):
        from typer import rich_utils

        if os.environ.get("NO_COLOR"):
            rich_utils.COLOR_SYSTEM = None
        if not os.environ.get("FORCE_COLOR"):
            rich_utils.FORCE_TERMINAL = None


@contextmanager
def _usage_errors(as_json: bool) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        problem = _problem(error)
        show_problem(problem, as_json)
        raise typer.Exit(problem.code) from None


def _problem(error: Any) -> Problem:
    command = error.ctx.command_path if error.ctx is not None else "foretell"
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        meant = _meant(error.option_name, error)
        return Problem(f"no such option: {error.option_name}", do=f"{meant}{command} --help")
    message = _with_value(" ".join(error.format_message().split()).rstrip("."), error.__cause__)
    return Problem(message[:1].lower() + message[1:], do=f"{command} --help")


def _meant(option: str, error: Any) -> str:
    """The options that a misspelt one is close to: of its command or, with their names, of others. May be empty."""
    if near := get_close_matches(option, error.possibilities or ()):
        return f"did you mean {' or '.join(near)}? "
    above = error.ctx.parent if error.ctx is not None else None
    having: dict[str, list[str]] = {}
    for name, command in getattr(getattr(above, "command", None), "commands", {}).items():
        for other in (text for parameter in command.params for text in parameter.opts):
            having.setdefault(other, []).append(name)
    near = get_close_matches(option, having, 1)
    return f"did you mean {near[0]} (of {', '.join(having[near[0]])})? " if near else ""


def _with_value(message: str, cause: Any) -> str:
    """The message with the value that could not be read, where Typer's parser says only what it expected."""
    rejected = [repr(problem["input"]) for problem in cause.errors()] if hasattr(cause, "errors") else []
    return _UNREADABLE.sub(lambda match: f"{(rejected or ['it'])[0]} is not a valid {match[1]}", message)
