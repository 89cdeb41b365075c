"""The order in which rows of the shared table are recorded."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.record import MOST_OF_A_CELL, jobs, ordered

_REFERENCE = "import torch\n"


def _row(cell: str, number: int, group: str = "kernelbench/level1/1", **changed: Any) -> dict[str, Any]:
    row = {"cell_id": cell, "split_group": group, "status": "ok", "clean": True, "candidate_ms": 1.0, "speedup": None}
    return (
        row
        | {
            "gpu": "A100",
            "reference_code": _REFERENCE,
            "candidate_code": f"{cell} {number}",
            "language": "cuda",
            "op_id": group,
        }
        | changed
    )


def test_cells_that_can_be_ranked_come_first_and_products_by_shape_last() -> None:
    products = [_row("p", n, "hgemm/64_64_64") for n in range(2)]
    single = [_row("s", 0, candidate_ms=None, speedup=2.0)]
    large = [_row("l", n) for n in range(MOST_OF_A_CELL + 1)]
    order = [row["cell_id"] for row in ordered([*products, *single, *large])]
    assert order == ["l"] * MOST_OF_A_CELL + ["s", "l", "p", "p"]


def test_only_correct_rows_with_a_time_or_a_speedup_are_recorded() -> None:
    rows = [_row("a", 0, status="wrong"), _row("a", 1, clean=False), _row("a", 2, candidate_ms=None), _row("a", 3)]
    assert [row["candidate_code"] for row in ordered(rows)] == ["a 3"]


def test_a_reference_is_recorded_once_however_many_candidates_it_has() -> None:
    found = list(jobs([_row("a", 0), _row("a", 1), _row("a", 1)]))
    assert [job.source for job in found] == [None, "a 0", "a 1"]
