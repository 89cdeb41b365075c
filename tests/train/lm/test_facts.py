"""Small models with the facts in hand: the facts file, its questions, a whole run of a tiny model, and the figures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.learned import page
from benchmarks.learned.ask import name_of
from benchmarks.learned.examples import Known, judged, recording_nothing
from benchmarks.learned.lm import build, facts, figures, question, run
from benchmarks.learned.lm.world import IN_USE, Facts, target_of
from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.cost import recordings
from foretell.kernels.devices import described
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.evaluate.pools import make_pool
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Subject
from foretell.kernels.tasks import kernelbench
from tests.train.lm import tiny

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
TABLE = facts.Table(20.0, 40.0, 3, {"memory": 12.0}, (facts.Step("relu", 9.0, {"memory": 8.0}, 0.2, "dry run"),))
SAID = (0.1, *(0.125 for _ in range(8)))


def _known(name: str, log2: tuple[float, ...]) -> Known:
    """A pool of candidates that are alike but for a number; without a speedup one failed."""
    task = kernelbench.from_text(REFERENCE, "problem")
    pairs = []
    for i, value in enumerate(log2):
        speedup = 2.0**value
        text = f"class ModelNew:\n    number = {i}\n    name = '{name}'\n"
        outcome = Measurement(Status.OK, "", speedup, speedup, speedup) if speedup else Measurement(Status.WRONG)
        pairs.append((Subject(Candidate(task.key, "torch", text)), outcome))
    pool = make_pool(name, name, task, described("h200"), [f"{name}{i}" for i in range(len(log2))], pairs)
    said = tuple(Forecast.from_normal(0.0, 0.5, 0.1) for _ in log2)
    return Known(pool, tuple({"ratio": value if math.isfinite(value) else 0.0} for value in log2), said, False)


def _problem(name: str, part: str, log2: tuple[float | None, ...]) -> facts.Problem:
    kernels = tuple(
        facts.Kernel(f"device {name} {i}", "triton", f"text of {name} {i}", TABLE, "", "agrees", 0.5, 0.3, SAID, (),
                     None if part == facts.HELD_OUT else facts.Outcome(value, 0.02))
        for i, value in enumerate(log2)
    )  # fmt: skip
    return facts.Problem(name, name, "device", part, "GPU", "torch", f"reference of {name}", TABLE, kernels)


@pytest.fixture(name="problems")
def _problems() -> list[facts.Problem]:
    return [
        _problem("learnt", facts.TRAIN, (1.0, 2.0, None)),
        _problem("kept", facts.CHECK, (0.0, None)),
        _problem("held", facts.HELD_OUT, (3.0, -1.0)),
    ]


def test_facts_of_held_out_kernels_have_no_outcome_and_a_file_keeps_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "record_apart", recording_nothing)
    found = [_known("a", (0.0, 2.0, -math.inf)), _known("b", (1.0,))]
    held = build.problems(found, True, {})
    assert all(kernel.outcome is None for problem in held for kernel in problem.kernels)
    learnt = build.problems(found, False, {"a1": "differs"})
    assert [kernel.outcome and kernel.outcome.log2 for kernel in learnt[0].kernels] == [0.0, 2.0, None]
    assert [kernel.checked for kernel in learnt[0].kernels] == ["", "differs", ""]
    path = tmp_path / "facts.json.xz"
    facts.write(path, learnt)
    assert facts.read(path) == learnt


def test_nearest_kernels_are_of_other_problems_that_may_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "record_apart", recording_nothing)
    found = [_known("a", (0.0, 2.0)), _known("b", (0.1,)), _known("c", (0.0,)), _known("d", (2.1,))]
    told = build.nearest(found, build.problems(found, False, {}), [True, True, False, True])
    measured = [[near.measured_log2 or 0.0 for near in kernel.nearest] for kernel in told[0].kernels]
    assert np.allclose(measured, [[0.1, 2.1], [2.1, 0.1]])  # neither of its own problem nor of one that is kept back


def test_a_question_tells_the_facts_and_a_pair_the_base(problems: list[facts.Problem]) -> None:
    problem = problems[0]
    first, second, _ = problem.kernels
    text = question.text_of(problem, first, written=False)
    assert "reference of learnt" in text and "text of learnt 0" in text and text.endswith("Answer with one letter.")
    assert "candidate: 20 on the device, 40 with the host, 3 steps; alone memory 12" in text and "- 2 shorter" in text
    assert "Estimate: 1.41x (F), doubt 0.3; in hundredths: X 10" in text and "small sizes: agrees" in text
    pair = question.text_of(problem, first, True, second, texts=False)
    assert "measured at 4x (H)" in pair and "Estimate: 1x (E)" in pair and "hundredths: X" not in pair
    assert "text of" not in pair and "reference of" not in pair


def test_targets_are_over_the_base_that_is_shown(problems: list[facts.Problem]) -> None:
    for example in Facts(problems).train(60, 0):
        text = example.messages[0].content
        assert example.group == "learnt" and math.isclose(sum(example.target), 1.0, abs_tol=1e-6)
        if "## Base" in text and "measured at 4x" in text and example.target[0] == 0.0:
            assert example.target[2] + example.target[3] > 0.9  # half as fast as the base
    assert all(e.form == "structured" and "## Base" not in e.messages[0].content
               for e in Facts(problems, IN_USE).train(20, 1))  # fmt: skip
    assert target_of(facts.Outcome(None, 0.0))[0] == 1.0


def _run(problems: list[facts.Problem], folder: Path, **more: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    path = folder / "facts.json.xz"
    facts.write(path, problems)
    named = {
        "sft": 60,
        "policy": 60,
        "examples": 6,
        "steps": 1,
        "questions": 2,
        "rank": 2,
        "rate": 0.05,
        "dtype": "float32",
    } | more
    told = [word for key, value in named.items() for word in (f"--{key}", str(value))]
    chosen = run.parser_of().parse_args(["base", str(path), "--into", str(folder / "run"), "--output",
                                         str(folder / "out"), "--name", "tiny", *told])  # fmt: skip
    run.Run(chosen, tiny.pair()).all_stages()
    found: dict[str, Any] = json.loads((folder / "run" / "tiny" / "state.json").read_text())
    return found


def test_a_run_answers_after_every_stage_and_does_nothing_twice(problems: list[facts.Problem], tmp_path: Path) -> None:
    problems = [*problems, replace(problems[2], name="other", column="eager", kernels=(
        replace(problems[2].kernels[0], name="eager other 0"),))]  # fmt: skip
    first = _run(problems, tmp_path, policy=0)
    assert set(first["answers"]) == {"untrained", "sft"} and first["notes"]["sft"]["steps"] > 0
    asked = {"device kept 0", "device kept 1", "device held 0", "device held 1"}
    assert set(first["answers"]["sft"]["direct"]) == asked | {"eager other 0"}
    assert set(first["answers"]["sft"]["written"]) == asked
    assert first["answers"]["sft"]["direct"] != first["answers"]["untrained"]["direct"]
    again = _run(problems, tmp_path)
    assert again["answers"]["sft"] == first["answers"]["sft"] and again["notes"]["sft"] == first["notes"]["sft"]
    assert again["notes"]["policy"]["steps"] == 1 and set(again["answers"]["policy"]["direct"]) >= asked
    moved = _run(problems, tmp_path / "elsewhere", resume=tmp_path / "out", limit=0)
    assert moved == again
    moved["answers"]["policy"]["direct"].pop("device held 0")
    (tmp_path / "out" / "answers-tiny.json").write_text(json.dumps(moved))
    asked_again = _run(problems, tmp_path / "elsewhere" / "more", resume=tmp_path / "out")
    before, now, untrained = (
        each["answers"][stage]["direct"]["device held 0"]
        for each, stage in ((again, "policy"), (asked_again, "policy"), (again, "untrained"))
    )
    assert np.allclose(now, before, atol=1e-3)  # by the adapter that came along
    assert not np.allclose(untrained, before, atol=1e-3)


def test_figures_of_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right answers are better than `program`, alone and stacked; what was not answered is left to `program`."""
    monkeypatch.setattr(figures, "shown", _few_resamples)
    found = [_known(name, (-1.5, 0.2, 1.2, 2.5)) for name in "ab"]
    kept = [_known("kept", (-1.5, 0.2, 1.2, 2.5))]
    told = [forecast for each in found for forecast in each.said]
    answers = {name_of(each, i): list(target_of_known(each, i)) for each in (*found, *kept) for i in range(4)}
    answers[name_of(found[0], 0)] = []
    (tmp_path / "answers-0.5b.json").write_text(
        json.dumps({"notes": {"sft": {}}, "answers": {"sft": {"direct": answers}}})
    )
    models, notes = figures.models_of(tmp_path)
    report = figures.compared(found, told, kept, models)
    one = report["models"]["0.5b sft direct"]
    assert notes == {"0.5b": {"sft": {}}} and one["unanswered"] == 1 and one["calibrated by"] == 4
    assert one["as answered"]["accuracy"]["value"] > report["program"]["accuracy"]["value"]
    assert one["stacked"]["pairs_10"]["value"] > 0.9
    vague = {name: [1.0 / 9.0] * 9 for name in answers}
    even = figures.forecasts_of(found[:1], vague, None)[0].bins()
    other, own = (figures.recalibrated(pools, kept, vague)[0].bins() for pools in (found, kept))
    assert not np.allclose(other, even, atol=1e-3)
    assert np.allclose(own, even, atol=1e-3)  # a problem is not corrected by its own outcomes
    training = {"0.5b": {"sft": {"steps": 7, "tokens_per_s": 9000}}}
    shown = page.trained({"training": training, "kept_back": {"device": report}})
    assert "| 0.5b sft | 7 | – | 9,000 | – |" in shown and "| 0.5b sft direct, stacked, 1 not readable |" in shown


def _few_resamples(found: Sequence[Known], told: Sequence[Forecast]) -> dict[str, Any]:
    result: dict[str, Any] = assess(judged(found, told), "", "held_out", resamples=2).to_dict()["figures"]
    return result


def target_of_known(each: Known, i: int) -> tuple[float, ...]:
    measured = each.pool.measured[i]
    return target_of(facts.Outcome(measured.log2_speedup, 0.05))
