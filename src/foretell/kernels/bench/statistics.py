"""Speedups from paired samples: medians of ratios, their intervals, and when to stop sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foretell.kernels.measurement import Timing

_NORMAL_95 = 1.96
_MEDIAN_DEVIATION = 1.4826  # standard deviation of a normal over its median absolute deviation
_MEDIAN_EFFICIENCY = 1.2533  # standard error of a median over that of a mean, normal samples
_LEAST_ERROR = 0.002  # log ratio: clocks and scheduling are never better than this


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


def timing(workload: str, reference_us: Sequence[float], candidate_us: Sequence[float]) -> Timing:
    """Summary of one workload's pairs, with a 95 % interval."""
    center, error = log_ratio(reference_us, candidate_us)
    return Timing(
        workload,
        tuple(round(value, 3) for value in reference_us),
        tuple(round(value, 3) for value in candidate_us),
        math.exp(center),
        math.exp(center - _NORMAL_95 * error),
        math.exp(center + _NORMAL_95 * error),
    )


def combine(timings: Sequence[Timing], between: float = 0.0) -> tuple[float, float, float]:
    """Geometric mean of the workloads' speedups with its 95 % interval.

    `between` is the standard error, in log ratio, that no number of pairs removes: where a process's memory happens to
    lie. It comes from measuring the same candidates in two passes (`benchmarks/retest.py`).
    """
    estimates = [log_ratio(t.reference_us, t.candidate_us) for t in timings]
    center = sum(value for value, _ in estimates) / len(estimates)
    error = math.hypot(math.sqrt(sum(error**2 for _, error in estimates)) / len(estimates), between)
    return math.exp(center), math.exp(center - _NORMAL_95 * error), math.exp(center + _NORMAL_95 * error)


def tight_enough(reference_us: Sequence[float], candidate_us: Sequence[float], half_width: float) -> bool:
    """True when the 95 % interval of the speedup is within +- `half_width` (a fraction)."""
    return _NORMAL_95 * log_ratio(reference_us, candidate_us)[1] <= half_width


def surely_below(reference_us: Sequence[float], candidate_us: Sequence[float], speedup: float) -> bool:
    """True when even the best pair, with a fifth to spare, is slower than `speedup`."""
    best = max(r / c for r, c in zip(reference_us, candidate_us, strict=True))
    return best * 1.2 < speedup
