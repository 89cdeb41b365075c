"""One stage from beginning to end: data, base, training, calibration, and an adapter that forecasters can use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foretell.kernels.evaluate.data import Data
from foretell.kernels.forecast import brief
from foretell.lm.adapter import Calibration, Card, is_adapter
from foretell.train.lm import base as bases
from foretell.train.lm import calibrate, rewards
from foretell.train.lm.errors import TrainingTrouble
from foretell.train.lm.grpo import GrpoSettings, improve
from foretell.train.lm.pairs import KernelPairs
from foretell.train.lm.supervised import SftSettings, supervise
from foretell.train.lm.trees import left_out

CHECKED = 1200  # questions to calibrate by
CALIBRATING_SHARE, LEAST_CALIBRATING_S = 0.1, 60.0  # of the seconds; fewer questions where those are not enough


@dataclass(frozen=True)
class Wanted:
    """What a user asked for; see `foretell train lm --help`."""

    stage: str
    base: str
    into: Path
    start: Path | None = None
    seconds: float = 1500.0
    examples: int = 26_000
    steps: int = GrpoSettings.steps
    reward: str = GrpoSettings.reward
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
    policy = wanted.stage == "grpo"
    check(wanted)
    if data.foreign:
        raise TrainingTrouble(f"{data.path} is of kernels measured elsewhere, which are for judging: --data CORPUS")
    say("reading the weights")
    lora = None if wanted.start else bases.LoraSettings(wanted.rank, 2 * wanted.rank)
    student = bases.load(
        wanted.base, KernelPairs.choices, lora, wanted.start, wanted.dtype, loaded=loaded, seed=wanted.seed
    )
    trees = left_out(data, say) if _told(wanted) else None
    world = KernelPairs.for_policy(data, trees) if policy else KernelPairs(data, trees)
    if not world.operations[0]:
        raise TrainingTrouble("there is nothing to learn from: the corpus has no operation for training on a GPU")
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
    learnt, kept = world.operations
    about = {"stage": wanted.stage, "trained": done, "operations": len(learnt), "kept": kept, "seed": wanted.seed}
    into = wanted.into / "adapter"
    bases.save(student, into, world.style, Calibration(), about)  # whatever becomes of the rest
    most_s = max(LEAST_CALIBRATING_S, CALIBRATING_SHARE * wanted.seconds)
    say(f"calibrating on operations that were kept back (at most {most_s:.0f} s)")
    stated, came = calibrate.choice_probs(student, world, world.check(CHECKED, 0), most_s=most_s)
    bases.save(student, into, world.style, calibrate.fit(stated, came), about | {"calibrated by": len(stated)})
    use = f"--forecaster 'local:{into}?base={wanted.base}'"
    return f"{done['steps']} steps in {done['seconds']:.0f} s; {use}"


def check(wanted: Wanted) -> None:
    """Raises TrainingTrouble, or ValueError for an unknown reward, if it cannot work whatever the data are."""
    torch: Any = importlib.import_module("torch")
    if wanted.stage == "grpo":
        rewards.make(wanted.reward, dict(wanted.weights) or None)
        if wanted.start is None:
            raise TrainingTrouble(
                "the policy stage goes on from an adapter that can answer: --from RUN/adapter of an sft run"
            )
    if wanted.start is not None and not is_adapter(wanted.start):
        hint = f" (there is one in {wanted.start / 'adapter'})" if is_adapter(wanted.start / "adapter") else ""
        raise TrainingTrouble(f"there is no adapter in {wanted.start}{hint}")
    if wanted.dtype != "auto" and not isinstance(getattr(torch, wanted.dtype, None), torch.dtype):
        raise TrainingTrouble(f"torch has no type {wanted.dtype!r}: --dtype bfloat16, float16, float32 or auto")
    if wanted.base.endswith(".gguf") and not Path(wanted.base).is_file():
        raise TrainingTrouble(f"there is no file {wanted.base}")
    if wanted.into.exists() and not wanted.into.is_dir():
        raise TrainingTrouble(f"{wanted.into} is a file: --into is the folder of the run")


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _told(wanted: Wanted) -> bool:
    """Whether questions tell what trees expect: as the adapter that is gone on from has been asked, or as wanted."""
    card = Card.read(wanted.start) if wanted.start else None
    return not wanted.alone if card is None else card.style == brief.TOLD
