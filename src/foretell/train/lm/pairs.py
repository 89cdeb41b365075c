"""The world of kernels: ordered pairs of programs of one operation, and how much faster the second one was.

A pair is a base (the reference, or a measured candidate) and a candidate. Its target is a distribution over the bins:
the measured ratio with the doubt that its paired samples leave, or a failure. Pairs are drawn so that every operation,
and within it every outcome that is not rare, has the same mass: a few rows drawn over and over would be learnt by
heart. For the same reason some questions leave the sources out, and numbers of builds are changed a little. Nothing of
a held-out operation, family or written kernel is ever drawn, nor a near copy of one (the corpus marks those); some
training operations are kept back to calibrate by.

With `trees` (forecasts by trees that were not shown the row), some questions tell what those expect; where one does
not, part of its target is what they expect, which is less of an accident than one measurement.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from foretell.belief import Forecast, bins
from foretell.kernels.evaluate.data import Data
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.forecast import answer, brief, hundredths
from foretell.kernels.forecast.roofline import reference_times_s
from foretell.kernels.measurement import Measurement
from foretell.train.lm.trees import NEW_OPERATION, LeftOut
from foretell.train.lm.world import Example, Form

CHOICES = (answer.FAILURE_KEY, *bins.KEYS)  # a failure is worse than the slowest
REFERENCE_SHARE = 0.65  # of the pairs have the reference as base: that is what is asked in use
BLIND_SHARE = 0.4  # of the questions show no sources, only what is known of the builds
COMMON = 24  # rows from which on an outcome has the mass of any other; rarer ones have less, each row the same
TOLD_SHARE = 0.5  # of the questions against the reference tell what trees expect, where that is known
TAUGHT = 0.5  # of the target is by the trees in questions that do not
NUDGE_LOG2 = 0.06  # standard deviation of what is added to a build's numbers while learning
STRUCTURED_SHARE = 0.25  # of the questions ask for a written distribution
CHECK_SHARE = 0.1  # of the training operations are kept back
BLUR_LOG2 = 0.2  # added to the doubt while learning: where in its bin a speedup lies is worth knowing too
LEAST_STD_LOG2 = 0.02  # of a measured speedup: between two machines of one kind
TRAIN = "train"


@dataclass(frozen=True)
class _Ground:
    """One operation's pool with what its questions have in common."""

    pool: Pool
    asker: brief.Asker
    reference: brief.Base
    by_bin: tuple[tuple[int, ...], ...]
    worked: tuple[int, ...]


@dataclass(frozen=True)
class Drawing:
    """How questions are drawn: the shares of pairs with the reference as base, of written answers, of questions without
    sources and of those that tell the trees' word; how much targets and numbers are blurred (log2); and how much of the
    target is the trees' where their word is not told."""

    reference: float = REFERENCE_SHARE
    structured: float = STRUCTURED_SHARE
    blind: float = BLIND_SHARE
    told: float = TOLD_SHARE
    taught: float = TAUGHT
    blur_log2: float = BLUR_LOG2
    nudge_log2: float = NUDGE_LOG2


# As questions come in use, in the written form, with the targets that measuring gave.
IN_USE = Drawing(reference=1.0, structured=1.0, blind=0.0, told=1.0, taught=0.0, blur_log2=0.0, nudge_log2=0.0)


class KernelPairs:
    """Pairs from a corpus; see the module. `trees` are forecasts by trees that were not shown the row."""

    mark = hundredths.MARK
    choices = CHOICES

    def __init__(
        self, data: Data, trees: LeftOut | None = None, drawing: Drawing | None = None, kind: str = "gpu"
    ) -> None:
        self.name = f"kernels {data.mark()}"
        self.style = brief.ALONE if trees is None else brief.TOLD
        self._data, self._kind = data, kind
        self._trees: LeftOut = {} if trees is None else trees
        self._drawing = drawing or Drawing()

    @staticmethod
    def for_policy(data: Data, trees: LeftOut | None = None) -> KernelPairs:
        """Questions as they come in use, in the written form, with the targets that measuring gave."""
        return KernelPairs(data, trees, IN_USE)

    def train(self, count: int, seed: int) -> list[Example]:
        return [self._drawn(rng) for rng in _rngs(seed, count)]

    def check(self, count: int, seed: int) -> list[Example]:
        rng = np.random.default_rng([seed, 1])
        rows = [(ground, i) for ground in self._kept_back for i in range(len(ground.pool))]
        taken = rng.permutation(len(rows))[:count].tolist()
        return [
            _example(ground, i, ground.reference, "direct", trees=self._word(ground, i, NEW_OPERATION))
            for ground, i in (rows[at] for at in taken)
        ]

    @staticmethod
    def answer(target: Sequence[float]) -> str:
        failed, worked = target[0], math.fsum(target[1:])
        given = [p / worked for p in target[1:]] if worked > 0.0 else [1.0 / bins.N_BINS] * bins.N_BINS
        return f"{hundredths.MARK} {hundredths.say(failed, given)}"

    @staticmethod
    def read(text: str) -> tuple[float, ...] | None:
        found = hundredths.read(text)
        if isinstance(found, answer.Unreadable):
            return None
        return (found.p_fail, *((1.0 - found.p_fail) * prob for prob in found.probs))

    @property
    def operations(self) -> tuple[list[str], list[str]]:
        """The operations that are learnt from, and those kept back."""
        return [g.pool.group for g in self._grounds[0]], [g.pool.group for g in self._kept_back]

    @cached_property
    def _grounds(self) -> tuple[list[_Ground], list[_Ground]]:
        pools = [pool for pool in self._data.pools(TRAIN, "build") if pool.device.kind == self._kind]
        ordered = sorted(pools, key=lambda pool: zlib.crc32(pool.group.encode()))
        kept = max(1, round(CHECK_SHARE * len(ordered))) if len(ordered) > 1 else 0
        return [_ground(pool) for pool in ordered[kept:]], [_ground(pool) for pool in ordered[:kept]]

    @property
    def _kept_back(self) -> list[_Ground]:
        return self._grounds[1]

    def _drawn(self, rng: np.random.Generator) -> Example:
        grounds, how = self._grounds[0], self._drawing
        ground = grounds[rng.integers(len(grounds))]
        form: Form = "structured" if rng.random() < how.structured else "direct"
        sources, told = rng.random() >= how.blind, rng.random() < how.told
        regimes = sorted(self._trees)
        regime = regimes[int(rng.integers(len(regimes)))] if regimes else ""
        if rng.random() < how.reference or len(ground.worked) < 2:
            base, i = ground.reference, _balanced(ground.by_bin, rng)
        else:
            at = int(ground.worked[rng.integers(len(ground.worked))])
            base = brief.Base(ground.pool.subjects[at], ground.pool.measured[at].log2_speedup, is_reference=False)
            i, told = self._against(ground, at, rng), False
        blur = None if how.nudge_log2 == 0.0 else _nudging(how.nudge_log2, rng)
        word = self._word(ground, i, regime)
        found = _example(ground, i, base, form, how.blur_log2, sources, word if told else None, blur)
        if told or word is None or how.taught == 0.0:
            return found
        return replace(found, target=_blended(found.target, choice_probs(word.shifted(-base.log2)), how.taught))

    def _word(self, ground: _Ground, i: int, regime: str) -> Forecast | None:
        """What trees that were not shown this row expect of it, where that is known."""
        return self._trees.get(regime, {}).get((ground.pool.device.name, ground.pool.ids[i]))

    def _against(self, ground: _Ground, base: int, rng: np.random.Generator) -> int:
        """A candidate whose speed over the base is in a bin drawn at random among those that there are."""
        logs = np.array([m.log2_speedup if m.ok else np.nan for m in ground.pool.measured])
        ratios = logs - logs[base]
        found = np.where(np.isfinite(ratios), np.searchsorted(bins.EDGES_LOG2, ratios, side="right"), bins.N_BINS)
        found[base] = -1
        return _balanced([np.flatnonzero(found == kind).tolist() for kind in range(bins.N_BINS + 1)], rng)


def _balanced(by_outcome: Sequence[Sequence[int]], rng: np.random.Generator) -> int:
    """A row, drawn so that every common outcome is as likely as any other."""
    mass = np.array([min(len(rows), COMMON) for rows in by_outcome], dtype=float)
    rows = by_outcome[int(rng.choice(len(by_outcome), p=mass / mass.sum()))]
    return rows[int(rng.integers(len(rows)))]


def target_of(measurement: Measurement, base_log2: float = 0.0, base_std: float = 0.0) -> tuple[float, ...]:
    """The probability of each choice given what was measured: doubt in the speedup spreads over bins."""
    if not measurement.ok:
        return (1.0, *(0.0 for _ in bins.KEYS))
    std = math.hypot(std_log2(measurement), base_std)
    return choice_probs(Forecast.from_normal(measurement.log2_speedup - base_log2, std, 0.0))


def choice_probs(forecast: Forecast) -> tuple[float, ...]:
    """A forecast as probabilities of the choices."""
    return (forecast.p_fail, *((1.0 - forecast.p_fail) * p for p in forecast.bins()))


def _blended(measured: Sequence[float], told: Sequence[float], share: float) -> tuple[float, ...]:
    return tuple((1.0 - share) * p + share * q for p, q in zip(measured, told, strict=True))


def _nudging(std_log2: float, rng: np.random.Generator) -> brief.Blur:
    return lambda value: value * 2.0 ** (std_log2 * rng.standard_normal())


def std_log2(measurement: Measurement) -> float:
    """Standard deviation of a measured log2 speedup, from its 95 % interval."""
    if measurement.low is None or measurement.high is None or measurement.low <= 0.0:
        return LEAST_STD_LOG2
    return max(LEAST_STD_LOG2, math.log2(measurement.high / measurement.low) / (2.0 * 1.96))


def _ground(pool: Pool) -> _Ground:
    known_us = {name: seconds * 1e6 for name, seconds in reference_times_s(pool.measured).items()}
    by_bin: list[list[int]] = [[] for _ in CHOICES]
    for i, m in enumerate(pool.measured):
        by_bin[1 + bins.bin_of(2.0**m.log2_speedup) if m.ok else 0].append(i)
    worked = tuple(i for i, m in enumerate(pool.measured) if m.ok)
    asker = brief.Asker(pool.task, pool.device, known_us)
    return _Ground(pool, asker, brief.reference_base(pool.task), tuple(map(tuple, by_bin)), worked)


def _example(
    ground: _Ground,
    i: int,
    base: brief.Base,
    form: Form,
    blur_log2: float = 0.0,
    sources: bool = True,
    trees: Forecast | None = None,
    blur: brief.Blur | None = None,
) -> Example:
    pool = ground.pool
    subject, outcome = pool.subjects[i], pool.measured[i]
    answered = "direct" if form == "direct" else "distribution"
    asked = ground.asker.messages(subject, base, answered, trees, sources, blur)
    std = math.hypot(blur_log2, 0.0 if base.is_reference else LEAST_STD_LOG2)
    return Example(asked, form, target_of(outcome, base.log2, std), pool.group)


def _rngs(seed: int, count: int) -> Iterator[np.random.Generator]:
    """A generator for each place: what is drawn there does not depend on how many are wanted."""
    return (np.random.default_rng([seed, 0, place]) for place in range(count))
