"""`foretell catalogue`: listed, shown and cleared; damaged files and rows are told, never a traceback."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foretell.cli.app import app
from tests.cli.conftest import FakeBench, Invoke

SMALL = ("--measurements", "4", "--profile", "quick", "--no-report")


@pytest.fixture
def filled(bench: FakeBench, invoke: Invoke, tmp_path: Path) -> Path:
    assert invoke("search", "softmax", *SMALL).exit_code == 0
    return tmp_path / "cache" / "catalogue.sqlite"


def test_an_empty_catalogue_is_listed_as_one(invoke: Invoke, tmp_path: Path) -> None:
    assert "0 candidates" in invoke("catalogue", "list").stdout
    assert json.loads(invoke("catalogue", "list", "--json").stdout)["groups"] == []
    assert not (tmp_path / "cache" / "catalogue.sqlite").exists()


def test_listed_by_task_and_device(filled: Path, invoke: Invoke) -> None:
    [group] = json.loads(invoke("catalogue", "list", "--json").stdout)["groups"]
    assert group["task"] == "softmax" and group["candidates"] >= 4 and group["best"] > 0
    assert "softmax" in invoke("catalogue", "list").stdout
    assert json.loads(invoke("catalogue", "list", "--task", "row_sum", "--json").stdout)["groups"] == []


def test_one_candidate_is_shown_with_all_its_rows(filled: Path, invoke: Invoke) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        ids = [id for (id,) in connection.execute("SELECT candidate FROM measurements")]
    again = max(ids, key=ids.count)
    assert ids.count(again) > 1, "a winner is measured again"
    told = json.loads(invoke("catalogue", "show", again[:12], "--json").stdout)
    assert told["candidate"]["id"] == again
    [group] = told["groups"]
    assert len(group["rows"]) == ids.count(again)
    assert group["combined"]["conditions"]["combined"] == ids.count(again)
    assert "together" in invoke("catalogue", "show", again).stdout


def test_an_unknown_or_ambiguous_id_is_refused(filled: Path, invoke: Invoke) -> None:
    unknown = invoke("catalogue", "show", "nothing")
    assert unknown.exit_code == 2 and "foretell catalogue list" in unknown.stderr
    assert invoke("catalogue", "show", "").exit_code == 2
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("UPDATE measurements SET candidate = 'ab' || id")
    damaged = invoke("catalogue", "show", "ab")
    assert damaged.exit_code == 2 and "damaged rows" in damaged.stderr


def test_cleared_only_after_a_confirmation(filled: Path, invoke: Invoke) -> None:
    rows = json.loads(invoke("catalogue", "list", "--json").stdout)["groups"][0]["rows"]
    refused = CliRunner().invoke(app, ["catalogue", "clear"], input="n\n")
    assert "nothing was removed" in refused.stdout
    assert invoke("catalogue", "clear", "--json").exit_code == 2
    assert invoke("catalogue", "clear", "--task", "row_sum", "--yes").exit_code == 2
    cleared = json.loads(invoke("catalogue", "clear", "--task", "softmax", "--yes", "--json").stdout)
    assert cleared["removed"] == rows
    assert "0 candidates" in invoke("catalogue", "list").stdout


def test_a_damaged_catalogue_is_set_aside_and_the_search_goes_on(
    filled: Path, bench: FakeBench, invoke: Invoke
) -> None:
    for path in filled.parent.glob("catalogue.sqlite*"):
        path.unlink()
    filled.write_bytes(b"no database" * 500)
    second = invoke("search", "softmax", *SMALL)
    assert second.exit_code == 0 and "set aside" in second.stderr
    assert (filled.parent / "catalogue.sqlite.damaged-1").stat().st_size == 5500
    assert "set aside" not in invoke("catalogue", "list").stderr


def test_a_catalogue_of_an_earlier_version_is_mentioned_once(invoke: Invoke, bench: FakeBench, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "catalogue.jsonl").write_text("{}\n")
    assert "earlier version" in invoke("search", "softmax", *SMALL).stderr
    assert "earlier version" not in invoke("catalogue", "list").stderr


def test_what_is_no_catalogue_cannot_be_imported(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no catalogue, but a text that is long enough for a header\n" * 20)
    refused = invoke("data", "import", tmp_path / "notes.txt")
    assert refused.exit_code == 2 and "cannot be read" in refused.stderr
