"""What the bench found on this machine, and what its isolation does and does not cover here."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from foretell.kernels.bench.cpu_device import detect_cpu
from foretell.kernels.bench.worker import Worker, WorkerFault
from foretell.kernels.candidate import Candidate
from foretell.kernels.isolation import bubblewrap_works
from foretell.kernels.languages import cpp
from foretell.kernels.library import get
from foretell.kernels.store.locations import cache_dir

_PROBE = 'extern "C" void kernel(const float*, float* out, long long, long long) { out[0] = 1.0f; }'
_LEAST_FREE_BYTES = 1 << 30


@dataclass(frozen=True)
class Check:
    """One finding: `ok` is True (good), False (must be mended) or None (works, but less is covered)."""

    name: str
    ok: bool | None
    detail: str


def checks() -> list[Check]:
    """Everything worth knowing before trusting a number measured here."""
    found = [_python(), *_compiler()]
    if found[-1].ok is not False:
        found += [_device(), *_confinement(), _timing()]
    return [*found, _room()]


def _python() -> Check:
    return Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _compiler() -> list[Check]:
    try:
        compiler = cpp.find_compiler()
    except cpp.NoCompiler as error:
        return [Check("C++ compiler", False, str(error))]
    listing = shutil.which("objdump")
    return [
        Check("objdump", True if listing else None, listing or "absent: build features are missing; install binutils"),
        Check("C++ compiler", True, f"{compiler.version} ({compiler.path})"),
    ]


def _device() -> Check:
    device = detect_cpu()
    rate = max(device.peak_flops["float32"], 1.0) / 1e9
    return Check(
        "device",
        True,
        f"{device.name}, {rate:.0f} GFLOP/s float32 by its clock, {device.bandwidth_bytes_per_s / 1e9:.1f} GB/s copied",
    )


def _confinement() -> list[Check]:
    task = get("softmax")
    built = cpp.build(task, Candidate(task.key, "cpp", _PROBE))
    if built.artifact is None:
        return [Check("worker", False, f"a trivial kernel does not build: {built.message[:300]}")]
    try:
        worker = Worker(built.artifact, 1 << 16)
    except WorkerFault as fault:
        return [Check("worker", False, str(fault))]
    confined = worker.confinement == "seccomp"
    worker.close()
    return [
        Check(
            "own process",
            True,
            "candidate in its own process and session, clean environment, memory and file limits, killed whole",
        ),
        Check(
            "system calls",
            True if confined else None,
            "seccomp: no files written, no network, no new processes, no signals to others"
            if confined
            else "no seccomp here: a candidate could write files, use the network or start processes",
        ),
        Check(
            "files read",
            True if _landlock() or bubblewrap_works() else None,
            "system libraries and the candidate's own folder only"
            if _landlock() or bubblewrap_works()
            else "neither Landlock nor bubblewrap: a candidate can read what you can read",
        ),
        Check(
            "bubblewrap",
            True if bubblewrap_works() else None,
            "compiler and candidate see an empty home, no network, no other processes"
            if bubblewrap_works()
            else "absent or not permitted: the compiler itself is bounded but not walled off; install bubblewrap",
        ),
        Check(
            "not covered",
            None,
            "exploits of the operating system and timing side channels: do not run code you believe malicious",
        ),
    ]


def _landlock() -> bool:
    path = Path("/sys/kernel/security/lsm")
    try:
        return "landlock" in path.read_text()
    except OSError:
        # Where securityfs is not mounted the runner tries all the same; the version call tells.
        return _landlock_version() > 0


def _landlock_version() -> int:
    import ctypes

    if platform.system() != "Linux":
        return 0
    library = ctypes.CDLL(None, use_errno=True)
    return int(library.syscall(444, None, 0, 1))


def _timing() -> Check:
    load = os.getloadavg()[0]
    cores = os.cpu_count() or 1
    if load > 0.5 * cores:
        return Check("quiet", None, f"the machine is busy (load {load:.1f} on {cores} cores): intervals will be wide")
    return Check("quiet", True, f"load {load:.1f} on {cores} cores")


def _room() -> Check:
    folder = cache_dir()
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1e9:.1f} GB free at {folder}"
    return Check("disk", free > _LEAST_FREE_BYTES or None, detail)
