"""Pairs of reference and candidate runs of one workload: which of them count, and when there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from foretell.kernels.bench.statistics import disturbed_timing, spread, surely_below, tight_enough, timing
from foretell.kernels.bench.worker import Run
from foretell.kernels.measurement import Timing
from foretell.kernels.profiles import BenchEffort

FRESH_TO_ACCUSE = 3  # one slow first run is no sign of remembering
FRESH_RETAKES = 4  # how many times as many unseen inputs as planned may be drawn for pairs that are taken again

Columns = tuple[list[float], list[float]]


@dataclass(frozen=True)
class Pair:
    """One run of each, one right after the other; `fresh` marks inputs the candidate had not seen."""

    reference: Run
    candidate: Run
    fresh: bool = False

    @property
    def held_up(self) -> bool:
        """Whether one of the two lost its core meanwhile, and time on a core cannot make up for it."""
        return any(run.preempted and not run.serial for run in (self.reference, self.candidate))


@dataclass
class Pairs:
    """The pairs of one workload so far, and the decisions that follow from them.

    While the machine is `contended`, a kernel on one thread is timed by how long it was on a core, and pairs in which
    one on several threads lost a core do not count. If too few others could be had, all of them count after all.
    """

    effort: BenchEffort
    taken: list[Pair] = field(default_factory=list)
    contended: bool = False
    fresh_drawn: int = 0

    @property
    def undisturbed(self) -> list[Pair]:
        return [pair for pair in self.taken if not (self.contended and pair.held_up)]

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
        enough = len(self.taken) >= self.effort.fewest_pairs
        return enough and spread(*self._times(self.taken)) > self.effort.noisy_spread

    def hopeless(self, below: float | None) -> bool:
        """Whether the candidate is surely slower than `below`; on a contended machine by its time on a core alone."""
        if below is None or len(self.taken) < self.effort.fewest_pairs:
            return False
        return surely_below(*(_on_core(self.taken) if self.contended else self._times(self.taken)), below)

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
        times = self._times(self.counted)
        if self.mixed:
            on_core = _on_core(self.counted)
            return disturbed_timing(workload, (times[0], on_core[0]), (times[1], on_core[1]))
        return timing(workload, *times, few=len(self.counted) < self.effort.fewest_pairs)

    def suspicion(self) -> str:
        """Signs that the times are not what they seem: a clock that disagrees with ours, or answers remembered."""
        effort = self.effort
        # A liar delays all of its runs, a machine some; one that others use may delay every run that outlasts its turn
        # on a core, so there only what exceeds all delays of the reference counts.
        usual = np.max if self.contended else np.median
        extra_us = min(p.candidate.overhead_us for p in self.taken) - float(
            usual([p.reference.overhead_us for p in self.taken])
        )
        references, candidates = self._times(self.counted)
        if extra_us > effort.clock_slack_us + 0.2 * float(np.median(candidates)):
            return f"its clock runs {extra_us:.0f} us short of the judge's"
        ratios = [c / r for r, c in zip(references, candidates, strict=True)]
        fresh = [ratio for ratio, pair in zip(ratios, self.counted, strict=True) if pair.fresh]
        repeated = [ratio for ratio, pair in zip(ratios, self.counted, strict=True) if not pair.fresh]
        if (
            repeated
            and len(fresh) >= FRESH_TO_ACCUSE
            and float(np.percentile(repeated, 90)) < effort.memory_ratio * min(fresh)
        ):
            return "it is faster on inputs it has seen before: results are remembered"
        return ""

    @property
    def fastest_us(self) -> float:
        """The candidate's shortest time by the clock; time on a core would leave out its other threads."""
        return min(pair.candidate.inner_us for pair in self.taken)

    def _tight(self) -> bool:
        pairs = self.undisturbed
        half_width = self.effort.busy_half_width if self.contended else self.effort.half_width
        return len(pairs) >= self.effort.fewest_pairs and tight_enough(*self._times(pairs), half_width)

    def _times(self, pairs: Sequence[Pair]) -> Columns:
        """Reference and candidate times, microseconds."""
        return [self._time_us(p.reference) for p in pairs], [self._time_us(p.candidate) for p in pairs]

    def _time_us(self, run: Run) -> float:
        return run.cpu_us if self.contended and run.serial else run.inner_us


def _on_core(pairs: Sequence[Pair]) -> Columns:
    return [p.reference.cpu_us for p in pairs], [p.candidate.cpu_us for p in pairs]
