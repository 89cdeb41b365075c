"""The list of the red team's attempts, the tests that hold them closed and the pages that count them agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.redteam import BEGIN, END, FIXES, PAGE, RESULT, attempts, table

ROOT = Path(__file__).parents[2]
ROWS = json.loads((ROOT / RESULT).read_text())


def test_the_page_has_the_table_of_the_list() -> None:
    assert f"{BEGIN}{table(ROWS)}{END}" in (ROOT / PAGE).read_text()


def test_what_went_through_is_held_closed_by_a_test_or_is_open_for_a_reason() -> None:
    for row in ROWS:
        match row["state"]:
            case "refused":
                assert row["outcome"] == "refused" and not row["closed_by"] and not row["open_because"]
            case "closed":
                assert (ROOT / row["closed_by"]).is_file(), row
            case "open":
                assert row["open_because"] and not row["closed_by"]
            case other:
                pytest.fail(f"no such state: {other}")


def test_the_rounds_are_counted_alike() -> None:
    rounds = json.loads((ROOT / "benchmarks/results/trust_rounds.json").read_text())
    for number in FIXES:
        counted = [row for row in ROWS if row["round"] == number and row["counted"]]
        [told] = [each for each in rounds if each["round"] == number]
        assert (told["counted"], told["successes"]) == (len(counted), sum(r["outcome"] == "through" for r in counted))


def test_an_attempt_that_went_through_needs_an_answer() -> None:
    line = {"n": 999, "area": "files", "idea": "x", "counted": "y", "outcome": "through", "evidence": "", "repeat": ""}
    with pytest.raises(KeyError):
        attempts([json.dumps(line)], 3)
    assert attempts([json.dumps(line | {"outcome": "refused", "evidence": "seen (a.txt)"})], 3)[0]["evidence"] == "seen"
