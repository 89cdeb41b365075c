"""The experiment over fixed pools, and questions to a language model with its answers read back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.learned import ask, experiment, page
from benchmarks.learned.examples import Known
from benchmarks.learned.train import update
from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.devices import described
from foretell.kernels.evaluate.pools import make_pool
from foretell.kernels.measurement import Cost, Measurement, Status
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


def _choice(
    speedups: tuple[float, ...], medians: tuple[float, ...], std: float = 0.1, device_s: float = 1.0
) -> experiment.Choice:
    each = _known("pool", tuple(math.log2(s) if s else -math.inf for s in speedups), device_s)
    forecasts = tuple(Forecast.from_normal(m, std, 0.1) for m in medians)
    return experiment.Choice(
        each.pool, tuple(range(len(speedups))), dict.fromkeys(("program", "calibrated"), forecasts)
    )


def _order(choice: experiment.Choice, arm: str, seed: int = 0) -> list[int]:
    ids = [subject.candidate.id for subject in choice.pool.subjects]
    state = experiment.searched(choice, experiment.ARMS[arm], seed)
    return [ids.index(subject.candidate.id) for subject, _ in state.lessons]


def test_orders_of_the_arms() -> None:
    choice = _choice((1.0, 4.0, 2.0), (0.0, 1.0, 2.0))
    assert _order(choice, "written") == [0, 1, 2] and _order(choice, "newest") == [2, 1, 0]
    assert _order(choice, "top") == [2, 1, 0]
    assert len({tuple(_order(choice, "random", seed)) for seed in range(8)}) > 1


def test_value_prefers_what_may_still_be_better_than_what_was_measured() -> None:
    """After the first, a doubtful candidate with room above the best comes before a sure one just below it."""
    choice = _choice((8.0, 3.7, 12.0), (3.0, 1.9, 1.5))
    said = (
        Forecast.from_normal(3.0, 0.1, 0.1), Forecast.from_normal(1.9, 0.01, 0.1), Forecast.from_normal(1.5, 3.0, 0.1)
    )  # fmt: skip
    choice = replace(choice, forecasts={"program": said})
    assert _order(choice, "value_unlearned")[:2] == [0, 2] and _order(choice, "top") == [0, 1, 2]


def test_value_learns_from_what_it_measured() -> None:
    """All are slower than forecast: what is forecast of the later ones is less, unless nothing is learnt."""
    choice = _choice((1.0, 1.1, 1.2, 0.9, 0.8, 1.0), (2.0,) * 6, std=1.0)
    said = {
        arm: [node.forecast.median for node in experiment.searched(choice, experiment.ARMS[arm], 0).nodes.values()]
        for arm in ("value", "value_unlearned")
    }
    assert min(said["value"]) < 1.0 and set(said["value_unlearned"]) == {2.0}


def test_outcome_of_a_search() -> None:
    choice = _choice((1.0, 0.0, 3.9, 4.0), (0.0,) * 4)
    found = experiment.outcome(choice, experiment.searched(choice, experiment.ARMS["written"], 0))
    assert found["until_5"] == 3 and found["until_20"] == 3 and found["until_2"] == 4
    assert found["first_third"] == 0.25 and found["third_of_seconds"] == 0.25 and found["measured"] == 4
    newest = experiment.outcome(choice, experiment.searched(choice, experiment.ARMS["newest"], 0))
    assert newest["until_5"] == 1 and newest["curve"][4] == 1.0 and newest["curve"][3] == 0.0  # 1 of 4 seconds


def test_what_was_stated_is_kept_beside_what_came() -> None:
    choice = _choice((2.0, 0.0, 8.0), (1.0, 1.0, 1.0), std=0.1)
    lines = experiment.stated(experiment.searched(choice, experiment.ARMS["top"], 0))
    assert sum(line["failed"] for line in lines) == 1
    assert [line["covered"] for line in lines if "covered" in line] in ([1.0, 0.0], [0.0, 1.0])


def test_report_of_the_experiment() -> None:
    choices = [_choice((1.0, 2.0, 4.0), (0.0, 1.0, 2.0)) for _ in range(2)]
    report = experiment.compared(choices, seeds=2)
    assert report["arms"]["top"]["top_tenth"]["value"] == 1.0
    assert report["value less"]["written"]["first_third"]["value"] == 0.75
    assert len(report["curves"]["value"]) == len(experiment.GRID) and report["calibration"]["written"] is None


def _known(name: str, log2: tuple[float, ...], device_s: float = 1.0) -> Known:
    task = kernelbench.from_text(REFERENCE, "problem")
    pairs = []
    for i, value in enumerate(log2):
        speedup = 2.0**value
        text = f"class ModelNew:\n    number = {i}\n    name = '{name}'\n"
        outcome = Measurement(Status.OK, "", speedup, speedup, speedup, cost=Cost(device_s=device_s))
        if not speedup:
            outcome = Measurement(Status.WRONG, cost=Cost(device_s=device_s))
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


def test_results_of_one_column_leave_the_other(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    update(path, {"program": {"device": 1, "eager": 2}})
    update(path, {"program": {"device": 3}, "groups": {"device": ["all"]}})
    assert json.loads(path.read_text()) == {"program": {"device": 3, "eager": 2}, "groups": {"device": ["all"]}}
    update(path, {"device": {"pools": 2}})
    update(path, {"eager": {"pools": 1}})
    kept = json.loads(path.read_text())
    assert kept["device"] == {"pools": 2} and kept["eager"] == {"pools": 1} and kept["program"]["device"] == 3


def test_sections_of_the_page() -> None:
    row = {"problem": "p", "arm": "value", "best_by_round": [1.0, 2.0], "measured": 4, "device_s": 0.5}
    shown = page.live({"rows": [row], "arms": {"value": {"share": [1.0, 0.9, 1.0]}}})
    assert "| `value` | 1.00 [0.90, 1.00] | 1.00; 2.00 | 4 | 0.5 |" in shown
    shown = page.curve({"program": {"pairs_10": 0.8}, "points": [{"kernels": 100, "pairs_10": 0.81}]})
    assert "| 0 (`program`) | 0.800 |" in shown and "| 100 | 0.810 |" in shown
    report = experiment.compared([_choice((1.0, 2.0, 4.0), (0.0, 1.0, 2.0)) for _ in range(2)], seeds=1)
    about = {"pools": ["p"], "kernels": [3], "best": [4.0], "seeds": 1}
    shown = page.experiment({"about": about, **report})
    assert "`p` (3 kernels, best 4.00 x)" in shown and "| 100 % |" in shown
