"""What holds for every parameter of every command: it is explained, and numbers are checked before anything is made."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.models import OptionInfo

from foretell.cli.app import app
from foretell.kernels.profiles import Budgets
from tests.cli.conftest import Invoke
from tests.cli.tree import commands, is_flag, is_option, parameters

ALL = list(parameters())
WORDS = {"", "TEXT", "PATH", "INTEGER", "FLOAT", "FILENAME", "DIRECTORY", "STR", "INT", "BOOL"}
COMPLETION = ("install_completion", "show_completion")


def _name(one: tuple[tuple[str, ...], Any]) -> str:
    path, parameter = one
    return " ".join((*path, parameter.opts[0] if is_option(parameter) else parameter.name))


def _numeric() -> list[tuple[tuple[str, ...], Any, type]]:
    """Options that take one number, with its type."""
    from typing import get_type_hints

    found = []
    for path, command in commands():
        hints = get_type_hints(inspect.unwrap(command.callback)) if command.callback is not None else {}
        for parameter in command.params:
            kinds = {int, float} & {hints.get(parameter.name), *get_args(hints.get(parameter.name))}
            if is_option(parameter) and kinds:
                found.append((path, parameter, kinds.pop()))
    return found


NUMERIC = _numeric()


def test_there_are_numbers_to_check() -> None:
    assert {parameter.name for _, parameter, _ in NUMERIC} >= {"seconds", "seed", "measurements", "threshold", "kl"}


@pytest.mark.parametrize("one", ALL, ids=map(_name, ALL))
def test_every_parameter_is_explained(one: tuple[tuple[str, ...], Any]) -> None:
    _, parameter = one
    assert (parameter.help or "").strip()
    if is_flag(parameter) or parameter.name in COMPLETION:
        return
    metavar = re.sub(r"[\[\].]", "", parameter.metavar or "")
    assert metavar not in WORDS and metavar == metavar.upper()


@pytest.mark.parametrize(
    ("path", "command"), list(commands()), ids=lambda one: " ".join(one) if isinstance(one, tuple) else ""
)
def test_every_command_has_help(path: tuple[str, ...], command: Any, invoke: Invoke) -> None:
    done = invoke(*path, "--help")
    assert done.exit_code == 0 and (command.help or "").strip().splitlines()[0] in " ".join(done.stdout.split())
    assert "<bool>" not in done.stdout  # a flag takes no value


@pytest.mark.parametrize(
    ("path", "parameter", "kind"), NUMERIC, ids=[_name((path, parameter)) for path, parameter, _ in NUMERIC]
)
def test_numbers_that_make_no_sense_are_refused_before_anything_is_made(
    path: tuple[str, ...], parameter: Any, kind: type, invoke: Invoke, own_place: Path
) -> None:
    command = dict(commands())[path]
    needed: list[str] = []
    for other in command.params:
        if other.required and other is not parameter:
            needed += [other.opts[0], "given"] if is_option(other) else ["given"]
    for value in ("nan", "inf", "-inf", "-1", "many", "9" * 400):
        result = invoke(*path, *needed, parameter.opts[0], value)
        assert result.exit_code == 2, (value, result.output)
        assert re.search("^error: ", result.stderr, re.MULTILINE) and parameter.opts[0] in result.stderr
        assert list(own_place.iterdir()) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, -1.0])
def test_budgets_are_finite_and_above_zero(value: float) -> None:
    with pytest.raises(ValueError, match="above zero and finite"):
        Budgets(measurements=1, seconds=value, candidates=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("measure",), "missing argument 'TASK'"),
        (("search", "softmax", "--jsn"), "no such option: --jsn"),
        (("serch", "softmax"), "no such command 'serch'"),
        (("--nonsense",), "no such option: --nonsense"),
    ],
)
def test_usage_errors_read_as_all_others_do(arguments: tuple[str, ...], words: str, invoke: Invoke) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("error: ") and words in result.stderr
    assert "--help" in result.stderr.splitlines()[-1]


def test_a_usage_error_is_also_one_json_document(invoke: Invoke) -> None:
    result = invoke("search", "softmax", "--seconds", "nan", "--json")
    assert result.exit_code == 2 and "not a finite number" in json.loads(result.stdout)["error"]["what"]


@pytest.mark.parametrize("group", ["catalogue", "data", "train", "gui"])
def test_a_group_by_itself_shows_its_help(group: str, invoke: Invoke) -> None:
    result = invoke(group)
    assert result.exit_code == 0 and "Commands" in result.stdout


def test_json_is_a_flag_everywhere() -> None:
    options = [parameter for _, parameter in ALL if "--json" in parameter.opts]
    assert all(is_flag(option) for option in options)
    without = {path for path, command in commands() if path and not getattr(command, "commands", None)} - {
        path for path, parameter in ALL if "--json" in parameter.opts
    }
    assert without == {("report",), ("gui", "replay")}  # both print the path of the page that they write


def test_the_app_is_complete() -> None:
    assert app.info.name == "foretell"


def test_options_whose_metavar_is_their_name_say_their_name() -> None:
    """Typer 0.27 takes such a metavar for the name of the option: `--TASK`."""
    from typing import get_type_hints

    unnamed = []
    for path, command in commands():
        hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True) if command.callback else {}
        for name, hint in hints.items():
            for option in getattr(hint, "__metadata__", ()):
                if isinstance(option, OptionInfo) and str(option.metavar).lower() == name:
                    unnamed += [(*path, name)] if option.default is ... and not option.param_decls else []
    assert unnamed == []
