"""The keeper: our own C++ program that holds a candidate's process, its clock and its caches, built when first used."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from enum import IntEnum
from functools import cache
from pathlib import Path

from foretell.kernels.bench.faults import WorkerFault
from foretell.kernels.languages.cpp import find_compiler
from foretell.kernels.measurement import Status
from foretell.kernels.store.locations import cache_dir

_SOURCES = ("keeper.cpp", "runner.cpp", "calling.cpp", "doors.cpp", "native.h")
# What a shared object names if it uses the runner's threads; if it starts its own, or finds functions at run time.
_OPENMP = (b"\0GOMP_", b"\0omp_", b"\0__kmpc_")
_THREADING = (
    b"\0pthread_", b"\0thrd_", b"\0_ZNSt6thread", b"\0clone\0", b"\0clone3\0", b"\0fork\0", b"\0vfork\0",
    b"\0syscall\0", b"\0dlsym\0", b"\0dlvsym\0", b"\0dlopen\0",
)  # fmt: skip
_CALL = re.compile(r"^#define __NR(?:3264)?_(\w+) (\d+)$", re.MULTILINE)
_SOME_CALLS = {
    "open": "open for writing",
    "openat": "openat for writing (a new file, or all of one)",
    "clone": "clone (a new process, or vfork)",
    "tgkill": "tgkill (another process, or to stop or go on)",
    "prlimit64": "prlimit64 (to set, or of another process)",
    "rt_sigaction": "sigaction (of SIGCONT)",
    "alarm": "alarm (to set one)",
}


class Threads(IntEnum):
    """Which threads a candidate's process may have, as the keeper is told."""

    NONE = 0  # but the main one
    OWN = 1  # what it starts
    POOL = 2  # OpenMP's too, which wait for work before anything foreign runs


@cache
def program() -> Path:
    """The keeper as an executable, built once per compiler and source. Raises WorkerFault if it does not build."""
    folder = Path(__file__).with_name("native")
    compiler = find_compiler()
    text = "".join((folder / name).read_text(encoding="utf-8") for name in _SOURCES)
    key = hashlib.sha256((text + compiler.version + str(os.uname().machine)).encode()).hexdigest()[:16]
    target = cache_dir() / "keeper" / key / "keeper"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            built = Path(scratch) / "keeper"
            sources = [str(folder / name) for name in _SOURCES if name.endswith(".cpp")]
            command = [compiler.path, "-O2", "-fopenmp", "-std=c++20", "-o", str(built), *sources, "-ldl"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise WorkerFault(
                    Status.INFRASTRUCTURE, f"the bench's keeper does not build here:\n{done.stderr[:2000]}"
                )
            built.replace(target)
    return target


@cache
def call_names() -> dict[int, str]:
    """Names of system calls by their numbers on this machine, as its headers have them; some with what is forbidden."""
    command = [find_compiler().path, "-x", "c++", "-E", "-dM", "-"]
    listed = subprocess.run(command, input="#include <sys/syscall.h>", capture_output=True, text=True, check=False)
    return {int(number): _SOME_CALLS.get(name, name) for name, number in _CALL.findall(listed.stdout)}


def threads_of(artifact: Path) -> Threads:
    """What a built kernel names.

    The process of one that names nothing which would start or reach another thread may start none, so its time on a
    core is all that it took.
    """
    content = artifact.read_bytes()
    if any(name in content for name in _OPENMP):
        return Threads.POOL
    return Threads.OWN if any(name in content for name in _THREADING) else Threads.NONE
