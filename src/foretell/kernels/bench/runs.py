"""What one timed call of a kernel took, from what was seen of its process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretell.kernels.bench.accounts import Account

WAIT_SHARE = 0.02  # of a run's time, spent waiting for a core, from which on the run counts as held up
LEAST_WAIT_US = 20.0  # what threads that are continued at once may wait for their cores
LEAST_US = 0.05  # no call takes less; noise of the empty call can say so


@dataclass(frozen=True)
class Run:
    """One timed call of a kernel, less what an empty call on the same path takes.

    `wall_us` is from the go until all threads have stopped, `cpu_us` its time on a core: all of it if there is one
    thread (`serial`), else that of its longest thread. `preempted` is True if one of several threads had to wait for a
    core. A process with more threads than cores holds up itself.
    """

    wall_us: float
    cpu_us: float
    preempted: bool = False
    serial: bool = False

    @property
    def time_us(self) -> float:
        """What the call takes: on a core if it is serial, which no other process can lengthen, else by the clock."""
        return self.cpu_us if self.serial else self.wall_us


def serial_run(wall_us: float, cpu_us: float | None) -> Run:
    """A call on one thread; times are less those of an empty call, that on a core is None if the system tells none."""
    wall_us = max(wall_us, LEAST_US)
    return Run(wall_us, wall_us if cpu_us is None else max(cpu_us, LEAST_US), serial=True)


def empty_us_of(threads: int, pool: int, pool_us: float, alone_us: float) -> float:
    """What an empty call of a process takes by the clock that has so many `threads`.

    Args:
        threads: As many as there are before and after a call, whichever are fewer: those are continued and stopped.
        pool: Threads of the process whose empty call takes `pool_us`.
        alone_us: What one takes of a process that has none but its main thread.
    """
    share = min(max((threads - 1) / (pool - 1), 0.0), 1.0) if pool > 1 else 1.0
    return alone_us + max(pool_us - alone_us, 0.0) * share


def threaded_run(wall_us: float, cpu_us: float, empty_us: float, threads: Sequence[Account], cores: int) -> Run:
    """A call on several threads.

    Args:
        wall_us: From the go until all threads have stopped.
        cpu_us: Time on a core of all threads together.
        empty_us: What an empty call takes by the clock.
        threads: What each thread used that is still there, and waited.
        cores: Processors that they may run on.
    """
    # Threads that ended meanwhile have no account any more, but their time is in that of the process.
    longest_us = min(max(*(each.on_core_us for each in threads), cpu_us / cores), wall_us)
    waited_us = max(each.waiting_us for each in threads)
    preempted = len(threads) <= cores and waited_us > LEAST_WAIT_US + WAIT_SHARE * wall_us
    # Where every empty call was held up, they say too much; a call takes about as long as its longest thread.
    return Run(max(wall_us - empty_us, longest_us / 2, LEAST_US), longest_us, preempted)
