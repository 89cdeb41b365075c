"""The forecaster that learns over `program`: evidence, the model as a file, training on made-up problems."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import foretell as ft
from foretell.kernels.candidate import Candidate
from foretell.kernels.cost.steps import ProgramTime, StepTime
from foretell.kernels.devices import described
from foretell.kernels.forecast import CalibratedForecaster, make
from foretell.kernels.forecast.calibrated import shipped
from foretell.kernels.forecast.evidence import evidence
from foretell.kernels.forecast.model_file import BadModel
from foretell.kernels.forecast.program import compared_times
from foretell.kernels.forecast.residual import KINDS, Residual, group_of
from foretell.kernels.measurement import Status
from foretell.kernels.record.refusal import Reason
from foretell.train.residual import Effort, Examples, train

H200 = described("h200")
CANDIDATE = Candidate("t", "triton", "import triton\n")
QUICK = Effort(level=20, error=10, folds=4)


def _times(*steps: tuple[str, float, str]) -> ProgramTime:
    made = tuple(StepTime(i, key, us, 0.3, basis, key) for i, (key, us, basis) in enumerate(steps))
    total = sum(us for _, us, _ in steps)
    return ProgramTime(made, total, total + 20.0, 15.0)


REFERENCE = _times(("product", 80.0, "measured product"), ("relu", 20.0, "measured elementwise"))
FUSED = _times(("fused", 50.0, "dry run"))


def _row(eager: bool = False, reason: Reason | None = None, reference: ProgramTime = REFERENCE) -> dict[str, float]:
    pair = compared_times(reference, FUSED) if reason is None else None
    return evidence(CANDIDATE, H200, pair, reason, 0.2, eager)


def test_evidence_says_what_the_step_tables_say() -> None:
    row = _row()
    assert row["ratio"] == pytest.approx(1.0) and row["recorded"] == 1.0
    assert row["reference.call.product"] == pytest.approx(0.8) and row["candidate.own"] == 1.0
    assert row["common"] == 0.0 and row["candidate.us"] == pytest.approx(math.log2(50.0))
    assert _row(eager=True)["ratio"] == pytest.approx(math.log2(120 / 70))


def test_without_a_program_the_reason_is_the_evidence() -> None:
    row = _row(reason=Reason.BUILD)
    assert "ratio" not in row and row["refused.build"] == 1.0 and row["refused.failed"] == 0.0
    assert group_of(row) == "device, not recorded" and group_of(_row(eager=True)).startswith("eager, ")


def _made_up(count: int, seed: int) -> Examples:
    """Candidates that are twice as fast as said where the reference is long, with noise; every tenth is wrong."""
    rng = np.random.default_rng(seed)
    rows, log2, status = [], [], []
    for i in range(count):
        long = i // 4 % 2 == 0  # the reference of a problem is one
        row = _row(reference=_times(("product", 800.0 if long else 60.0, "measured product")))
        wrong = i % 10 == 3
        row["p_fail"] = 0.4 if wrong else 0.1  # as `program` states it
        rows.append(row)
        status.append(Status.WRONG if wrong else Status.OK)
        log2.append(math.nan if wrong else row["ratio"] + (1.0 if long else 0.0) + 0.1 * rng.normal())
    problems = np.array([f"p{i // 4}" for i in range(count)])
    reference = np.array([row["reference.us"] + (1.0 if i // 4 % 2 == 0 else 0.0) for i, row in enumerate(rows)])
    return Examples(rows, np.array(log2), reference, status, problems, problems, np.ones(count, dtype=bool))


@pytest.mark.parametrize("effort", [QUICK, replace(QUICK, forests=30)])
def test_training_learns_level_spread_and_failure_of_problems_that_it_was_not_shown(
    tmp_path: Path, effort: Effort
) -> None:
    examples = _made_up(400, 1)
    model, told = train(examples, 0, effort, {"rows": 400})
    works = np.isfinite(examples.log2)
    means = np.array([forecast.mean for forecast in told])
    assert np.abs(means - examples.log2)[works].mean() < 0.2  # 0.5 without the correction
    held = [forecast.interval(0.8) for forecast in told]
    covered = [low <= y <= high for (low, high), y in zip(held, examples.log2, strict=True) if math.isfinite(y)]
    assert 0.65 < np.mean(covered) < 0.95
    chances = np.array([forecast.p_fail for forecast in told])
    assert chances[~works].min() > chances[works].max()
    fresh = _made_up(20, 2).rows
    assert [f[Status.WRONG] > 0.5 for f in model.failing(fresh)] == [row["p_fail"] == 0.4 for row in fresh]
    model.save(tmp_path / "model.npz")
    again = Residual.load(tmp_path / "model.npz")
    assert [f.mean for f in again.forecasts(fresh)] == pytest.approx([f.mean for f in model.forecasts(fresh)], abs=1e-3)


def test_the_shipped_model_speaks_of_any_evidence() -> None:
    for eager in (False, True):
        model = shipped(eager)
        rows = [_row(eager=eager), *(_row(reason=reason, eager=eager) for reason in (Reason.BUILD, Reason.FAILED))]
        for forecast, ways in zip(model.forecasts(rows), model.failing(rows), strict=True):
            low, high = forecast.interval(0.8)
            assert 0.0 < high - low < 8.0 and 0.0 < forecast.p_fail <= 0.995
            assert set(ways) == set(KINDS) and sum(ways.values()) <= 0.996


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "model.npz"
    broken.write_bytes(b"nothing")
    with pytest.raises(BadModel):
        Residual.load(broken)
    model = shipped()
    replace(model, spread={}).save(broken)
    with pytest.raises(BadModel):
        Residual.load(broken)


PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0


def get_inputs():
    return [torch.randn(512, 1024)]


def get_init_inputs():
    return []
"""
SUMS = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return (x + x).clamp_min(0.0)
"""


def test_the_known_time_of_the_reference_moves_the_forecast(tmp_path: Path) -> None:
    problem = tmp_path / "problem.py"
    problem.write_text(PROBLEM)
    medians = [
        ft.forecast(problem, SUMS, device="h200", forecaster="calibrated", reference_ms=ms).forecast.median
        for ms in (0.01, 0.02)
    ]
    assert medians[1] - medians[0] == pytest.approx(1.0, abs=1e-6)


def test_it_is_known_by_name() -> None:
    assert isinstance(make("calibrated"), CalibratedForecaster)
    assert make("calibrated:eager").name == "calibrated:eager"
