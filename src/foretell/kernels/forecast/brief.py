"""The short question that small models are trained on: a base program, a candidate, and numbers read off its build.

The candidate's speed is asked for over a base: the reference, or another program of the same operation that was
measured. Numbers are worded the way physics compares them (times over the least time possible), so that a small model
has to read and weigh, not to calculate. Sources are shown without remarks (`candidate.stripped`). In the second style
what the trees of `features` expect is told as well: the model then has a second look at it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from foretell.belief import Forecast, bins
from foretell.kernels.candidate import Candidate, Origin, stripped
from foretell.kernels.device import Device
from foretell.kernels.forecast import hundredths
from foretell.kernels.forecast.answer import FAILURE_KEY
from foretell.kernels.forecast.inputs import describe_subject, task_numbers
from foretell.kernels.protocols import Subject
from foretell.kernels.task import Task
from foretell.lm import Message
from foretell.lm.quote import shortened

# Goes into an adapter's card: a model is asked as it was trained.
ALONE = "brief-3"
TOLD = "brief-3, trees"
STYLES = (ALONE, TOLD)
MOST_CHARACTERS = 4000  # of a source
MOST_BASE_CHARACTERS = 1600

_PARTS = ("memory", "cache", "issue", "shared", "tensor", "special", "atomics", "waiting", "launches")
_COUNTS = (
    ("registers", "build.registers"),
    ("spilled", "build.spill_bytes"),
    ("shared", "build.shared_bytes"),
    ("threads", "build.threads"),
    ("occupancy", "build.occupancy"),
    ("launches", "build.launches"),
    ("instructions", "build.instructions"),
    ("inner loop", "build.inner_instructions"),
    ("load bytes", "build.load_bytes"),
    ("store bytes", "build.store_bytes"),
    ("load lanes", "build.dry_load_lanes"),
    ("store lanes", "build.dry_store_lanes"),
)
_VARIES = ("build.instructions", "build.inner_instructions")  # with the compiler; the other counts were chosen
_LOGS = (
    ("waves", "relative.waves"),
    ("resident", "relative.resident"),
    ("reread", "relative.reread"),
    ("in flight", "relative.in_flight"),
    ("longest path", "build.dry_longest_log2"),
    ("barriers", "build.dry_longest_barriers_log2"),
)
_NEEDED = (
    *(key for _, key in (*_COUNTS, *_LOGS)),
    "relative.time_together",
    *(f"relative.time_{part}" for part in _PARTS),
)
_QUESTION = "How fast is the candidate over the {base}? {bins}; {failure} if it fails."
_BINS = (
    ", ".join(f"{key} to {edge:.3g}x" for key, edge in zip(bins.KEYS, bins.EDGES, strict=False))
    + f", {bins.KEYS[-1]} above"
)
_HIDDEN = "Source not shown."
ONE_LETTER = "Answer with one letter."
DISTRIBUTION = f'Answer with hundredths, as in "{hundredths.MARK} X 5, D 20, E 75".'


Blur = Callable[[float], float]


@dataclass(frozen=True)
class Base:
    """What a candidate is compared with: a program, and its log2 speedup over the reference (0 for the reference)."""

    subject: Subject
    log2: float = 0.0
    is_reference: bool = True


@dataclass(frozen=True)
class _Seen:
    """A subject (held, so that its identity stays its own), its source without remarks, and its build's numbers."""

    subject: Subject
    text: str
    numbers: Mapping[str, float]


def question(base: str) -> str:
    """What is asked about the candidate, with the bins of the answer; `base` names what it is timed over."""
    return _QUESTION.format(base=base, bins=_BINS, failure=FAILURE_KEY)


def reference_base(task: Task) -> Base:
    language, source = next(iter(task.references.items()))
    return Base(Subject(Candidate(task.key, language, source, Origin("reference"))))


class Asker:
    """Questions about candidates of one task on one device; what is the same for all of them is worked out once."""

    def __init__(self, task: Task, device: Device, reference_us: Mapping[str, float]) -> None:
        self._device = device
        self._about = task_numbers(task, device, reference_us)
        self._head = self._task(task, reference_us)
        self._kept: dict[int, _Seen] = {}

    def messages(
        self,
        subject: Subject,
        base: Base,
        form: str,
        trees: Forecast | None = None,
        sources: bool = True,
        blur: Blur | None = None,
    ) -> tuple[Message, ...]:
        """One question in the form `direct` (a letter) or `distribution` (a line of hundredths).

        `trees` is their forecast over the same base, where it is to be told. To train on: without `sources` the
        programs are not shown, only what is known of their builds, and `blur` changes those numbers a little.
        """
        candidate = subject.candidate
        name = "reference" if base.is_reference else "base"
        parts = [self._head]
        program = base.subject.candidate
        speed = "" if base.is_reference else f", measured at {2.0**base.log2:.3g}x the reference"
        shown = shortened(self._seen(base.subject).text, MOST_BASE_CHARACTERS) if sources else _HIDDEN
        parts.append(f"## {name.capitalize()} ({program.language}{speed})\n{shown}")
        if not base.is_reference:
            parts.append(self._numbers(base.subject, "Base", blur))
        text = shortened(self._seen(subject).text, MOST_CHARACTERS) if sources else _HIDDEN
        parts.append(f"## Candidate ({candidate.language})\n{text}")
        parts.append(self._numbers(subject, "Candidate", blur))
        if trees is not None:
            parts.append(_word_of(trees))
        ask = ONE_LETTER if form == "direct" else DISTRIBUTION
        parts.append(f"{question(name)} {ask}")
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

    def _numbers(self, subject: Subject, name: str, blur: Blur | None) -> str:
        """What the build shows, in words; empty where it has not been built."""
        if subject.build is None:
            return ""
        if not subject.build.ok:
            return f"{name}'s build failed."
        found = self._seen(subject).numbers
        near = blur or _same
        counts = [
            f"{words} {_short(near(found[key]) if key in _VARIES else found[key], 3)}"
            for words, key in _COUNTS
            if key in found
        ]
        counts += [f"{words} {_short(near(2.0 ** found[key]))}" for words, key in _LOGS if key in found]
        lines = [", ".join(counts)]
        room = self._about.get("headroom", math.nan)
        together = found.get("relative.time_together")
        if together is not None:
            parts = [(part, found.get(f"relative.time_{part}", -math.inf)) for part in _PARTS]
            told = ", ".join(f"{part} {_short(near(2.0**value))}" for part, value in parts if value > -3.0)
            whole = near(2.0**together)
            lines.append(f"times over the least possible: {told}, together {_short(whole)}")
            if math.isfinite(room):
                lines.append(f"the reference {_short(2.0**room)}")
                lines.append(f"speedup by that simple model {_short(2.0**room / whole)}")
        return f"{name}'s build: " + "; ".join(line for line in lines if line) + "."

    def _seen(self, subject: Subject) -> _Seen:
        """What questions need of a subject, worked out once: the same one is asked about many times in training."""
        kept = self._kept.get(id(subject))
        if kept is None:
            text = stripped(subject.candidate.source, subject.candidate.language)
            built = subject.build is not None and subject.build.ok
            found = describe_subject(self._about, self._device, subject) if built else {}
            kept = _Seen(subject, text, {key: found[key] for key in _NEEDED if key in found})
            self._kept[id(subject)] = kept
        return kept


def _same(value: float) -> float:
    return value


def _word_of(trees: Forecast) -> str:
    """What trees expect: hundredths for each answer that is not out of the question, and the middle."""
    told = hundredths.say(trees.p_fail, trees.bins())
    return f"Trees that know other kernels say, in hundredths: {told}; middle {2.0**trees.median:.3g}x."


def _short(value: float, digits: int = 2) -> str:
    """The leading digits without an exponent: each character is a token to a small model."""
    if value < 0.01:
        return "0"
    scale, unit = (1e6, "M") if value >= 1e6 else (1e3, "k") if value >= 1e4 else (1.0, "")
    return f"{float(f'{value / scale:.{digits}g}'):g}{unit}"
