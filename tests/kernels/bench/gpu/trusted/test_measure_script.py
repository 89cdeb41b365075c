"""The script that measures trusted replay on a GPU: rows survive interruptions, the summary says what they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.trust import page
from benchmarks.trust.measure import Rows, row_of, summary
from foretell.kernels.measurement import Measurement, Status


def _ok(speedup: float, trust: str = "replay", left_open_us: float = 5.0) -> Measurement:
    conditions = {"trust": trust, "trust_reason": "depends on data: .item()", "unexplained_us": left_open_us}
    return Measurement(Status.OK, "", speedup, speedup, speedup, conditions=conditions if trust else {})


def test_rows_are_kept_and_skipped(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "retest.jsonl")
    rows.add(row_of("0 a", _ok(2.0)))
    again = Rows(tmp_path / "retest.jsonl")
    assert again.done == {"0 a"} and again.rows[0]["speedup"] == 2.0


def test_the_summary_of_nothing_says_so(tmp_path: Path) -> None:
    found = summary(tmp_path)
    assert found["retest"]["median_difference"] is None and found["throughput"]["cuda"]["per_second"] is None


def test_the_summary_says_what_was_found(tmp_path: Path) -> None:
    guards = Rows(tmp_path / "guards.jsonl")
    guards.add(row_of("control plain", _ok(2.0, left_open_us=30.0)))
    guards.add(row_of("control odd", Measurement(Status.WRONG, "no")))
    guards.add(row_of("exploit patches_the_clock", _ok(2.05)))
    guards.add(row_of("exploit forges", _ok(20.0)))
    guards.add(row_of("exploit remembers", Measurement(Status.WRONG, "no")))
    retest = Rows(tmp_path / "retest.jsonl")
    for key, speedup in (("0 a", 2.0), ("1 a", 2.02), ("0 b", 1.0), ("1 b", 1.0)):
        retest.add(row_of(key, _ok(speedup)))
    attacks = Rows(tmp_path / "attacks.jsonl")
    for key, speedup, honest in (
        ("06_honest", 2.0, ""),
        ("07_oracle", 3.0, "06_honest"),
        ("08_same", 2.0, "06_honest"),
    ):
        attacks.add(row_of(key, _ok(speedup), honest=honest))
    attacks.add(row_of("09_caught", Measurement(Status.WRONG, "no"), honest="06_honest"))
    throughput = Rows(tmp_path / "throughput.jsonl")
    throughput.add({"key": "triton softmax", "language": "triton", "candidates": 30, "opening_s": 1.0, "wall_s": 2.0})
    acceptance = Rows(tmp_path / "acceptance.jsonl")
    for method, speedup, trust in (("replay", 1.1, "replay"), ("worker", 1.0, "")):
        acceptance.add(row_of(f"{method} x", _ok(speedup, trust), method=method, id="x"))
    acceptance.add(row_of("replay y", _ok(1.5, "live"), method="replay", id="y"))
    found = summary(tmp_path)
    assert found["guards"]["refused"] == ["control odd"] and found["guards"]["unearned"] == ["exploit forges"]
    assert found["guards"]["without_effect"] == ["exploit patches_the_clock"]
    assert found["retest"]["both"] == 2 and found["retest"]["median_difference"] == pytest.approx(0.5 * (1 - 2 / 2.02))
    assert found["throughput"]["triton"]["per_second"] == pytest.approx(10.0)
    assert found["attacks"]["unearned"] == {"07_oracle": (3.0, 2.0)} and found["attacks"]["attacks"] == 3
    assert found["unexplained_us"] == {"median": 5.0, "largest": 30.0}
    assert found["acceptance"]["trusts"] == {"replay": 1, "live": 1}
    assert found["acceptance"]["reasons"] == {"depends on data": 2}
    assert found["acceptance"]["median_difference"] == {"replay": pytest.approx(0.1)}


def test_the_page_says_what_the_rows_show(tmp_path: Path) -> None:
    guards = Rows(tmp_path / "guards.jsonl")
    guards.add(row_of("control plain", _ok(2.0)))
    guards.add(row_of("exploit forges", _ok(20.0)))
    labels = Rows(tmp_path / "labels.jsonl")
    labels.add(row_of("triton a", _ok(2.02), task="softmax", label=2.0))
    labels.add(row_of("triton b", Measurement(Status.WRONG, "no"), task="softmax", label=1.0))
    data = page.collected([tmp_path], {"retest": {"both": 3, "median_difference": 0.001}})
    rounds = [{"round": 1, "target": "GPU", "counted": 30, "successes": 2, "reported": "here"}]
    text = page.page(data, rounds, {})
    assert "| honest kernels that look odd, accepted | all of 60 | 1 of 1 |" in text
    assert "did not earn | 0 | 1 of 1 |" in text and "two processes: median difference | 0.5 % | 0.10% of 3 |" in text
    assert "1 ok, 1 wrong" in text and "label: 1.0100" in text and "| 1 | GPU | 30 | 2 | here |" in text


def test_the_page_is_the_one_that_its_data_give() -> None:
    assert page.PAGE.read_text() == page.page(
        *(json.loads(path.read_text()) for path in (page.RESULT, page.ROUNDS, page.PIECES))
    )
