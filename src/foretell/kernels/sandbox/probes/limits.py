"""Probes of the limits: code that takes more than it may is ended, with everything it started."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretell.kernels.limits import PROBE_LIMITS, Limits
from foretell.kernels.sandbox.forkserver import ForkServer
from foretell.kernels.sandbox.jobs import Ending, JobFailed

_MODULE = "foretell.kernels.walls.probes.excess"


@dataclass(frozen=True)
class Limit:
    """A function of `excess` that goes on until it is stopped, and how it must end."""

    function: str
    limits: Limits
    endings: tuple[Ending, ...]

    def holds(self, server: ForkServer) -> bool:
        try:
            server.call(f"{_MODULE}:{self.function}", b"", self.limits)
        except JobFailed as failure:
            return failure.ending in self.endings
        return False


_SHORT = replace(PROBE_LIMITS, wall_s=20.0)  # on a busy machine the clock may end what would be ended anyway
LIMITS = {
    "take memory without end": Limit(
        "hoard", replace(_SHORT, memory_bytes=256 << 20), (Ending.MEMORY, Ending.RAISED, Ending.DIED, Ending.TIMED_OUT)
    ),
    "start processes without end": Limit(
        "multiply", replace(_SHORT, processes=32), (Ending.PROCESSES, Ending.RAISED, Ending.DIED, Ending.TIMED_OUT)
    ),
    "compute without end": Limit("spin", replace(_SHORT, cpu_s=1.0), (Ending.DIED, Ending.TIMED_OUT)),
    "sleep without end": Limit("sleep", replace(_SHORT, wall_s=0.5), (Ending.TIMED_OUT,)),
    "answer without end": Limit("talk", replace(_SHORT, answer_bytes=1 << 20), (Ending.FORGED, Ending.DIED)),
    "write a file without end": Limit("write", replace(_SHORT, file_bytes=16 << 20), (Ending.RAISED, Ending.DIED)),
}
