"""The course of a training run: the optimiser, the rate, checkpoints, the log, and when to stop.

A run is a folder: `log.jsonl`, `checkpoint.pt` (replaced every few minutes, whole or not at all) and, at the end,
`adapter/`. What a step learns from depends on the seed and the step's number alone, so that a run that was cut goes on
as if it had not been.
"""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.received import replacing
from foretell.train.lm.base import Student
from foretell.train.lm.errors import NotANumber, TrainingTrouble

# What a run may go on with otherwise: what its errors advise to lower.
MAY_CHANGE = ("rate", "longest", "longest_prompt", "batch_tokens", "questions", "answers", "groups_at_once")
CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"


@dataclass(frozen=True)
class Pace:
    """How long and how fast: `steps` in all, or `seconds` of this process if that is over first.

    The rate rises over the first `warmup` share and falls to zero along a cosine at the end, whichever end comes first.
    """

    steps: int
    rate: float
    seconds: float = math.inf
    warmup: float = 0.05
    save_every_s: float = 120.0
    clip_norm: float = 1.0


class Course:
    """The optimiser over an adapter's parameters, kept in single precision whatever the model computes in."""

    def __init__(self, student: Student, into: Path, pace: Pace, settings: Mapping[str, Any]) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._student, self._into, self._pace = student, into, pace
        self._named = student.learning()
        shapes = sorted({str(tuple(p.shape)) for _, p in self._named})
        own = {
            "base": student.base_mark,
            "dtype": str(student.dtype),
            "rank and shapes": shapes,
            "--from": student.start_mark,
        }
        self._settings = json.loads(json.dumps(dict(settings) | own))
        if not self._named:
            raise TrainingTrouble("the model has nothing to learn: give it an adapter")
        self._masters = [p.detach().clone().float() for _, p in self._named]
        self._optimiser = self._torch.optim.AdamW(self._masters, lr=pace.rate, betas=(0.9, 0.98), weight_decay=0.0)
        self.step = 0
        self.spent_s = 0.0
        self.totals: dict[str, float] = {}  # of all pieces of the run, for whoever counts
        self._whole = True
        self._began = self._saved = time.monotonic()
        into.mkdir(parents=True, exist_ok=True)
        self._resume()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def progress(self) -> float:
        """From 0 to 1: by steps, or by this process's time where that runs out first."""
        return max(self.step / max(1, self._pace.steps), self.elapsed_s / self._pace.seconds)

    @property
    def over(self) -> bool:
        return self.step >= self._pace.steps or self.elapsed_s >= self._pace.seconds

    def rate(self) -> float:
        warmed = min(1.0, (self.step + 1) / max(1.0, self._pace.warmup * self._pace.steps))
        return self._pace.rate * warmed * 0.5 * (1.0 + math.cos(math.pi * min(1.0, self.progress)))

    def learn(self, loss: float, **counts: float) -> float:
        """One step by the gradients that the parameters hold; the gradients' norm. NotANumber keeps what was saved.

        `counts` are added to the totals.
        """
        if not math.isfinite(loss):
            raise NotANumber(
                f"the loss is not a number in step {self.step}: lower --rate (now {self._pace.rate:g}), or use a wider "
                f"--dtype. What was learnt until the last checkpoint is in {self._into}"
            )
        for master, (_, parameter) in zip(self._masters, self._named, strict=True):
            master.grad = None if parameter.grad is None else parameter.grad.detach().float()
            parameter.grad = None
        norm = float(self._torch.nn.utils.clip_grad_norm_(self._masters, self._pace.clip_norm))
        if not math.isfinite(norm):
            raise NotANumber(f"the gradients are not numbers in step {self.step}: lower --rate or use a wider --dtype")
        self._whole = False
        for group in self._optimiser.param_groups:
            group["lr"] = self.rate()
        self._optimiser.step()
        with self._torch.no_grad():
            for master, (_, parameter) in zip(self._masters, self._named, strict=True):
                parameter.copy_(master)
        self.step += 1
        for name, count in counts.items():
            self.totals[name] = self.totals.get(name, 0) + count
        self._whole = True
        if time.monotonic() - self._saved > self._pace.save_every_s:
            self.save()
        return norm

    @contextmanager
    def kept(self, say: Callable[[str], None]) -> Iterator[None]:
        """Say where a run that was cut goes on; keep what was learnt where it is interrupted now."""
        if self.step:
            say(f"going on from step {self.step} of {self._pace.steps}")
        try:
            yield
        except KeyboardInterrupt:
            if self._whole:
                self.save()
                say(f"{self.step} of {self._pace.steps} steps are kept in {self._into}: the same command goes on")
            raise

    def log(self, **figures: Any) -> None:
        with (self._into / LOG).open("a") as file:
            file.write(
                json.dumps({"step": self.step, "seconds": round(self.spent_s + self.elapsed_s, 2)} | figures) + "\n"
            )

    def save(self) -> None:
        """Everything needed to go on, in one file that is replaced whole."""
        self._saved = time.monotonic()
        found = {
            "step": self.step,
            "seconds": self.spent_s + self.elapsed_s,
            "settings": self._settings,
            "totals": self.totals,
            "masters": {name: m.cpu() for (name, _), m in zip(self._named, self._masters, strict=True)},
            "optimiser": self._optimiser.state_dict(),
        }
        with replacing(self._into / CHECKPOINT) as partial:
            self._torch.save(found, partial)

    def _resume(self) -> None:
        path = self._into / CHECKPOINT
        if not path.exists():
            (self._into / LOG).unlink(missing_ok=True)
            return
        try:
            found = self._torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # whatever unpickling a damaged file raises
            raise TrainingTrouble(f"{path} cannot be read ({type(error).__name__}): remove it to begin anew") from error
        known = found["settings"]  # of an older version it may lack some
        changed = [k for k, v in self._settings.items() if known.get(k, v) != v and k not in MAY_CHANGE]
        if changed:
            raise TrainingTrouble(
                f"the run in {self._into} was begun with other settings ({', '.join(changed)}): go on with those, or "
                "give --into another folder"
            )
        with self._torch.no_grad():
            for (name, parameter), master in zip(self._named, self._masters, strict=True):
                master.copy_(found["masters"][name])
                parameter.copy_(master)
        self._optimiser.load_state_dict(found["optimiser"])
        self.step, self.spent_s = int(found["step"]), float(found["seconds"])
        self.totals = dict(found["totals"])
        log = self._into / LOG
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        log.write_text("".join(line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= self.step))
