"""The short question that small models are trained on: a base program, a candidate, and numbers read off its build.

The candidate's speed is asked for over a base: the reference, or another program of the same operation that was
measured. Numbers are worded the way physics compares them (times over the least time possible), so that a small model
has to read and weigh, not to calculate. Sources are shown without remarks (`candidate.stripped`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foretell.belief import bins
from foretell.kernels.candidate import Candidate, Origin, stripped
from foretell.kernels.device import Device
from foretell.kernels.forecast.answer import FAILURE_KEY
from foretell.kernels.forecast.inputs import describe_subject, task_numbers
from foretell.kernels.protocols import Subject
from foretell.kernels.task import Task
from foretell.lm import Message
from foretell.lm.quote import shortened

STYLE = "brief-1"  # goes into an adapter's card: a model is asked as it was trained
MOST_CHARACTERS = 6000  # of a source
MOST_BASE_CHARACTERS = 3000

_PARTS = ("memory", "cache", "issue", "shared", "tensor", "special", "atomics", "waiting", "launches")
_COUNTS = (
    ("registers", "build.registers"),
    ("spilled bytes", "build.spill_bytes"),
    ("shared bytes", "build.shared_bytes"),
    ("threads a block", "build.threads"),
    ("occupancy", "build.occupancy"),
    ("launches", "build.launches"),
    ("instructions", "build.instructions"),
    ("instructions in the inner loop", "build.inner_instructions"),
    ("bytes a load", "build.load_bytes"),
    ("bytes a store", "build.store_bytes"),
    ("lanes that load side by side", "build.dry_load_lanes"),
    ("lanes that store side by side", "build.dry_store_lanes"),
)
_LOGS = (
    ("waves", "relative.waves"),
    ("threads of those the device holds", "relative.resident"),
    ("bytes read over the least", "relative.reread"),
    ("bytes in flight of those needed", "relative.in_flight"),
    ("longest thread's instructions", "build.dry_longest_log2"),
    ("barriers on the longest path", "build.dry_longest_barriers_log2"),
)
_QUESTION = "What is the candidate's speedup over the {base}? {bins}; {failure} if it fails."
_ONE_LETTER = "Answer with one letter."
_DISTRIBUTION = 'Answer with JSON: {"p_fail": probability, "bins": {"A": probability, ...}}.'


@dataclass(frozen=True)
class Base:
    """What a candidate is compared with: a program, and its log2 speedup over the reference (0 for the reference)."""

    subject: Subject
    log2: float = 0.0
    is_reference: bool = True


def reference_base(task: Task) -> Base:
    language, source = next(iter(task.references.items()))
    return Base(Subject(Candidate(task.name, language, source, Origin("reference"))))


class Asker:
    """Questions about candidates of one task on one device; what is the same for all of them is worked out once."""

    def __init__(self, task: Task, device: Device, reference_us: Mapping[str, float]) -> None:
        self._device = device
        self._about = task_numbers(task, device, reference_us)
        self._head = self._task(task, reference_us)

    def messages(self, subject: Subject, base: Base, form: str) -> tuple[Message, ...]:
        """One question in the form `direct` (a letter) or `distribution` (a JSON object with probabilities)."""
        candidate = subject.candidate
        name = "reference" if base.is_reference else "base"
        parts = [self._head]
        program = base.subject.candidate
        speed = "" if base.is_reference else f", measured at {2.0**base.log2:.3g}x the reference"
        shown = shortened(stripped(program.source, program.language), MOST_BASE_CHARACTERS)
        parts.append(f"## {name.capitalize()} ({program.language}{speed})\n{shown}")
        if not base.is_reference:
            parts.append(self._numbers(base.subject, "Base"))
        text = stripped(candidate.source, candidate.language)
        parts.append(f"## Candidate ({candidate.language})\n{shortened(text, MOST_CHARACTERS)}")
        parts.append(self._numbers(subject, "Candidate"))
        edges = ", ".join(f"{key} {bins.label(i)}" for i, key in enumerate(bins.KEYS))
        ask = _ONE_LETTER if form == "direct" else _DISTRIBUTION
        parts.append(_QUESTION.format(base=name, bins=edges, failure=FAILURE_KEY) + " " + ask)
        return (Message("user", "\n\n".join(part for part in parts if part)),)

    def _task(self, task: Task, reference_us: Mapping[str, float]) -> str:
        rows = []
        for workload in task.workloads:
            known = reference_us.get(workload.name)
            rows.append(f"{workload.name}{'' if known is None else f': reference {known:.4g} us'}")
        return (
            f"## {task.name} ({task.family}) on {self._device.name}\n{task.summary}\n"
            f"Inputs: {'; '.join(f'{t.name} {t.dtype}' for t in task.inputs)}. Timed at {'; '.join(rows)}"
        )

    def _numbers(self, subject: Subject, name: str) -> str:
        """What the build shows, in words; empty where it has not been built."""
        if subject.build is None:
            return ""
        if not subject.build.ok:
            return f"{name}'s build failed."
        found = describe_subject(self._about, self._device, subject)
        lines = []
        room = self._about.get("headroom", math.nan)
        together = found.get("relative.time_together")
        if together is not None:
            parts = [(part, found.get(f"relative.time_{part}", -math.inf)) for part in _PARTS]
            told = ", ".join(f"{part} {2.0**value:.2g}" for part, value in parts if value > -3.0)
            reference = f"reference {2.0**room:.3g}, " if math.isfinite(room) else ""
            own = f"{name.lower()} by a simple model {2.0**together:.3g} ({told})"
            lines.append(f"times over the least possible: {reference}{own}")
            if math.isfinite(room):
                lines.append(f"speedup by the simple model {2.0 ** (room - together):.3g}")
        counts = [f"{words} {found[key]:.3g}" for words, key in _COUNTS if key in found]
        counts += [f"{words} {2.0 ** found[key]:.2g}" for words, key in _LOGS if key in found]
        lines.append(", ".join(counts))
        return f"{name}'s build: " + "; ".join(line for line in lines if line) + "."


def answer_text(target: Sequence[float]) -> str:
    """The structured answer that states a distribution over the bins and failure, as a model should write it.

    `target` has a probability for each bin, then that of failure. Two decimals, which sum to one.
    """
    *worked, failed = target
    total = sum(worked)
    given = [p / total for p in worked] if total > 0.0 else [1.0 / len(worked)] * len(worked)
    hundredths = [math.floor(100.0 * p) for p in given]
    for i in sorted(range(len(given)), key=lambda i: hundredths[i] - 100.0 * given[i])[: 100 - sum(hundredths)]:
        hundredths[i] += 1
    said = {key: n / 100.0 for key, n in zip(bins.KEYS, hundredths, strict=True)}
    return json.dumps({"p_fail": round(failed, 2), "bins": said})
