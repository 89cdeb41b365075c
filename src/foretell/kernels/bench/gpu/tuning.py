"""Triton's autotuner inside a worker: milliseconds for a setting, where its own benchmark takes a tenth of a second.

A candidate may choose its own settings when it first sees a shape, as `triton.autotune` does. That choice is not timed,
but the device is held while it is made. Whoever hands the autotuner a benchmark of his own keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import quantiles as cut
from typing import Any

from foretell.kernels.bench.gpu.driver import Event, synchronize

RUNS = 7


def hurry_autotuner() -> None:
    """Give Triton's active driver the short benchmark; nothing to do where Triton is not installed."""
    try:
        from triton.runtime import driver
    except ImportError:
        return
    active: Any = driver.active
    active.get_benchmarker = lambda: _benchmark


def _benchmark(call: Callable[[], Any], quantiles: Sequence[float] | None = None, **_: Any) -> Any:
    """Milliseconds of one call: the median, or the quantiles asked for."""
    import torch

    stream = torch.cuda.current_stream().cuda_stream
    call()
    events = [Event() for _ in range(RUNS + 1)]
    events[0].record(stream)
    for event in events[1:]:
        call()
        event.record(stream)
    synchronize()
    times = [start.elapsed_us(end) / 1e3 for start, end in pairwise(events)]
    for event in events:
        event.close()
    hundredths = cut(times, n=100, method="inclusive")
    chosen = [hundredths[min(98, max(0, round(100 * q) - 1))] for q in quantiles or (0.5,)]
    return chosen if quantiles else chosen[0]
