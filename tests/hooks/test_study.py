"""The smallest way to tune: ask for a configuration, tell how long it took."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foretell.hooks.study import Configuration, Exhausted, Study

PARAMETERS = {"tile": (8, 16, 24, 32, 64, 128), "unroll": (1, 2, 4, 8), "layout": ("row", "column")}
EXAMPLE = Path(__file__).parents[2] / "examples" / "tune_ask_tell.py"


def fits(c: Configuration) -> bool:
    return int(c["tile"]) * int(c["unroll"]) <= 256


def time_of(c: Configuration) -> float | None:
    if c["tile"] == 128 and c["layout"] == "column":
        return None
    return 1.0 + abs(int(c["tile"]) - 64) / 32 + abs(int(c["unroll"]) - 4) / 2 + (c["layout"] == "column")


def test_it_finds_the_fastest_among_the_allowed() -> None:
    study = Study(PARAMETERS, fits)
    asked = []
    for _ in range(len(study) // 2):
        asked.append(study.ask())
        study.tell(asked[-1], time_of(asked[-1]))
    assert all(fits(c) for c in asked) and len({tuple(c.values()) for c in asked}) == len(asked)
    assert study.best == {"tile": 64, "unroll": 4, "layout": "row"} and study.best_time == 1.0


def test_the_same_seed_asks_the_same() -> None:
    one, two = Study(PARAMETERS, fits, seed=3), Study(PARAMETERS, fits, seed=3)
    for _ in range(10):
        asked = one.ask()
        assert two.ask() == asked
        one.tell(asked, time_of(asked))
        two.tell(asked, time_of(asked))


def test_what_was_not_asked_for_may_be_told_and_the_end_is_said() -> None:
    study = Study({"tile": (1, 2, 4)})
    assert study.best is None and study.best_time is None and len(study) == 3
    for tile in (4, 2, 1):
        study.tell({"tile": tile}, float(tile))
    assert study.best == {"tile": 1} and study.best_time == 1.0
    with pytest.raises(Exhausted):
        study.ask()


@pytest.mark.parametrize("wrong", [{"tile": 3}, {}, {"tile": 2, "more": 1}, {"other": 2}])
def test_other_configurations_are_refused(wrong: Configuration) -> None:
    with pytest.raises(ValueError, match="not one of the 2 allowed"):
        Study({"tile": (1, 2)}).tell(wrong, 1.0)


def test_a_study_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no combination"):
        Study(PARAMETERS, lambda _: False)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler on this machine")
def test_the_example_tunes_a_kernel() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE), "10"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("best of 10 tried, 301 allowed: {'i': ") and done.stdout.rstrip().endswith(" ms")
