"""Pairs of reference and candidate runs of one workload: which of them count, and when there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from foretell.kernels.bench.statistics import disturbed_timing, spread, surely_below, tight_enough, timing
from foretell.kernels.measurement import Timing
from foretell.kernels.profiles import BenchEffort

FRESH_TO_ACCUSE = 3  # one slow first run is no sign of remembering
FRESH_RETAKES = 4  # how many times as many unseen inputs as planned may be drawn for pairs that are taken again


@dataclass(frozen=True)
class Pair:
    """One run of each, one right after the other.

    The CPU times are how long the calling thread was on a core. `fresh` marks inputs the candidate had not seen,
    `preempted` that one of the two lost its core meanwhile. The overheads are what the judge's clock showed beyond the
    worker's.
    """

    reference_us: float
    candidate_us: float
    reference_cpu_us: float
    candidate_cpu_us: float
    fresh: bool
    preempted: bool
    reference_overhead_us: float
    candidate_overhead_us: float


@dataclass
class Pairs:
    """The pairs of one workload so far, and the decisions that follow from them.

    While the machine is `contended`, pairs that were preempted do not count. If too few others could be had, all of
    them count after all, and the result is `disturbed`.
    """

    effort: BenchEffort
    taken: list[Pair] = field(default_factory=list)
    contended: bool = False
    fresh_drawn: int = 0

    @property
    def undisturbed(self) -> list[Pair]:
        return [pair for pair in self.taken if not (self.contended and pair.preempted)]

    @property
    def counted(self) -> list[Pair]:
        kept = self.undisturbed
        return kept if len(kept) >= self.effort.fewest_pairs else self.taken

    @property
    def retaken(self) -> int:
        """How many pairs were taken in vain."""
        return len(self.taken) - len(self.counted)

    @property
    def disturbed(self) -> bool:
        """Whether other processes kept this from being as precise as it should be."""
        return self.contended and not self._tight(self.undisturbed)

    @property
    def mixed(self) -> bool:
        """Whether preempted pairs count because there were too few others."""
        return self.contended and any(pair.preempted for pair in self.counted)

    def next_inputs(self) -> tuple[int, bool]:
        """Which input set the next pair runs on, and whether the candidate has not seen it.

        Now and then one that it has not seen, else one of those already checked. The new ones are spread out, so that
        a busy spell of the machine cannot pass for their being slower.
        """
        effort = self.effort
        turn, rest = divmod(len(self.undisturbed), effort.fresh_every)
        planned = effort.input_sets - effort.check_seeds
        if rest == 0 and turn < planned and self.fresh_drawn < FRESH_RETAKES * planned:
            self.fresh_drawn += 1
            return effort.check_seeds + self.fresh_drawn - 1, True
        return len(self.taken) % effort.check_seeds, False

    def noisy(self) -> bool:
        """Whether the ratios spread so much that something unseen may disturb them."""
        return len(self.taken) >= self.effort.fewest_pairs and spread(*_columns(self.taken)) > self.effort.noisy_spread

    def hopeless(self, below: float | None) -> bool:
        """Whether the candidate is surely slower than `below`; on a contended machine by its time on a core alone."""
        if below is None or len(self.taken) < self.effort.fewest_pairs:
            return False
        return surely_below(*(_on_core(self.taken) if self.contended else _columns(self.taken)), below)

    def enough(self, elapsed_s: float) -> bool:
        """Whether the interval is narrow enough, or the cap on pairs or time is reached."""
        effort = self.effort
        if len(self.taken) < effort.fewest_pairs:
            return False
        pairs = self.undisturbed
        if len(pairs) >= effort.fewest_pairs and (self._tight(pairs) or len(pairs) >= effort.most_pairs):
            return True
        return elapsed_s > (effort.busy_cap_s if self.contended or self.noisy() else effort.workload_cap_s)

    def timing(self, workload: str) -> Timing:
        """The speedup by the pairs that count, with its interval."""
        by_clock, on_core = _columns(self.counted), _on_core(self.counted)
        if not self.mixed:
            return timing(workload, *by_clock)
        return disturbed_timing(workload, (by_clock[0], on_core[0]), (by_clock[1], on_core[1]))

    def suspicion(self) -> str:
        """Signs that the times are not what they seem: a clock that disagrees with ours, or answers remembered."""
        effort = self.effort
        # A busy machine delays some runs, a liar all of them.
        extra_us = min(p.candidate_overhead_us for p in self.taken) - float(
            np.median([p.reference_overhead_us for p in self.taken])
        )
        if extra_us > effort.clock_slack_us + 0.2 * float(np.median([p.candidate_us for p in self.counted])):
            return f"its clock runs {extra_us:.0f} us short of the judge's"
        fresh = [p.candidate_us / p.reference_us for p in self.counted if p.fresh]
        repeated = [p.candidate_us / p.reference_us for p in self.counted if not p.fresh]
        if (
            repeated
            and len(fresh) >= FRESH_TO_ACCUSE
            and float(np.percentile(repeated, 90)) < effort.memory_ratio * min(fresh)
        ):
            return "it is faster on inputs it has seen before: results are remembered"
        return ""

    def _tight(self, pairs: Sequence[Pair]) -> bool:
        half_width = self.effort.busy_half_width if self.contended else self.effort.half_width
        return len(pairs) >= self.effort.fewest_pairs and tight_enough(*_columns(pairs), half_width)


def _columns(pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    return [p.reference_us for p in pairs], [p.candidate_us for p in pairs]


def _on_core(pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    return [p.reference_cpu_us for p in pairs], [p.candidate_cpu_us for p in pairs]
