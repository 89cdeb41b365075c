"""Probes of the process that C++ candidates are measured in, for `foretell doctor`."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from foretell.kernels.bench.arena import layout
from foretell.kernels.bench.faults import WorkerFault
from foretell.kernels.bench.worker import Worker
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import cpp
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.sandbox.probes.decoys import Decoys
from foretell.kernels.sandbox.probes.verdict import Verdict

ATTEMPTS = (
    "read a file of the home folder",
    "read the system's accounts",
    "read its parent's environment",
    "read the environment of another process",
    "append to a file of the home folder",
    "make a file in the home folder",
    "remove a file of the home folder",
    "change the rights of a file",
    "connect by TCP",
    "connect to a service by its file",
    "start a process",
    "start a program",
    "signal another process",
    "trace another process",
    "make a file in memory",
    "make namespaces of its own",
    "use shared memory",
    "raise its own limits",
    "queue system calls past the filter",
    "find secrets in its environment",
)
_ARENA_BYTES = 1 << 20
_RUN_TIMEOUT_S = 2.0


def probe_candidate_process(home: Path | None = None) -> Verdict:
    """What a kernel can do in the bench's worker. Raises WorkerFault if there can be no worker here."""
    task = get("softmax")
    with Decoys(home) as decoys:
        target = decoys.target
        port, pid = target.tcp_port, target.decoy_pid
        macros = {"SECRET_FILE": json.dumps(target.secret_file), "DECOY_PID": pid, "TCP_PORT": port}
        head = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        source = head + files("foretell.kernels.bench").joinpath("probes.cpp").read_text(encoding="utf-8")
        built = cpp.build(task, Candidate(task.key, "cpp", source))
        if built.artifact is None:
            raise WorkerFault(Status.INFRASTRUCTURE, f"the probes do not build: {built.message[:300]}")
        numbered = enumerate(ATTEMPTS, start=1)
        breaches = [f"it could {name}" for number, name in numbered if not _held(built.artifact, number)]
        return Verdict(len(ATTEMPTS) + 1, (*breaches, *decoys.damage()))


def _held(artifact: Path, number: int) -> bool:
    """Whether an attempt was stopped, or came back with nothing."""
    task = get("softmax")
    sizes = {"rows": number, "cols": 1}
    worker = Worker(artifact, _ARENA_BYTES)
    try:
        slots = layout(task, sizes)
        worker.arrange(slots, sizes)
        worker.call(_RUN_TIMEOUT_S)
        return float(worker.arena.view(slots[-1]).reshape(-1)[0]) != 1.0
    except WorkerFault:
        return True
    finally:
        worker.close()
