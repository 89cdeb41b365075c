"""What the bench found on this machine, and what its walls do and do not cover here."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass

from foretell.kernels.bench.cpu_device import detect_cpu
from foretell.kernels.bench.faults import WorkerFault
from foretell.kernels.bench.probes import probe_candidate_process
from foretell.kernels.languages import cpp
from foretell.kernels.sandbox import NoSandbox, available, unsafe
from foretell.kernels.sandbox.probes.verdict import Verdict, probe_command, probe_server
from foretell.kernels.sandbox.threats import COVERED, NOT_COVERED
from foretell.kernels.store.locations import cache_dir

_LEAST_FREE_BYTES = 1 << 30
_SANDBOXES = (("CPU: compilers", False, probe_command), ("GPU: builders, problem files", True, probe_server))


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
    return [*found, _room(), *sandbox_checks()]


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
    """What was tried in the process of C++ candidates, and whether it held."""
    try:
        verdict = probe_candidate_process()
    except NoSandbox as error:
        return [Check("CPU: candidates", False, str(error))]
    except WorkerFault as fault:
        return [Check("CPU: candidates", False, str(fault))]
    return [verdict_check("CPU: candidates", "a worker with seccomp and Landlock of its own", verdict)]


def sandbox_checks() -> list[Check]:
    """What was tried in the sandboxes of compilers and of Python code, and whether it held."""
    found = []
    for name, server, attempt in _SANDBOXES:
        kind = available(server)
        if kind is None:
            found.append(Check(name, unsafe() and None, f"{NoSandbox.what}; {NoSandbox.do}"))
            continue
        found.append(verdict_check(name, kind.value, attempt(kind)))
    covered = [Check("covered", True, words) for words in COVERED]
    return [*found, *covered, *(Check("not covered", None, words) for words in NOT_COVERED)]


def verdict_check(name: str, kind: str, verdict: Verdict) -> Check:
    """A verdict as a finding: one breach is one too many."""
    words = f"{kind}: {verdict.held} of {verdict.attempts} probes held"
    if verdict.breaches:
        return Check(name, False, f"{words}; {'; '.join(verdict.breaches)}")
    return Check(name, True, words)


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
