"""The language `cpp`: C++ source built into a shared object for this CPU, with features read off the machine code."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from foretell.kernels.candidate import Candidate
from foretell.kernels.languages.cpp_signature import ENTRY, signature
from foretell.kernels.languages.diagnostics import diagnostics
from foretell.kernels.languages.disassembly import read_features
from foretell.kernels.limits import COMPILER_LIMITS
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Build
from foretell.kernels.sandbox import Finished, run
from foretell.kernels.store.bounded import trim
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task
from foretell.received import parsed, read_plain

_KEY_CHARACTERS = 40
FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-std=c++20")
BUILD_TIMEOUT_S = COMPILER_LIMITS.cpu_s
_KILLED_FOR_TIME = (
    "time limit exceeded signal terminated program"  # by the limit of the process itself, says the driver
)
# Both in one sandbox, which takes longer to start than the listing; without objdump there is none.
_COMPILE_AND_LIST = '"$@" >&2 && { objdump -d --no-show-raw-insn kernel.so 2>/dev/null || :; }'
WALL_PER_CPU = 10  # how many times the CPU limit a tool may take by the clock
MOST_OBJECT_BYTES = 8 << 20  # one that names OpenMP and has a table of 4 MiB takes half of it
MOST_KEPT_BYTES = 2 << 30  # of all builds together


class NoCompiler(RuntimeError):
    """No C++ compiler was found."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: its path and the first line of `--version`."""

    path: str
    version: str


@cache
def find_compiler() -> Compiler:
    """`$CXX`, `g++` or `clang++`, the first that answers; NoCompiler otherwise."""
    named = os.environ.get("CXX")
    for name in ([named] if named else []) + ["g++", "clang++"]:
        path = shutil.which(name)
        if path:
            answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            if answer.returncode == 0:
                return Compiler(path, answer.stdout.splitlines()[0].strip())
    raise NoCompiler("no C++ compiler was found: install g++ or clang++, or name one in the variable CXX")


@cache
def _target() -> str:
    """What `-march=native` means here, so that a cache shared between machines never mixes their objects."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = " ".join(os.uname())
    flags = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), text[:2000])
    return hashlib.sha256(flags.encode()).hexdigest()[:8]


def toolchain() -> str:
    """Compiler and flags in one line: part of what a measurement holds for."""
    return f"{find_compiler().version}, {' '.join(FLAGS)}"


def build(task: Task, candidate: Candidate) -> Build:
    """Build one candidate, or return what an earlier identical build gave.

    The cache is keyed by source, flags, compiler and CPU, and holds about MOST_KEPT_BYTES. Failures are values:
    `compile_error` carries the compiler's first words or says that the object is larger than MOST_OBJECT_BYTES,
    `timeout` an endless compilation. The compiler runs bounded in time and memory, with a
    scrubbed environment, and its scratch folder goes with it.
    """
    if not candidate.source.strip():
        return Build(Status.COMPILE_ERROR, "the source is empty")
    key = hashlib.sha256("\0".join((candidate.source, toolchain(), _target())).encode()).hexdigest()[:_KEY_CHARACTERS]
    folder = cache_dir() / "cpp" / key[:2] / key
    record = folder / "build.json"
    if record.exists():
        known = _recall(record, folder / "kernel.so")
        if known is not None:
            return known
    started = time.perf_counter()
    trim(cache_dir() / "cpp", record.name, MOST_KEPT_BYTES)
    with tempfile.TemporaryDirectory(prefix="foretell-build-") as scratch:
        result, finished = _compile(task, candidate, Path(scratch))
        result = Build(result.status, result.message, result.features, None, time.perf_counter() - started)
        if finished.timed_out or finished.starved or finished.out_of_room or finished.broken:
            return result
        folder.mkdir(parents=True, exist_ok=True)
        if result.ok:
            _place(Path(scratch) / "kernel.so", folder / "kernel.so")
        else:
            (folder / "kernel.so").unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            json.dump(result.to_dict(), file)
        Path(file.name).replace(record)
    return Build(
        result.status, result.message, result.features, folder / "kernel.so" if result.ok else None, result.seconds
    )


def listing(artifact: Path) -> str:
    """The disassembly of a built object, made in the sandbox; empty if there is no objdump."""
    finished = run(["objdump", "-d", "--no-show-raw-insn", str(artifact)], readable=[artifact])
    return finished.stdout if finished.returncode == 0 else ""


def build_all(task: Task, candidates: Sequence[Candidate], workers: int | None = None) -> list[Build]:
    """Build in parallel on the CPU's cores; results in the order given."""
    find_compiler()
    with ThreadPoolExecutor(max_workers=workers or os.cpu_count() or 1) as pool:
        return list(pool.map(lambda candidate: build(task, candidate), candidates))


def _recall(record: Path, artifact: Path) -> Build | None:
    try:
        known = Build.from_dict(parsed(record.read_text()))
        if known.ok and artifact.stat().st_size > MOST_OBJECT_BYTES:
            return None
        os.utime(record)  # used just now
    except (OSError, ValueError, KeyError):
        return None
    return Build(known.status, known.message, known.features, artifact if known.ok else None, known.seconds)


def _place(source: Path, target: Path) -> None:
    """Copy so that a reader never sees half a file."""
    partial = target.with_suffix(f".{os.getpid()}.{time.monotonic_ns()}")
    partial.write_bytes(read_plain(source, MOST_OBJECT_BYTES))
    partial.chmod(0o755)
    partial.replace(target)


def _compile(task: Task, candidate: Candidate, scratch: Path) -> tuple[Build, Finished]:
    (scratch / "kernel.cpp").write_text(candidate.source, encoding="utf-8", errors="replace")
    compiler = [find_compiler().path, *FLAGS, "-o", "kernel.so", "kernel.cpp"]
    command = ["sh", "-c", _COMPILE_AND_LIST, "sh", *compiler]
    limits = replace(COMPILER_LIMITS, cpu_s=BUILD_TIMEOUT_S, wall_s=WALL_PER_CPU * BUILD_TIMEOUT_S)
    finished = run(command, writable=scratch, limits=limits)
    if finished.broken:
        return Build(Status.INFRASTRUCTURE, f"the compiler's sandbox failed: {finished.broken}"), finished
    if finished.timed_out or (finished.returncode != 0 and _KILLED_FOR_TIME in finished.stderr):
        return Build(Status.TIMEOUT, f"the compiler did not finish within {BUILD_TIMEOUT_S:g} s"), finished
    if finished.starved:
        return Build(Status.INFRASTRUCTURE, "the machine is too busy: the compiler hardly got a processor"), finished
    if finished.out_of_room:
        return Build(Status.INFRASTRUCTURE, "no room left on the disk for building"), finished
    if finished.returncode != 0:
        return Build(Status.COMPILE_ERROR, diagnostics(finished.stderr, candidate.source)), finished
    object_bytes = (scratch / "kernel.so").lstat().st_size
    if object_bytes > MOST_OBJECT_BYTES:
        too_large = f"its object is too large: {object_bytes} bytes, of {MOST_OBJECT_BYTES} allowed"
        return Build(Status.COMPILE_ERROR, too_large), finished
    text = finished.stdout
    if text and not any(f"<{ENTRY}{suffix}>:" in text for suffix in ("", ".resolver")):  # of target_clones
        if finished.cut:
            too_long = "its machine code is too long: no entry point in as much of its listing as is read"
            return Build(Status.COMPILE_ERROR, too_long), finished
        return Build(
            Status.COMPILE_ERROR, f"the source defines no entry point; expected\n  {signature(task)}"
        ), finished
    features = read_features(text) if text else {}
    features["object_bytes"] = float(object_bytes)
    return Build(Status.OK, "", features), finished
