"""Why something cannot be recorded, as a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from foretell.kernels.program import Program


class Reason(StrEnum):
    """Exhaustive list of why a reference or candidate has no Program."""

    BUILD = "does not build"
    FAILED = "host code failed"
    DEPENDS_ON_DATA = "depends on data"
    NONDETERMINISTIC = "nondeterministic"
    KEEPS_RESULTS = "keeps results between runs"
    OPERATOR = "calls an operator that cannot be recorded"
    HOST_DATA = "computes on the host"
    COMPILED = "compiled by torch.compile"
    GRAPH = "captures a CUDA graph of its own"
    LAUNCH = "launches a kernel in a way that cannot be recorded"
    OUTPUTS = "does not return tensors"
    TOO_LARGE = "too many steps"
    MEMORY = "does not fit into the device's memory"
    TASK = "the task cannot be run"
    FORGED = "its recorder answered with something else than a recording"
    NOT_REPRODUCED = "its recording does not reproduce its outputs"


@dataclass(frozen=True)
class Refusal:
    """A reason, and a sentence that names what was in the way."""

    reason: Reason
    sentence: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.sentence}"


# What a candidate is not to blame for: packages, headers, compilers and devices that are missing where it is recorded,
# and a bare CUDA file whose caller is elsewhere.
_SURROUNDINGS = re.compile(
    r"ModuleNotFoundError|No module named|ImportError|nvcc|[Nn]o C\+\+ compiler|CUDA_HOME|cannot find -l|NVIDIA driver"
    r"|No CUDA GPUs|no CUDA-capable device|not compiled with CUDA|\.so[.\d]*: cannot open|No space left|MemoryError"
    r"|Too many open files|Resource temporarily unavailable|Permission denied|Operation not permitted"
    r"|Read-only file system|did not finish within|its process \w+:|it took more than"
    r"|cannot open source file|\.\w+: No such file or directory|no host function of the CUDA source returns"
)
_OWN_FAULTS = frozenset({Reason.BUILD, Reason.FAILED, Reason.OUTPUTS, Reason.TASK})


def is_own_fault(refusal: Refusal) -> bool:
    """Whether the candidate itself is to blame: not a package, compiler or device that is missing here."""
    return refusal.reason in _OWN_FAULTS and not _SURROUNDINGS.search(str(refusal))


class Refused(Exception):
    """Raised while recording; `refusal` says why."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(f"{reason}: {sentence}")
        self.refusal = Refusal(reason, sentence)


@dataclass(frozen=True)
class Recording:
    """A Program, or why there is none.

    `alternatives` are the Programs of the further configurations of its autotuned kernels, one configuration changed at
    a time; without a GPU nobody knows which one the autotuner would choose. `cpu_seconds` is the processor time of a
    recording that had a process of its own, 0 for others.
    """

    program: Program | None = None
    refusal: Refusal | None = None
    alternatives: tuple[Program, ...] = ()
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.program is not None
