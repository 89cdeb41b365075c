"""The list of the red team's attempts, the tests that hold them closed and the pages that count them agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.redteam import ANSWERS, AREAS, BEGIN, END, PAGE, RESULT, ROUNDS, answered, attempts, by_round, table

ROOT = Path(__file__).parents[2]
ROWS = json.loads((ROOT / RESULT).read_text())
LINE = {"n": 999, "area": "files", "idea": "x", "counted": "y", "outcome": "through", "evidence": "", "repeat": ""}


def test_the_pages_have_the_tables_of_the_list() -> None:
    assert f"{BEGIN}{table(ROWS)}{END}" in (ROOT / PAGE).read_text()
    rounds = json.loads((ROOT / ROUNDS).read_text())
    assert rounds == by_round(ROWS, rounds)


def test_every_counted_attempt_is_a_test_or_has_a_reason() -> None:
    answers = json.loads((ROOT / ANSWERS).read_text())
    for row in ROWS:
        assert row == answered(row, answers.get(str(row["round"]), {})) and row["area"] in AREAS
        if row["counted"] or row["outcome"] == "through":
            assert row["because"] or (ROOT / row["test"].partition("::")[0]).is_file(), row


def test_an_attempt_that_went_through_needs_an_answer() -> None:
    with pytest.raises(KeyError):
        attempts([json.dumps(LINE)], 3, {})
    [row] = attempts([json.dumps(LINE)], 3, {"999": "contract: so it says"})
    assert (row["state"], row["because"], row["test"]) == ("by contract", "so it says", "")
    [row] = attempts([json.dumps(LINE | {"outcome": "refused", "evidence": "seen (a.txt)"})], 3, {})
    assert (row["state"], row["evidence"]) == ("refused", "seen")


def test_a_round_without_a_success_is_shown_as_such() -> None:
    refused = attempts([json.dumps(LINE | {"outcome": "refused"})], 99, {})
    shown = table([*ROWS, *refused])
    assert "| 99 | files | 1 | 0 | 0 | 0 | 0 |" in shown
    assert "Of these rounds, without a success: 99." in shown
    assert by_round(refused, [])[0] | {"reported": ""} == {
        "round": 99, "target": "received files", "counted": 1, "successes": 0, "reported": ""
    }  # fmt: skip
