"""One measurement out of several pairs of fresh processes.

Where a process's code and memory happen to lie is drawn once in its life, and may shift all of its times by a quarter
while they spread by less than a percent. So no number of pairs within two processes shows it; other processes do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any

from foretell.kernels.measurement import DISAGREE, Measurement, Timing


def over_processes(outcomes: Sequence[Measurement]) -> Measurement:
    """The measurement that those of several pairs of processes, all ok, amount to; one is returned as it is.

    A workload's speedup is the median over the pairs, that of the task the geometric mean of its workloads'. Intervals
    hold those of all pairs. `conditions` say how many pairs there were, and whether their intervals disagree.
    """
    first = outcomes[0]
    if len(outcomes) == 1:
        return first
    timings = tuple(map(_over, zip(*(outcome.timings for outcome in outcomes), strict=True)))
    speedup = math.exp(fmean(math.log(timing.speedup) for timing in timings))
    bounds = [(outcome.low or speedup, outcome.high or speedup) for outcome in outcomes]
    return replace(
        first,
        speedup=speedup,
        low=min(speedup, *(low for low, _ in bounds)),
        high=max(speedup, *(high for _, high in bounds)),
        timings=timings,
        conditions=_conditions(outcomes) | {DISAGREE: max(low for low, _ in bounds) > min(high for _, high in bounds)},
    )


def _over(timings: Sequence[Timing]) -> Timing:
    """One workload's timings in all pairs of processes as one."""
    return Timing(
        timings[0].workload,
        tuple(value for timing in timings for value in timing.reference_us),
        tuple(value for timing in timings for value in timing.candidate_us),
        math.exp(median(math.log(timing.speedup) for timing in timings)),
        min(timing.low for timing in timings),
        max(timing.high for timing in timings),
    )


def _conditions(outcomes: Sequence[Measurement]) -> dict[str, Any]:
    every = [outcome.conditions for outcome in outcomes]
    return {
        **every[-1],
        "others": max(conditions["others"] for conditions in every),
        "pairs": sum(conditions["pairs"] for conditions in every),
        "retaken": sum(conditions["retaken"] for conditions in every),
        "disturbed": any(conditions["disturbed"] for conditions in every),
        "processes": len(outcomes),
    }
