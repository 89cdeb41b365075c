"""An error that nobody foresaw: told in three lines with an exit code of its own, and in full where asked for."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from foretell.cli import errors
from foretell.cli.app import app
from foretell.kernels import library


class _Broken(Exception):
    def __str__(self) -> str:
        raise RecursionError


@pytest.fixture(params=[KeyError("a\x1b[31m\n" * 1000), RecursionError(), ValueError("much"), _Broken()])
def error(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Exception:
    error: Exception = request.param

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(library, "tasks", fail)
    return error


def test_it_is_told_in_three_lines(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(errors.TRACEBACK)
    done = CliRunner().invoke(app, ["tasks"])
    assert done.exit_code == errors.INTERNAL == 70
    first, second, third = done.stderr.splitlines()
    assert first.startswith(f"error: internal error: {type(error).__name__}") and len(first) < 400
    assert "nothing that was written before is lost" in second
    assert "FORETELL_TRACEBACK=1" in third
    assert done.stderr.replace("\n", "").isprintable()


def test_it_is_the_document_of_a_command_with_json(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(errors.TRACEBACK)
    done = CliRunner().invoke(app, ["tasks", "--json"])
    assert done.exit_code == 70
    assert json.loads(done.stdout)["error"]["code"] == 70


def test_it_is_raised_where_that_is_asked_for(error: Exception) -> None:
    assert CliRunner().invoke(app, ["tasks"]).exception is error
