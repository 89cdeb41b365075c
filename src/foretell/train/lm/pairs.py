"""The world of kernels: ordered pairs of programs of one operation, and how much faster the second one was.

A pair is a base (the reference, or a measured candidate) and a candidate. Its target is a distribution over the bins:
the measured ratio with the doubt that its paired samples leave, or a failure. Pairs are drawn so that every operation,
and within it every outcome that is not rare, has the same mass: a few rows drawn over and over would be learnt by
heart. For the same reason some questions leave the sources out. Nothing of a held-out operation, family or written
kernel is ever drawn, nor a near copy of one (the corpus marks those); some training operations are kept back to
calibrate by.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foretell.belief import Forecast, bins
from foretell.kernels.evaluate.data import Data
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.forecast import answer, brief
from foretell.kernels.forecast.roofline import reference_times_s
from foretell.kernels.measurement import Measurement
from foretell.train.lm.world import Example, Form

CHOICES = (answer.FAILURE_KEY, *bins.KEYS)  # a failure is worse than the slowest
REFERENCE_SHARE = 0.65  # of the pairs have the reference as base: that is what is asked in use
BLIND_SHARE = 0.4  # of the questions show no sources, only what is known of the builds
COMMON = 24  # rows from which on an outcome has the mass of any other; rarer ones have less, each row the same
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


class KernelPairs:
    """Pairs from a corpus; see the module. `reference_share` 1 leaves out pairs of two candidates.

    `blur_log2` widens the targets of `train`, and `blind_share` of its questions show no sources.
    """

    name = "kernels"
    style = brief.STYLE
    choices = CHOICES

    def __init__(
        self,
        data: Data,
        structured_share: float = STRUCTURED_SHARE,
        reference_share: float = REFERENCE_SHARE,
        kind: str = "gpu",
        blind_share: float = BLIND_SHARE,
        blur_log2: float = BLUR_LOG2,
    ) -> None:
        self._data, self._kind = data, kind
        self._structured, self._reference = structured_share, reference_share
        self._blind, self._blur = blind_share, blur_log2

    @staticmethod
    def for_policy(data: Data) -> KernelPairs:
        """Questions as they come in use, in the written form, with the targets that measuring gave."""
        return KernelPairs(data, structured_share=1.0, reference_share=1.0, blind_share=0.0, blur_log2=0.0)

    def train(self, count: int, seed: int) -> list[Example]:
        return [self._drawn(rng) for rng in _rngs(seed, count)]

    def check(self, count: int, seed: int) -> list[Example]:
        rng = np.random.default_rng([seed, 1])
        rows = [(ground, i) for ground in self._kept_back for i in range(len(ground.pool))]
        taken = rng.permutation(len(rows))[:count].tolist()
        return [_example(ground, i, ground.reference, "direct") for ground, i in (rows[at] for at in taken)]

    def answer(self, target: Sequence[float]) -> str:
        return brief.answer_text((*target[1:], target[0]))

    def read(self, text: str) -> tuple[float, ...] | None:
        found = answer.read(text)
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
        grounds = self._grounds[0]
        ground = grounds[rng.integers(len(grounds))]
        form: Form = "structured" if rng.random() < self._structured else "direct"
        sources = rng.random() >= self._blind
        if rng.random() < self._reference or len(ground.worked) < 2:
            return _example(ground, _balanced(ground.by_bin, rng), ground.reference, form, self._blur, sources)
        at = int(ground.worked[rng.integers(len(ground.worked))])
        base = brief.Base(ground.pool.subjects[at], ground.pool.measured[at].log2_speedup, is_reference=False)
        return _example(ground, self._against(ground, at, rng), base, form, self._blur, sources)

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
    forecast = Forecast.from_normal(measurement.log2_speedup - base_log2, std, 0.0)
    return (0.0, *forecast.bins())


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


def _example(ground: _Ground, i: int, base: brief.Base, form: Form, blur: float = 0.0, sources: bool = True) -> Example:
    pool = ground.pool
    subject, outcome = pool.subjects[i], pool.measured[i]
    asked = ground.asker.messages(subject, base, "direct" if form == "direct" else "distribution", sources)
    std = math.hypot(blur, 0.0 if base.is_reference else LEAST_STD_LOG2)
    return Example(asked, form, target_of(outcome, base.log2, std), pool.group)


def _rngs(seed: int, count: int) -> Iterator[np.random.Generator]:
    """A generator for each place: what is drawn there does not depend on how many are wanted."""
    return (np.random.default_rng([seed, 0, place]) for place in range(count))
