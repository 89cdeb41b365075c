"""Claims that the DOM does not bear out, put to a reader that sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.apps.history_eyes import DOUBTED, FALSE, TRUE, score, section


def asked(tmp_path: Path, answers: str) -> Path:
    kinds = [(DOUBTED, "sheet"), (TRUE, "trac"), (FALSE, "trac"), (DOUBTED, "sheet")]
    index = [
        {"number": f"{number:03}", "kind": kind, "application": name, "sort": "typed"}
        for number, (kind, name) in enumerate(kinds, 1)
    ]
    folder = tmp_path / "eyes"
    folder.mkdir()
    (tmp_path / "eyes.index.json").write_text(json.dumps(index))
    (folder / "answers.txt").write_text(answers)
    return folder


def test_answers_are_counted_by_kind(tmp_path: Path) -> None:
    found = score(asked(tmp_path, "001 | yes\n002 | yes\n\n003|no\n004 | unclear\n"))
    assert found["counts"] == {
        DOUBTED: {"yes": 1, "no": 0, "unclear": 1},
        TRUE: {"yes": 1, "no": 0, "unclear": 0},
        FALSE: {"yes": 0, "no": 1, "unclear": 0},
    }
    [line, _] = section(found, 10)
    assert "looked at the 2 held-out claims" in line and line.endswith("0.900 of 10 claims are true.")


@pytest.mark.parametrize("answers", ["001 | yes", "001 | maybe\n", "007 | yes\n"])
def test_missing_and_odd_answers_are_refused(tmp_path: Path, answers: str) -> None:
    with pytest.raises(ValueError, match="answer"):
        score(asked(tmp_path, answers))
