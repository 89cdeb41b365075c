"""Candidates made ready ahead of their turn: recorded, and loaded into a context that nothing else was in.

Nothing of a candidate runs on the device before its turn; making contexts does not disturb runs that are timed
meanwhile (docs/results/trust.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from foretell.kernels.bench.gpu.trusted.light import is_light
from foretell.kernels.bench.gpu.trusted.pool import LightPool
from foretell.kernels.bench.gpu.trusted.process import Process
from foretell.kernels.bench.gpu.trusted.scene import Scene
from foretell.kernels.candidate import Candidate
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.record.refusal import Recording


@dataclass
class Seat:
    """A candidate's recordings, and a light process with its Programs; no process if it needs another or is refused.

    Autotuned kernels are not `loaded`: which of their Programs is to be, has to be measured first.
    """

    recordings: list[Recording]
    process: Process | None = None
    loaded: bool = False


class Seats:
    """Makes candidates of one task ready, each in a thread of its own.

    Args:
        scene: The task; its rooms are lent to the processes.
        record: Records a candidate.
        pool: Light processes.
        effort: How long things may take.
    """

    def __init__(
        self,
        scene: Scene,
        record: Callable[[Candidate], list[Recording]],
        pool: LightPool,
        effort: GpuEffort,
    ) -> None:
        self._scene, self._record, self._effort, self._pool = scene, record, effort, pool
        self._threads = ThreadPoolExecutor(len(pool.processes), "seats")
        self._ahead: dict[str, Future[Seat]] = {}

    def foresee(self, candidate: Candidate) -> None:
        """Begin with a candidate that will be judged soon, if there is a process for it."""
        if candidate.id not in self._ahead and len(self._ahead) < len(self._pool.processes):
            self._ahead[candidate.id] = self._threads.submit(self._made, candidate)

    def take(self, candidate: Candidate) -> Seat:
        """The seat of a candidate whose turn it is. Raises what went wrong: WorkerFailed, DeviceLost, NoSandbox."""
        foreseen = self._ahead.pop(candidate.id, None)
        if foreseen is None:
            self._drop()  # nobody asked for those that were foreseen
            foreseen = self._threads.submit(self._made, candidate)
        return foreseen.result()

    def give_back(self, seat: Seat, is_well: bool) -> None:
        """The candidate was judged; if that did not go well, its process is not used again."""
        if seat.process is not None:
            self._pool.give_back(seat.process, is_well)

    def close(self) -> None:
        self._drop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _drop(self) -> None:
        ahead, self._ahead = self._ahead, {}
        for future in ahead.values():
            with suppress(Exception):  # of a candidate that is not judged now
                self.give_back(future.result(), is_well=True)

    def _made(self, candidate: Candidate) -> Seat:
        recordings = self._record(candidate)
        if not self._is_light(recordings):
            return Seat(recordings)
        process, loaded = self._pool.take(), all(not recording.alternatives for recording in recordings)
        try:
            scene, limit_s = self._scene, self._effort.open_timeout_s
            process.lend("inputs", scene.inputs, limit_s)
            process.lend("outputs", scene.shared.room, limit_s)
            for index, recording in enumerate(recordings if loaded else ()):
                assert recording.program is not None
                scene.load(process, scene.shared, index, recording.program)
        except BaseException:
            self._pool.give_back(process, is_well=False)
            raise
        return Seat(recordings, process, loaded)

    def _is_light(self, recordings: Sequence[Recording]) -> bool:
        """Whether all of a candidate's Programs can be carried out by a light process, over rooms that all share."""
        if any(recording.program is None for recording in recordings):
            return False
        programs = [
            p for recording in recordings for p in (recording.program, *recording.alternatives) if p is not None
        ]
        return not any(program.weights for program in programs) and all(map(is_light, programs))
