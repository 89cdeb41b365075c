"""One stage from beginning to end: data, base, training, calibration, and an adapter that forecasters can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foretell.kernels.evaluate.data import Data
from foretell.kernels.forecast import brief
from foretell.lm.adapter import Card
from foretell.train.lm import base as bases
from foretell.train.lm import calibrate
from foretell.train.lm.errors import TrainingTrouble
from foretell.train.lm.grpo import GrpoSettings, improve
from foretell.train.lm.pairs import KernelPairs
from foretell.train.lm.supervised import SftSettings, supervise
from foretell.train.lm.trees import left_out

CHECKED = 1200  # questions to calibrate by


@dataclass(frozen=True)
class Wanted:
    """What a user asked for; see `foretell train lm --help`."""

    stage: str
    base: str
    into: Path
    start: Path | None = None
    seconds: float = 1500.0
    examples: int = 26_000
    steps: int = 40
    reward: str = "crps"
    weights: tuple[tuple[str, float], ...] = ()
    kl_weight: float = 0.0
    answer_only: bool = False
    rate: float | None = None
    rank: int = 16
    seed: int = 0
    dtype: str = "bfloat16"
    alone: bool = False
    longest: int | None = None
    questions: int | None = None
    answers: int | None = None


def train_lm(
    data: Data, wanted: Wanted, say: Callable[[str], None], loaded: tuple[Any, Any] | None = None, **more: Any
) -> str:
    """Train, calibrate and save; what came of it in a sentence. `more` are settings of the stage, for small trials.

    TrainingTrouble where it cannot be done; what was learnt before is in the run's folder.
    """
    if wanted.stage == "grpo" and wanted.start is None:
        raise TrainingTrouble(
            "the policy stage goes on from an adapter that can answer: --from RUN/adapter of an sft run"
        )
    policy = wanted.stage == "grpo"
    trees = left_out(data, say) if _told(wanted) else None
    world = KernelPairs.for_policy(data, trees) if policy else KernelPairs(data, trees)
    lora = None if wanted.start else bases.LoraSettings(wanted.rank, 2 * wanted.rank)
    say("reading the weights")
    student = bases.load(wanted.base, world.choices, lora, wanted.start, wanted.dtype, loaded=loaded)
    if policy:
        chosen = GrpoSettings(
            wanted.reward,
            wanted.weights,
            wanted.steps,
            kl_weight=wanted.kl_weight,
            answer_only=wanted.answer_only,
            seed=wanted.seed,
        )
        own = {"rate": wanted.rate, "longest_prompt": wanted.longest}
        own |= {"questions": wanted.questions, "answers": wanted.answers}
        rewarded = replace(chosen, **_given(own), **more)
        done = improve(student, world, wanted.into, rewarded, wanted.seconds, say)
    else:
        taught = SftSettings(wanted.examples, seed=wanted.seed)
        taught = replace(taught, **_given({"rate": wanted.rate, "longest": wanted.longest}), **more)
        done = supervise(student, world, wanted.into, taught, wanted.seconds, say)
    say("calibrating on operations that were kept back")
    stated, came = calibrate.choice_probs(student, world, world.check(CHECKED, 0))
    calibration = calibrate.fit(stated, came)
    learnt, kept = world.operations
    about = {"stage": wanted.stage, "trained": done, "operations": len(learnt), "kept": kept, "seed": wanted.seed}
    bases.save(student, wanted.into / "adapter", world.style, calibration, about)
    use = f"--forecaster local:{wanted.into / 'adapter'}?base={wanted.base}"
    return f"{done['steps']} steps in {done['seconds']:.0f} s; {use}"


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _told(wanted: Wanted) -> bool:
    """Whether questions tell what trees expect: as the adapter that is gone on from has been asked, or as wanted."""
    card = Card.read(wanted.start) if wanted.start else None
    return not wanted.alone if card is None else card.style == brief.TOLD
