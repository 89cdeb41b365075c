"""How much foreign code, tasks, recordings and Programs may take before they are refused or ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class TaskLimits:
    """What the code of a task may take before it is refused, and how much of a long list of workloads is used.

    `call_timeout_s` is for one call of its code in a process of its own, which draws up to `sets_per_call` input sets
    or about `bytes_per_call`. Of a table of recorded workloads at most
    `timed_workloads` are timed and `checked_workloads` more only checked; a task with more than `listed_workloads`
    of its own is refused. A task whose data needs more than `memory_share` of a device's memory is too large for it.

    A task that is read from its `spec` has `listed_tensors` inputs or outputs and `listed_sizes` sizes at most; the
    sides of all its tensors at all its workloads are `listed_sides` at most, of `side_characters` characters together.
    No size reaches `size`.
    """

    call_timeout_s: float = 60.0
    sets_per_call: int = 6
    bytes_per_call: int = 256 << 20
    timed_workloads: int = 6
    checked_workloads: int = 4
    listed_workloads: int = 128
    memory_share: float = 0.9
    listed_tensors: int = 256
    listed_sizes: int = 256
    listed_sides: int = 1 << 15
    side_characters: int = 1 << 18
    size: int = 1 << 62


TASK_LIMITS = TaskLimits()


@dataclass(frozen=True)
class ExtensionEffort:
    """Limits of one run of the compiler on an extension, and how much of its log is kept.

    CUDA's compiler reserves far more address space than it uses.
    """

    compile_cpu_s: float = 120.0
    compile_memory_bytes: int = 32 << 30
    log_characters: int = 6000


EXTENSION = ExtensionEffort()


@dataclass(frozen=True)
class ProgramLimits:
    """The largest Program that is accepted; real ones are far below, and whatever is above is refused unread.

    `decoded_bytes` are for all Programs of a recorder's answer together, a binary part counted again whenever
    a further image is made of it; `document_bytes` of them may be JSON, which takes longest to read, with `values` in
    all of them together. Grid, block, shared memory, arguments and clusters are what CUDA allows on
    any device. `launch_blocks` blocks at a billion per second take a minute.
    """

    encoded_bytes: int = 256 << 20
    decoded_bytes: int = 256 << 20
    document_bytes: int = 64 << 20
    values: int = 1_000_000
    steps: int = 200_000
    buffers: int = 200_000
    images: int = 4096
    image_bytes: int = 128 << 20
    streams: int = 64
    buffer_bytes: int = 1 << 40
    rank: int = 32
    argument_depth: int = 6
    literal_bytes: int = 1 << 20
    name_characters: int = 8192
    facts_characters: int = 1 << 20
    grid: tuple[int, int, int] = ((1 << 31) - 1, 65535, 65535)
    block: tuple[int, int, int] = (1024, 1024, 64)
    block_threads: int = 1024
    launch_blocks: int = 1 << 36
    shared_bytes: int = 232_448
    launch_argument_bytes: int = 32_764
    cluster_blocks: int = 16


PROGRAM = ProgramLimits()


@dataclass(frozen=True)
class RecordEffort:
    """How much is recorded: `alternatives` further configurations of autotuned kernels at most."""

    alternatives: int = 64


RECORD = RecordEffort()


@dataclass(frozen=True)
class ReferenceEffort:
    """How long the references of a table are recorded, all together and by the clock; what was begun is finished.

    Recordings are kept, so that another evaluation goes on where this one stopped.
    """

    seconds: float = 3600.0


REFERENCES = ReferenceEffort()


@dataclass(frozen=True)
class Limits:
    """What code in the sandbox may use.

    `wall_s` is by the clock, `cpu_s` on a core for each process. `memory_bytes` is what all its processes may use
    together, `address_bytes` what each may map; `scratch_bytes` bounds its temporary folder, `file_bytes` one file,
    `answer_bytes` what it may send back. `open_files` bounds what sockets hold, which counts as nobody's memory.
    """

    wall_s: float = 200.0
    cpu_s: float = 20.0
    memory_bytes: int = 4 << 30
    address_bytes: int = 4 << 30
    processes: int = 64
    file_bytes: int = 256 << 20
    scratch_bytes: int = 1 << 30
    answer_bytes: int = 64 << 20
    open_files: int = 256
    nice: int = 0


COMPILER_LIMITS = Limits()
BUILDER_LIMITS = Limits(wall_s=40.0, cpu_s=120.0, memory_bytes=8 << 30, address_bytes=32 << 30, nice=5)
# A recording may build an extension first; what counts is time on a core, for the machine may be busy.
RECORDER_LIMITS = replace(BUILDER_LIMITS, wall_s=240.0)
# The longest honest analyses take seconds.
ANALYSIS_LIMITS = Limits(
    wall_s=120.0, cpu_s=20.0, memory_bytes=2 << 30, address_bytes=8 << 30, scratch_bytes=1 << 20, answer_bytes=8 << 20
)
TASK_CODE_LIMITS = Limits(
    wall_s=TASK_LIMITS.call_timeout_s,
    cpu_s=4 * TASK_LIMITS.call_timeout_s,
    memory_bytes=16 << 30,
    address_bytes=32 << 30,
    answer_bytes=4 << 30,
)
# CUDA maps the memory of all GPUs and of the host at once.
GPU_LIMITS = Limits(wall_s=120.0, cpu_s=240.0, memory_bytes=32 << 30, address_bytes=1 << 46, open_files=4096)
# Workers and judges live as long as their bench; how long each of their steps may take, the bench says.
GPU_PROCESS_LIMITS = replace(GPU_LIMITS, wall_s=math.inf, cpu_s=1e7, file_bytes=1 << 30)
PROBE_LIMITS = Limits(wall_s=60.0, cpu_s=30.0, memory_bytes=1 << 30, scratch_bytes=64 << 20)
