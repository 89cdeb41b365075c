"""Pairs of reference and candidate runs of one workload: which of them count, and when there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from foretell.kernels.bench.runs import Run
from foretell.kernels.bench.statistics import disturbed_timing, ranks_below, spread, surely_below, tight_enough, timing
from foretell.kernels.measurement import Timing
from foretell.kernels.profiles import BenchEffort

_CHOSEN = 1.15  # losing a core costs a run some time on it too: its caches are cold
Columns = tuple[list[float], list[float]]


@dataclass(frozen=True)
class Pair:
    """One run of each on the same inputs, one right after the other."""

    reference: Run
    candidate: Run

    @property
    def held_up(self) -> bool:
        """Whether one of the two lost its core meanwhile, and time on a core cannot make up for it."""
        return any(run.preempted and not run.serial for run in (self.reference, self.candidate))


@dataclass
class Pairs:
    """The pairs of one workload so far, and the decisions that follow from them.

    A kernel on one thread is timed by its time on a core. While the machine is `contended`, pairs in which one on
    several threads lost a core do not count. If too few others could be had, or if the candidate has less to do in
    those that would count, all of them count after all: which runs are held up is no choice of its own.
    """

    effort: BenchEffort
    taken: list[Pair] = field(default_factory=list)
    contended: bool = False

    @property
    def undisturbed(self) -> list[Pair]:
        if not self.contended:
            return self.taken
        kept = [pair for pair in self.taken if not pair.held_up]
        return self.taken if _are_chosen(kept, [pair for pair in self.taken if pair.held_up]) else kept

    @property
    def counted(self) -> list[Pair]:
        kept = self.undisturbed
        return kept if len(kept) >= self.effort.fewest_undisturbed else self.taken

    @property
    def retaken(self) -> int:
        """How many pairs were taken in vain."""
        return len(self.taken) - len(self.counted)

    @property
    def disturbed(self) -> bool:
        """Whether other processes kept this from being as precise as it should be."""
        return self.contended and not self._tight()

    @property
    def mixed(self) -> bool:
        """Whether pairs that were held up count because there were too few others."""
        return self.contended and any(pair.held_up for pair in self.counted)

    def noisy(self) -> bool:
        """Whether the ratios spread so much that something unseen may disturb them."""
        enough = len(self.taken) >= self.effort.fewest_pairs
        return enough and spread(*_times(self.taken)) > self.effort.noisy_spread

    def hopeless(self, below: float | None) -> bool:
        """Whether the candidate is surely slower than `below`; on a contended machine by its time on a core alone."""
        if below is None or len(self.taken) < self.effort.fewest_pairs:
            return False
        return surely_below(*(_on_core(self.taken) if self.contended else _times(self.taken)), below)

    def slow(self) -> bool:
        """Whether every pair so far, of a few at least, shows that the candidate is many times slower."""
        few, times = self.effort.fewest_pairs_when_slow, zip(*_times(self.taken), strict=True)
        return len(self.taken) >= few and all(taken > self.effort.slow_ratio * told for told, taken in times)

    def enough(self, elapsed_s: float) -> bool:
        """Whether the interval is narrow enough, or the cap on pairs or time is reached."""
        effort = self.effort
        if len(self.taken) < effort.fewest_pairs:
            return False
        if self._tight() or len(self.undisturbed) >= effort.most_pairs:
            return True
        return elapsed_s > (effort.busy_cap_s if self.contended or self.noisy() else effort.workload_cap_s)

    def timing(self, workload: str) -> Timing:
        """The speedup by the pairs that count, with its interval."""
        times = _times(self.counted)
        if self.mixed:
            on_core = _on_core(self.counted)
            return disturbed_timing(workload, (times[0], on_core[0]), (times[1], on_core[1]))
        return timing(workload, *times, few=len(self.counted) < self.effort.fewest_pairs)

    @property
    def candidate_us(self) -> float:
        """What the candidate takes; by the clock if it has threads, for time on a core would leave out the others."""
        return float(np.median([pair.candidate.time_us for pair in self.counted]))

    def _tight(self) -> bool:
        pairs = self.undisturbed
        half_width = self.effort.busy_half_width if self.contended else self.effort.half_width
        return len(pairs) >= self.effort.fewest_pairs and tight_enough(*_times(pairs), half_width)


def _are_chosen(kept: Sequence[Pair], dropped: Sequence[Pair]) -> bool:
    """Whether the candidate's time on a core, beside the reference's, is clearly less in the pairs that are kept."""
    if not kept or not dropped:
        return False
    less, more = ([pair.candidate.cpu_us / pair.reference.cpu_us for pair in pairs] for pairs in (kept, dropped))
    return float(np.median(more)) > _CHOSEN * float(np.median(less)) and ranks_below(less, more)


def _times(pairs: Sequence[Pair]) -> Columns:
    """Reference and candidate times, microseconds."""
    return [p.reference.time_us for p in pairs], [p.candidate.time_us for p in pairs]


def _on_core(pairs: Sequence[Pair]) -> Columns:
    return [p.reference.cpu_us for p in pairs], [p.candidate.cpu_us for p in pairs]
