"""The experiment over fixed pools, and questions to a language model with its answers read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.learned import ask, experiment
from benchmarks.learned.examples import Known
from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.devices import described
from foretell.kernels.evaluate.pools import make_pool
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Subject
from foretell.kernels.tasks import kernelbench
from foretell.lm.files import REQUESTS

REFERENCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(8, 64)]


def get_init_inputs():
    return []
"""
RNG = np.random.default_rng(0)


def _choice(speedups: tuple[float, ...], medians: tuple[float, ...], std: float = 0.1) -> experiment.Choice:
    forecasts = tuple(Forecast.from_normal(m, std, 0.1) for m in medians)
    count = len(speedups)
    return experiment.Choice("pool", speedups, forecasts, tuple(range(count)), (1.0,) * count)


def test_orders_of_the_arms() -> None:
    pool = _choice((1.0, 4.0, 2.0), (0.0, 1.0, 2.0))
    assert experiment.written(pool, RNG) == [0, 1, 2] and experiment.newest(pool, RNG) == [2, 1, 0]
    assert experiment.top(pool, RNG) == [2, 1, 0]
    assert sorted(experiment.at_random(pool, RNG)) == [0, 1, 2]


def test_value_prefers_what_may_still_be_better_than_what_was_measured() -> None:
    """After the first, a doubtful candidate with room above the best comes before a sure one just below it."""
    sure, doubtful = Forecast.from_normal(1.9, 0.01, 0.1), Forecast.from_normal(1.5, 1.5, 0.1)
    first = Forecast.from_normal(3.0, 0.1, 0.1)
    pool = experiment.Choice("pool", (4.0, 3.7, 6.0), (first, sure, doubtful), (0, 1, 2), (1.0,) * 3)
    assert experiment.value(pool, RNG) == [0, 2, 1] and experiment.top(pool, RNG) == [0, 1, 2]


def test_outcome_of_an_order() -> None:
    pool = _choice((1.0, 0.0, 3.9, 4.0), (0.0,) * 4)
    found = experiment.outcome(pool, [0, 1, 2, 3])
    assert found["until_5"] == 3 and found["until_20"] == 3 and found["first_third"] == 0.25
    best_first = experiment.outcome(pool, [3, 2, 1, 0])
    assert best_first["until_5"] == 1 and best_first["mean_over_seconds"] == 1.0
    assert found["mean_over_seconds"] == pytest.approx((0.25 + 0.25 + 3.9 / 4) / 3)


def _known(name: str, log2: tuple[float, ...]) -> Known:
    task = kernelbench.from_text(REFERENCE, "problem")
    pairs = []
    for i, value in enumerate(log2):
        speedup = 2.0**value
        text = f"class ModelNew:\n    number = {i}\n    name = '{name}'\n"
        outcome = Measurement(Status.OK, speedup=speedup, low=speedup, high=speedup)
        pairs.append((Subject(Candidate(task.key, "torch", text)), outcome))
    pool = make_pool(name, name, task, described("h200"), [f"{name}{i}" for i in range(len(log2))], pairs)
    said = tuple(Forecast.from_normal(0.0, 0.5, 0.1) for _ in log2)
    return Known(pool, tuple({} for _ in log2), said, False)


def test_stacking_takes_its_weight_from_other_problems() -> None:
    found = [_known("a", (0.0, 2.0)), _known("b", (1.0, -1.0))]
    mine = [forecast for each in found for forecast in each.said]
    theirs = [Forecast.from_normal(m.log2_speedup, 0.2, 0.1) for each in found for m in each.pool.measured]
    moved = [forecast.median for forecast in ask.stacked(found, mine, theirs)]
    assert moved == pytest.approx([0.0, 2.0, 1.0, -1.0], abs=1e-6)  # what is right elsewhere is believed here
    wrong = [*theirs[:2], Forecast.from_normal(-4.0, 0.2, 0.1), Forecast.from_normal(4.0, 0.2, 0.1)]
    assert [f.median for f in ask.stacked(found, mine, wrong)][:2] == pytest.approx([0.0, 0.0], abs=1e-6)


def test_questions_carry_no_label_and_answers_are_read_by_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "FORMS", ("blind",))
    found = [_known("a", (0.0, 2.0)), _known("b", (1.0, -1.0))]
    ask.write(tmp_path, found)
    asked = [json.loads(line) for line in (tmp_path / "blind" / REQUESTS).read_text().splitlines()]
    assert len(asked) == 4 and 'speedup": 4' not in json.dumps(asked)
    bins = dict.fromkeys("ABCDEFGH", 0.0) | {"F": 1.0}
    lines = [json.dumps({"id": each["id"], "text": json.dumps({"p_fail": 0.1, "bins": bins})}) for each in asked]
    (tmp_path / "blind" / "answers.jsonl").write_text("\n".join([*lines[:3], '{"id": 5}']))
    told = [forecast for each in found for forecast in each.said]
    report = ask.read(tmp_path, found, told)["device"]
    assert report["pools"] == 1 and report["candidates"] == 2  # the fourth has no answer
    assert set(report) >= {"calibrated", "blind", "blind, stacked"}
    with pytest.raises(SystemExit, match="no pool"):
        ask.read(tmp_path, found[1:], told[2:])
