"""Published kernels are measured again: with the CPU in the GPU's place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from foretell.auditing import Audited, Claim, disagreements
from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.corpus.table import arrow
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.store import Catalogue
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import DEVICE, EFFORT, LocalWorker

REFERENCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0


def get_inputs():
    return [torch.randn(8, 64)]


def get_init_inputs():
    return []
"""
RIGHT = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return (x + x).clamp_min(0.0)
"""
WRONG = RIGHT.replace("0.0", "0.5")


def _row(name: str, source: str, **changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "row_id": name,
        "dataset": "d",
        "cell_id": "c",
        "op_id": "level9/1",
        "gpu": "A100",
        "language": "torch",
        "status": "ok",
    }
    row |= {"candidate_code": source, "speedup": 50.0, "reference_code": REFERENCE, "clean": True}
    return row | changes


def _table(folder: Path, rows: list[dict[str, Any]]) -> Path:
    pa = arrow()
    path = folder / "published.parquet"
    pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_claims_stand_beside_measurements_and_nothing_is_measured_twice(tmp_path: Path) -> None:
    rows = [
        _row("right", RIGHT),
        _row("elsewhere", RIGHT, gpu="H100"),
        _row("wrong", WRONG),
        _row("failed", WRONG, status="wrong", speedup=None),
        _row("no reference", RIGHT, reference_code=""),
        _row("unclean", RIGHT, clean=False),
    ]
    table, kept = _table(tmp_path, rows), Catalogue(tmp_path / "catalogue.sqlite")
    host = Host()
    counts = []
    bench = GpuBench(EFFORT, 1, DEVICE, LocalWorker(host), host)
    try:
        none = ft.audit(table, bench=bench, seconds=-1.0, catalogue=kept)
        found = ft.audit(table, bench=bench, catalogue=kept, report=lambda _, tally: counts.append(tally.measured))
        again = ft.audit(table, bench=bench, catalogue=kept, report=lambda _, tally: counts.append(tally.measured))
    finally:
        bench.close()
    assert none.left == 2 and {each.verdict for each in none.rows} == {"not measured"}
    assert counts == [2] and found == again
    verdicts = {each.claim.row: each.verdict for each in found.rows}
    assert verdicts["right"] == verdicts["elsewhere"] == "slower than claimed"
    assert verdicts["wrong"] == "wrong here" and verdicts["failed"] == "fails as claimed"
    assert verdicts["no reference"] == "not measured" and "unclean" not in verdicts
    told = found.to_dict()
    assert told["all"]["compared"] == 2 and told["left"] == 0 and told["by data set"]["d"]["rows"] == 5
    assert "no reference" in next(row for row in told["rows"] if row["row"] == "no reference")["reason"]


@pytest.mark.parametrize(
    ("claimed", "measured", "verdict"),
    [
        (2.0, Measurement(Status.OK, speedup=2.1, low=2.0, high=2.2), "as claimed"),
        (2.0, Measurement(Status.OK, speedup=3.0, low=2.9, high=3.1), "faster than claimed"),
        (2.0, Measurement(Status.OK, speedup=1.0, low=0.9, high=1.1), "slower than claimed"),
        (None, Measurement(Status.OK, speedup=1.0, low=0.9, high=1.1), "works, nothing claimed"),
        (2.0, Measurement(Status.TIMEOUT), "timeout here"),
        (2.0, None, "not measured"),
    ],
)
def test_verdicts(claimed: float | None, measured: Measurement | None, verdict: str) -> None:
    assert Audited(Claim("r", "p", "g", "d", "ok", claimed), measured).verdict == verdict


def test_the_furthest_from_its_claim_comes_first() -> None:
    found = [
        Audited(Claim(name, "p", "g", "d", "ok", 2.0), Measurement(Status.OK, speedup=speedup, low=1.0, high=9.0))
        for name, speedup in (("near", 1.9), ("far", 0.2), ("above", 6.0))
    ]
    assert [each.claim.row for each in disagreements(found, 2)] == ["far", "above"]


@pytest.mark.parametrize("name", ["absent.parquet", ".", "text.parquet"])
def test_what_is_no_table_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.parquet").write_text("not a table")
    with pytest.raises(ft.BadInput):
        ft.audit(tmp_path / name)
