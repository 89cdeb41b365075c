"""Runs that were cut and go on, and runs that go wrong: what is kept, and what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from foretell.lm.adapter import Calibration
from foretell.train.lm import base, course, grpo, supervised
from foretell.train.lm.errors import NotANumber, TrainingTrouble
from tests.train.lm.test_training import LORA, SFT, quiet, student
from tests.train.lm.tiny import Letters, pair

torch.set_num_threads(1)


def supervised_run(one: base.Student, into: Path, save_every_s: float) -> None:
    supervised.supervise(one, Letters(form="direct"), into, replace(SFT, examples=120), 1e9, quiet, save_every_s)


def policy_run(one: base.Student, into: Path, save_every_s: float) -> None:
    """Held near its start, which a run that goes on has to know too."""
    settings = grpo.GrpoSettings("crps", steps=6, questions=4, answers=4, longest=3, rate=2e-2, kl_weight=5.0)
    grpo.improve(one, Letters(form="structured"), into, settings, 1e9, quiet, save_every_s)


@pytest.mark.parametrize("run", [supervised_run, policy_run])
def test_a_run_that_was_cut_goes_on_as_if_it_had_not_been(
    run: Callable[[base.Student, Path, float], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    able = student()
    supervised.supervise(able, Letters(blind=True), tmp_path / "able", replace(SFT, examples=200), 1e9, quiet)
    ability = [p.detach().clone() for _, p in able.learning()]

    def begun() -> base.Student:
        one = student()
        with torch.no_grad():
            for (_, parameter), value in zip(one.learning(), ability, strict=True):
                parameter.copy_(value)
        return one

    whole, again = begun(), begun()
    run(whole, tmp_path / "whole", 1e9)
    learn, steps = course.Course.learn, 0

    def stop(self: course.Course, loss: float, **counts: float) -> float:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise KeyboardInterrupt
        return learn(self, loss, **counts)

    monkeypatch.setattr(course.Course, "learn", stop)
    with pytest.raises(KeyboardInterrupt):
        run(begun(), tmp_path / "cut", 1e9)
    monkeypatch.setattr(course.Course, "learn", learn)
    run(again, tmp_path / "cut", 1e9)
    for (name, one), (_, two), start in zip(whole.learning(), again.learning(), ability, strict=True):
        assert torch.allclose(one, two, atol=1e-5), name
        assert not torch.equal(one, start), name


def steps_of(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / course.LOG).read_text().splitlines()]


def go(one: base.Student, into: Path, said: list[str] | None = None, **changed: Any) -> dict[str, Any]:
    settings = replace(SFT, **({"examples": 120, "batch_tokens": 512} | changed))
    say = quiet if said is None else said.append
    return supervised.supervise(one, Letters(form="direct"), into, settings, 1e9, say, 0.0)


def spoilt(monkeypatch: pytest.MonkeyPatch, at: int, how: Callable[[], float]) -> None:
    """The step of that number goes wrong."""
    plainly, steps = supervised._step, 0

    def step(*given: Any) -> tuple[float, int]:
        nonlocal steps
        steps += 1
        loss, tokens = plainly(*given)
        return (how() if steps == at else loss), tokens

    monkeypatch.setattr(supervised, "_step", step)


def test_a_loss_that_is_no_number_is_told_and_the_run_goes_on_with_a_lower_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        spoilt(patched, 4, lambda: float("nan"))
        with pytest.raises(NotANumber, match="lower --rate"):
            go(student(), tmp_path)
    kept = torch.load(tmp_path / course.CHECKPOINT, weights_only=True)
    assert kept["step"] == 3
    assert all(torch.isfinite(values).all() for values in kept["masters"].values())
    said: list[str] = []
    done = go(student(), tmp_path, said, rate=SFT.rate / 2)
    assert said[1] == f"going on from step 3 of {done['of']}"
    assert done["steps"] == done["of"] > 4


def test_an_interrupted_run_says_how_to_go_on_and_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> float:
        raise KeyboardInterrupt

    whole, said = go(student(), tmp_path / "whole"), list[str]()
    with monkeypatch.context() as patched:
        spoilt(patched, 12, interrupted)
        with pytest.raises(KeyboardInterrupt):
            go(student(), tmp_path / "cut", said)
    assert "11 of" in said[-1]
    assert "the same command goes on" in said[-1]
    with (tmp_path / "cut" / course.LOG).open("a") as file:
        file.write('{"step": 14, "seconds": 1.0}\n{"st')  # of steps that were not saved
    done = go(student(), tmp_path / "cut")
    assert (done["steps"], done["tokens"]) == (whole["steps"], whole["tokens"])
    assert steps_of(tmp_path / "cut") == sorted(set(steps_of(tmp_path / "cut")))
    assert go(student(), tmp_path / "cut")["tokens"] == whole["tokens"]  # finished, and asked for again


def test_a_run_is_not_gone_on_with_under_other_settings(tmp_path: Path) -> None:
    go(student(), tmp_path)
    with pytest.raises(TrainingTrouble, match=r"other settings \(examples\)"):
        go(student(), tmp_path, examples=30)
    for other, what in (
        (base.load("tiny", Letters.choices, LORA, dtype="float32", loaded=pair(seed=9)), "base"),
        (
            base.load("tiny", Letters.choices, base.LoraSettings(4, 8), dtype="float32", loaded=pair()),
            "rank and shapes",
        ),
        (base.load("tiny", Letters.choices, LORA, dtype="bfloat16", loaded=halved()), "dtype"),
    ):
        with pytest.raises(TrainingTrouble, match=rf"other settings \({what}\)"):
            go(other, tmp_path)


@pytest.mark.full
def test_a_run_is_not_gone_on_with_from_another_start(tmp_path: Path) -> None:
    first = student()
    base.save(first, tmp_path / "one", "letters-1", Calibration(), {})
    go(first, tmp_path / "first")  # teaches it something
    base.save(first, tmp_path / "other", "letters-1", Calibration(), {})

    def begun(adapter: str) -> base.Student:
        return base.load("tiny", Letters.choices, adapter=tmp_path / adapter, dtype="float32", loaded=pair())

    go(begun("one"), tmp_path / "run")
    go(begun("one"), tmp_path / "run")
    (tmp_path / "one").rename(tmp_path / "elsewhere")
    go(begun("elsewhere"), tmp_path / "run")
    with pytest.raises(TrainingTrouble, match=r"other settings \(--from\)"):
        go(begun("other"), tmp_path / "run")


def halved() -> tuple[Any, Any]:
    one, words = pair()
    return one.to(torch.bfloat16), words


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    go(student(), tmp_path)
    path = tmp_path / course.CHECKPOINT
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(TrainingTrouble, match="cannot be read"):
        go(student(), tmp_path)


def test_memory_that_does_not_suffice_for_the_start_leaves_the_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    one = student()
    before = [p.detach().clone() for _, p in one.learning()]
    start = [p + 1.0 for p in before]

    def none(*_: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(grpo, "packed_logs", none)
    with pytest.raises(torch.OutOfMemoryError):
        grpo._reference_logs(one, [], None, start)
    assert all(torch.equal(p, own) for (_, p), own in zip(one.learning(), before, strict=True))
