"""Light processes that take turns: each gets a fresh context as soon as its candidate was judged."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from foretell.kernels.bench.gpu.handle import DeviceLost, WorkerFailed
from foretell.kernels.bench.gpu.trusted.process import Process


class LightPool:
    """Processes of one bench, for all of its tasks. Threads may share it."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self.processes = list(processes)
        self._free: queue.SimpleQueue[tuple[Process, bool]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(max(1, len(self.processes)), "contexts")
        for process in self.processes:
            self._free.put((process, False))

    def warm_up(self) -> None:
        """Start those that are not ready."""
        for _ in range(self._free.qsize()):
            process, is_fresh = self._free.get()
            if is_fresh:
                self._free.put((process, True))
            else:
                self._threads.submit(self._freshen, process)

    def take(self) -> Process:
        """One that nothing was asked of since it got its context; waits for it. Raises WorkerFailed, DeviceLost."""
        process, is_fresh = self._free.get()
        if not is_fresh:
            try:
                process.refresh()
            except BaseException:
                self._free.put((process, False))
                raise
        return process

    def give_back(self, process: Process, is_well: bool) -> None:
        """After a candidate. One that failed is waited for until it is gone, for a kernel of it may still run."""
        if not process.alive:
            process.end()
        elif not is_well:
            process.stop()
        self._threads.submit(self._freshen, process)

    def let_go(self) -> None:
        """End those that nobody has, so that they hold no memory of the device; they are started anew when needed."""
        idle = [self._free.get()[0] for _ in range(self._free.qsize())]
        for process in idle:
            process.stop()
        for process in idle:
            process.end()
            self._free.put((process, False))

    def close(self) -> None:
        """End all of them."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self.processes:
            process.stop()
        for process in self.processes:
            process.close()

    def _freshen(self, process: Process) -> None:
        is_fresh = False
        with suppress(WorkerFailed, DeviceLost, OSError):  # whoever takes it will see
            process.refresh()
            is_fresh = True
        self._free.put((process, is_fresh))
