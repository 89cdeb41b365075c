"""Speedups from paired samples: medians of ratios, their intervals, and when to stop sampling."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from foretell.kernels.measurement import Timing

_NORMAL_95 = 1.96
_MEDIAN_DEVIATION = 1.4826  # standard deviation of a normal over its median absolute deviation
_MEDIAN_EFFICIENCY = 1.2533  # standard error of a median over that of a mean, normal samples
_LEAST_ERROR = 0.002  # log ratio: clocks and scheduling are never better than this
_SURE_SIGMAS = 4.5


def log_ratio(reference_us: Sequence[float], candidate_us: Sequence[float]) -> tuple[float, float]:
    """Median of ln(reference / candidate) over the pairs, and its standard error.

    The error is 1.2533 * 1.4826 * MAD / sqrt(n) (normal theory for a median, robust to outliers), widened for small n
    and never under 0.2 %.
    """
    ratios = np.log(np.asarray(reference_us, dtype=float) / np.asarray(candidate_us, dtype=float))
    center = float(np.median(ratios))
    spread = float(np.median(np.abs(ratios - center)))
    n = len(ratios)
    small = 1 + 2 / n
    error = _MEDIAN_EFFICIENCY * _MEDIAN_DEVIATION * spread * small / math.sqrt(n)
    return center, max(error, _LEAST_ERROR)


def spread(reference_us: Sequence[float], candidate_us: Sequence[float]) -> float:
    """Standard deviation of the log ratios, estimated from their median absolute deviation."""
    ratios = np.log(np.asarray(reference_us, dtype=float) / np.asarray(candidate_us, dtype=float))
    return _MEDIAN_DEVIATION * float(np.median(np.abs(ratios - np.median(ratios))))


def rank_error(reference_us: Sequence[float], candidate_us: Sequence[float]) -> float:
    """Standard error of the median log ratio without assuming a distribution.

    Half the width of the 95 % interval between order statistics (the sign test inverted), over 1.96. Fewer than six
    samples have no such interval; their whole range, half as wide again, stands in.
    """
    ratios = np.sort(np.log(np.asarray(reference_us, dtype=float) / np.asarray(candidate_us, dtype=float)))
    n = len(ratios)
    tail, cut = 0.0, 0
    while (tail := tail + math.comb(n, cut) / 2**n) <= 0.025:
        cut += 1
    width = float(ratios[-cut] - ratios[cut - 1]) if cut else 1.5 * float(ratios[-1] - ratios[0])
    return width / 2 / _NORMAL_95


def timing(workload: str, reference_us: Sequence[float], candidate_us: Sequence[float], few: bool = False) -> Timing:
    """Summary of one workload's pairs, with a 95 % interval; that of `few` pairs spans their range."""
    center, error = log_ratio(reference_us, candidate_us)
    if few:
        error = max(error, rank_error(reference_us, candidate_us))
    return _timing(
        workload, reference_us, candidate_us, center, center - _NORMAL_95 * error, center + _NORMAL_95 * error
    )


def disturbed_timing(
    workload: str,
    reference_us: tuple[Sequence[float], Sequence[float]],
    candidate_us: tuple[Sequence[float], Sequence[float]],
) -> Timing:
    """Summary of pairs that other processes interrupted: both sides by the clock, and by time on a core.

    Interruptions lengthen a run by the clock, the more the longer it is; time on a core leaves out what threads waited
    for each other, as those of one process do that share a core. The truth lies between: the interval holds those of
    all four ratios, each without assuming a distribution. The estimate is the worse of that by the clock and that on a
    core, so that no kernel gains by waiting for itself.
    """
    bounds = []
    for references in reference_us:
        for candidates in candidate_us:
            center, error = log_ratio(references, candidates)
            error = max(error, rank_error(references, candidates))
            bounds += [center - _NORMAL_95 * error, center + _NORMAL_95 * error]
    alike = zip(reference_us, candidate_us, strict=True)
    references, candidates = min(alike, key=lambda columns: log_ratio(*columns)[0])
    center, _ = log_ratio(references, candidates)
    return _timing(workload, references, candidates, center, min(bounds), max(bounds))


def _timing(
    workload: str, reference_us: Sequence[float], candidate_us: Sequence[float], center: float, low: float, high: float
) -> Timing:
    return Timing(
        workload,
        tuple(round(value, 3) for value in reference_us),
        tuple(round(value, 3) for value in candidate_us),
        math.exp(center),
        math.exp(low),
        math.exp(high),
    )


def combine(
    timings: Sequence[Timing], between: float = 0.0, disturbed: Collection[str] = ()
) -> tuple[float, float, float]:
    """Geometric mean of the workloads' speedups with its 95 % interval.

    Errors of different workloads are independent, but for those named in `disturbed`: what lies between their bounds
    (`disturbed_timing`) is the same at each of them, so that their mean is no better known than they are.
    `between` is the standard error, in log ratio, that no number of pairs removes: where a process's memory happens to
    lie. It comes from measuring the same candidates in two passes (`benchmarks/retest.py`).
    """
    center = sum(math.log(t.speedup) for t in timings) / len(timings)

    def error(sides: Sequence[float]) -> float:
        chance = [side for side, t in zip(sides, timings, strict=True) if t.workload not in disturbed]
        shared = sum(side for side, t in zip(sides, timings, strict=True) if t.workload in disturbed)
        return math.hypot(math.hypot(*chance) / len(sides), _NORMAL_95 * between) + shared / len(sides)

    below = error([math.log(t.speedup / t.low) for t in timings])
    above = error([math.log(t.high / t.speedup) for t in timings])
    return math.exp(center), math.exp(center - below), math.exp(center + above)


def tight_enough(reference_us: Sequence[float], candidate_us: Sequence[float], half_width: float) -> bool:
    """True when the 95 % interval of the speedup is within +- `half_width` (a fraction)."""
    return _NORMAL_95 * log_ratio(reference_us, candidate_us)[1] <= half_width


def surely_below(reference_us: Sequence[float], candidate_us: Sequence[float], speedup: float) -> bool:
    """True when even the best pair, with a fifth to spare, is slower than `speedup`."""
    best = max(r / c for r, c in zip(reference_us, candidate_us, strict=True))
    return best * 1.2 < speedup


def ranks_below(less: Sequence[float], more: Sequence[float]) -> bool:
    """Whether values are so much oftener below those of another sample that it is not chance, whatever their noise.

    The rank-sum test (Mann and Whitney 1947), one-sided; two samples of one distribution pass it once in 300,000 times.
    """
    surplus = float(np.sign(np.subtract.outer(more, less)).sum()) / 2  # of pairs in which it is below
    count = len(less) * len(more)
    return surplus > _SURE_SIGMAS * math.sqrt(count * (len(less) + len(more) + 1) / 12)
