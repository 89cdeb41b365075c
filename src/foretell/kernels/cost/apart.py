"""Programs analysed in the sandbox: the one door through which anything recorded or received is costed.

What is worked out is kept in the user's cache by content: the Program, the device, the limits and a hash of the sources
that it depends on. So is why nothing could be, if that is due to the Program and not to the machine: one that takes all
that it may take does so once. Functions of the same names without `apart` do the same in this process, for Programs
that one trusts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from foretell.kernels.cost.analyses import BREAKDOWN, FEATURES, TIMES, WORK, Analysis
from foretell.kernels.cost.breakdown import Breakdown
from foretell.kernels.cost.kept import keep, read_kept, sources_hash
from foretell.kernels.cost.steps import ProgramTime
from foretell.kernels.cost.work import Work
from foretell.kernels.device import Device
from foretell.kernels.devices import described
from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.limits import ANALYSIS_LIMITS
from foretell.kernels.program import Program
from foretell.kernels.program_codec import to_bytes
from foretell.kernels.sandbox import Ending, ForkServer, JobFailed
from foretell.kernels.store.locations import cache_dir
from foretell.received import parsed

T = TypeVar("T")
WORK_DEVICE = "h200"  # whichever, where it does not matter
_SENTENCE_CHARACTERS = 200
_JOB = "foretell.kernels.cost.analyser:serve"
_PRELOAD = "foretell.kernels.cost.analyser"
# What an analysis is made by, below the package of kernels: folders and modules.
_ANALYSER = (
    "cost", "languages/dry", "languages/sass.py", "languages/disassembly.py", "record/parameters.py",
    "record/tracing.py", "multiprocessor.py", "operators.py", "limits.py", "program.py", "devices.py",
)  # fmt: skip
_ENDINGS = {
    Ending.TIMED_OUT: f"took more than {ANALYSIS_LIMITS.wall_s:g} s",
    Ending.MEMORY: f"took more than {ANALYSIS_LIMITS.memory_bytes >> 20} MiB of memory",
    Ending.FORGED: "was answered with too much",
}
_SERVER_STARTS = threading.Lock()


class NotAnalysed(Exception):
    """Nothing could be worked out of a Program; the message is a sentence that says why.

    `lasting`: it would be the same another time.
    """

    def __init__(self, reason: str, lasting: bool = True) -> None:
        super().__init__(reason)
        self.lasting = lasting


def times_apart(programs: Sequence[Program], device: Device) -> list[ProgramTime]:
    """`times_of` for each Program, in one sandboxed process. Raises NotAnalysed, or NoSandbox if there can be none."""
    return _analysed(TIMES, programs, device)


def work_apart(program: Program) -> Work:
    """`work_of` in a sandboxed process. Raises as `times_apart` does."""
    return _analysed(WORK, [program], described(WORK_DEVICE))[0]


def breakdown_apart(program: Program, device: Device) -> Breakdown:
    """`breakdown` in a sandboxed process. Raises as `times_apart` does."""
    return _analysed(BREAKDOWN, [program], device)[0]


def features_apart(program: Program, device: Device) -> dict[str, float]:
    """`features_of` in a sandboxed process. Raises as `times_apart` does."""
    return _analysed(FEATURES, [program], device)[0] if program.launches() else {}


def analysis_server() -> ForkServer:
    """The sandbox's server that analyses Programs for this process. Raises NoSandbox where there can be none."""
    with _SERVER_STARTS:
        return _analysis_server()


@cache
def _analysis_server() -> ForkServer:
    return ForkServer((_PRELOAD,))


def _analysed(analysis: Analysis[T], programs: Sequence[Program], device: Device) -> list[T]:
    encoded = [to_bytes(program) for program in programs]
    hashes = [hashlib.sha256(data).hexdigest() for data in encoded]
    paths = [_path(analysis, each, device) for each in hashes]
    found = [_kept(analysis, path) for path in paths]
    missing = [number for number, result in enumerate(found) if result is None]
    if missing:
        failed = _path(analysis, ["failed", *(hashes[number] for number in missing)], device)  # one of them, in one job
        results = _asked_once(analysis, [encoded[number] for number in missing], device, failed)
        for number, result in zip(missing, results, strict=True):
            found[number] = result
            keep(paths[number], json.dumps(analysis.plain(result)).encode())
    return [result for result in found if result is not None]


def _asked_once(analysis: Analysis[T], programs: list[bytes], device: Device, failed: Path) -> list[T]:
    """The results of `_asked`, unless it has failed for good before."""
    reason = read_kept(failed)
    if reason is not None:
        raise NotAnalysed(plain(reason.decode(errors="replace"), _SENTENCE_CHARACTERS))
    try:
        return _asked(analysis, programs, device)
    except NotAnalysed as error:
        if error.lasting:
            keep(failed, str(error).encode())
        raise


def _asked(analysis: Analysis[T], programs: list[bytes], device: Device) -> list[T]:
    texts = [base64.b64encode(program).decode() for program in programs]
    asked = json.dumps({"analysis": analysis.name, "device": device.to_dict(), "programs": texts}).encode()
    try:
        answer = analysis_server().call(_JOB, asked, ANALYSIS_LIMITS)
    except JobFailed as failure:
        raise NotAnalysed(f"its analysis {_words(failure)}", _is_lasting(failure)) from failure
    return read_answer(analysis, answer, len(programs))


def _words(failure: JobFailed) -> str:
    if failure.ending is Ending.DIED and "SIGXCPU" in str(failure):
        return f"took more than {ANALYSIS_LIMITS.cpu_s:g} s on a core"
    return _ENDINGS.get(failure.ending, f"failed: its process {plain(str(failure), _SENTENCE_CHARACTERS)}")


def _is_lasting(failure: JobFailed) -> bool:
    """Whether a job would fail again. A busy machine may end it by the clock or for want of memory (SIGKILL)."""
    if failure.ending is Ending.DIED:
        return "SIGKILL" not in str(failure)
    return failure.ending in (Ending.MEMORY, Ending.FORGED)


def read_answer(analysis: Analysis[T], answer: bytes, count: int) -> list[T]:
    """The results in what the analyser answers for so many Programs, which may be forged. Raises NotAnalysed."""
    try:
        results = parsed(answer)
        if not isinstance(results, list) or len(results) != count:
            raise ValueError("not as many results as Programs")
        failed = next((result for result in results if isinstance(result, str)), None)
        if failed is None:
            return [analysis.read(*result) for result in results]
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        raise NotAnalysed(f"its analysis was answered with something else ({type(error).__name__})") from error
    raise NotAnalysed(f"its analysis failed ({failed[:40] if failed.isidentifier() else 'for no known reason'})")


def _kept(analysis: Analysis[T], path: Path) -> T | None:
    """The cached result; None if there is none, or the file is damaged or of another form."""
    data = read_kept(path)
    try:
        return None if data is None else analysis.read(parsed(data))
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        return None


def _path(analysis: Analysis[Any], subject: str | list[str], device: Device) -> Path:
    about = device.to_dict() if analysis.by_device else None
    limits = asdict(ANALYSIS_LIMITS)
    text = json.dumps([analysis.name, subject, about, limits, _analyser_hash()], sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    return cache_dir() / "analyses" / key[:2] / f"{key}.json"


@cache
def _analyser_hash() -> str:
    return sources_hash(Path(__file__).parents[1], _ANALYSER)
