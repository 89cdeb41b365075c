"""The split of the shared table's problems, which is made once, and the log of looks at its held-out half."""

from __future__ import annotations

import json

from benchmarks.programs.evaluate import LOG
from benchmarks.programs.figures import Forecasted, figures, intervals
from benchmarks.programs.split import TOGETHER, committed, family_of, split_of

LOOKS = 4  # three, and the final one


def test_the_committed_split_is_what_its_seed_gives() -> None:
    parts = committed()
    assert split_of([*parts["development"], *parts["held_out"]]) == parts


def test_parts_are_disjoint_halves_of_every_family() -> None:
    parts = committed()
    assert not set(parts["development"]) & set(parts["held_out"])
    families = {family_of(group) for group in parts["development"]}
    for family in families - TOGETHER:
        kept, held = (sum(family_of(group) == family for group in parts[name]) for name in ("development", "held_out"))
        assert 0 <= kept - held <= 1
    assert not any(family_of(group) in TOGETHER for group in parts["held_out"])


def test_held_out_problems_are_looked_at_a_few_times_at_most() -> None:
    looks = LOG.read_text().splitlines() if LOG.exists() else []
    assert len(looks) <= LOOKS and all("at" in json.loads(look) for look in looks)


def _row(cell: str, measured_us: float, us: float, bound: str = "dry run: memory") -> Forecasted:
    return Forecasted(
        f"{cell}{measured_us}", cell, cell, "A100", "x", measured_us, 0.0, us, 10.0, 10.0, 0.0, 0.5, bound, ""
    )


def test_figures_are_means_over_cells() -> None:
    right = [_row("a", 10.0, 20.0), _row("a", 20.0, 40.0), _row("a", 40.0, 80.0)]
    wrong = [_row("b", 10.0, 80.0), _row("b", 40.0, 40.0, "not recorded")]
    near = [_row("c", 10.0, 9.0), _row("c", 10.5, 8.0)]
    found = figures([*right, *wrong, *near])
    assert found["cells"] == 3 and found["cells_with_pairs"] == 2 and found["pairs_right"] == 0.5
    assert found["spearman"] == 1.0 and found["cells_with_ranks"] == 1
    assert found["first_pick"] == (1.0 + 0.25 + 10.0 / 10.5) / 3
    assert found["with_program"] == 6 / 7 and found["median_error_log2"] == 1.0
    bounds = intervals([*right, *wrong, *near])
    assert bounds["pairs_right"][0] < 0.5 < bounds["pairs_right"][1] and bounds["coverage_80"] == [1.0, 1.0]
