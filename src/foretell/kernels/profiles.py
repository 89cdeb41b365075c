"""Effort levels: the only home of the defaults a search runs with.

A profile is a frozen value that is written whole into every run, so a run can be read, resumed and repeated without
knowing which version's defaults were in force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from foretell.kernels.typed import typed


@dataclass(frozen=True)
class Budgets:
    """What a run may spend; whichever is used up first ends it.

    `measurements` counts candidates judged on the device or taken from the catalogue (not builds that failed, not
    faults of the machine), `seconds` is device time, `candidates` counts everything proposed. Verifying the winners
    comes on top: it is a handful of measurements and no run may end without it.
    """

    measurements: int
    seconds: float
    candidates: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"the budget of {name} must be above zero and finite, got {value}")


@dataclass(frozen=True)
class PuctSettings:
    """`exploration` is c in the PUCT score: how much a little-visited parent is worth against a proven one."""

    exploration: float = 1.0


@dataclass(frozen=True)
class BeamSettings:
    """The best `width` nodes of a level are kept; `patience` levels are tried below the best node of all."""

    width: int = 4
    patience: int = 2

    def __post_init__(self) -> None:
        if min(self.width, self.patience) < 1:
            raise ValueError(f"a beam's width and patience must be above zero, got {self.width} and {self.patience}")


@dataclass(frozen=True)
class SelectiveSettings:
    """When a forecast is good enough to act on without measuring.

    A gain smaller than `min_gain` (a share of the incumbent's speedup) is not worth a measurement. A candidate whose
    chance of such a gain is under a threshold is not measured. The threshold is `epsilon` at first; each audit that
    finds an overlooked gain lowers it by the factor exp(`adapt`), and as many audits without one as `target_error` says
    to expect for one raise it by e, up to `most_epsilon`. What is not measured is trusted if its central
    `interval_level` interval is at most `trust_width_log2` wide and its chance of failure at most `max_p_fail`, and
    dropped otherwise; `reconsider` of those left, the most promising, are looked at again beside each batch. Until the
    forecaster has learnt from `explore_until` measurements, `explore_per_batch` of each
    batch are measured whatever the forecasts say.
    """

    min_gain: float = 0.02
    epsilon: float = 0.05
    target_error: float = 0.05
    adapt: float = 1.0
    most_epsilon: float = 0.2
    interval_level: float = 0.8
    trust_width_log2: float = 1.5
    max_p_fail: float = 0.5
    explore_until: int = 8
    explore_per_batch: int = 8
    reconsider: int = 16


@dataclass(frozen=True)
class ValueSettings:
    """How `value` spends.

    `reconsider` candidates that were left unmeasured are looked at again beside each batch; while new ones are to come,
    as little as a share `patience` of the even pace is measured, the less the better forecasts tell candidates apart;
    what is expected to gain less than `least_gain_log2` is left.
    """

    reconsider: int = 64
    patience: float = 0.125
    least_gain_log2: float = 0.002


@dataclass(frozen=True)
class Profile:
    """Everything a search needs to know besides its task, its parts and its seed.

    `batch_size` candidates are proposed per round as children of `parents_per_batch` parents; `top` and `random`
    measure `measure_per_batch` of them, `selective` as many as deserve it up to `max_measure_per_batch`, and of those
    not measured a random `audit_share` is measured anyway. A candidate slower than `hopeless_share` of the incumbent
    may be stopped early. The forecaster is refitted whenever there are new measurements while there are at most
    `refit_every_until`, then each time their number has grown by the factor `refit_growth`. A fault of the machine is
    retried `infrastructure_retries` times; `infrastructure_give_up` candidates in a row that could not be measured
    stop the run. At the end `verify_count` winners must hold up and one must be shown to be faster than the reference,
    out of at most `verify_attempts` measured again.
    `proposal_attempts` bounds how often a proposer that only repeats itself is asked within one round.
    """

    name: str
    budgets: Budgets
    batch_size: int = 16
    parents_per_batch: int = 4
    measure_per_batch: int = 4
    max_measure_per_batch: int = 8
    audit_share: float = 0.05
    hopeless_share: float = 0.5
    refit_every_until: int = 64
    refit_growth: float = 1.1
    infrastructure_retries: int = 2
    infrastructure_give_up: int = 8
    verify_count: int = 3
    verify_attempts: int = 9
    proposal_attempts: int = 3
    puct: PuctSettings = field(default_factory=PuctSettings)
    beam: BeamSettings = field(default_factory=BeamSettings)
    selective: SelectiveSettings = field(default_factory=SelectiveSettings)
    value: ValueSettings = field(default_factory=ValueSettings)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Profile:
        fields = dict(data)
        fields["budgets"] = typed(Budgets(**fields["budgets"]))
        fields["puct"] = typed(PuctSettings(**fields["puct"]))
        fields["beam"] = typed(BeamSettings(**fields.get("beam", {})))
        fields["selective"] = typed(SelectiveSettings(**fields["selective"]))
        fields["value"] = typed(ValueSettings(**fields.get("value", {})))
        return typed(Profile(**fields))


QUICK = Profile("quick", Budgets(measurements=32, seconds=60.0, candidates=128))
STANDARD = Profile("standard", Budgets(measurements=128, seconds=600.0, candidates=1024))
THOROUGH = Profile("thorough", Budgets(measurements=1024, seconds=7200.0, candidates=10240))

# The parts of a search that is not told otherwise; docs/results/search.md compares the policies.
PROFILE = STANDARD.name
POLICY = "value"
FORECASTER = "online"
FORECASTER_OF_PROBLEMS = "online:program"  # for a GPU: recordings show what no feature of the library's tasks does
STRATEGY = "puct"
PROPOSER = "template"

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (QUICK, STANDARD, THOROUGH)}


def get(name: str) -> Profile:
    """The profile of that name; ValueError with the known names otherwise."""
    if name not in PROFILES:
        raise ValueError(f"there is no effort level {name!r}; choose one of {', '.join(PROFILES)}")
    return PROFILES[name]


@dataclass(frozen=True)
class BenchEffort:
    """How hard a CPU bench works on one candidate.

    Each workload is checked on `check_seeds` input sets before it is timed, on others each time; those of the library
    also once at sizes nearby that nobody named, and at `surprises` small workloads of any sizes.
    At least `fewest_pairs` and at most `most_pairs` pairs are taken per workload, until the speedup's 95 % interval is
    within +- `half_width` or `workload_cap_s` is over. On a machine that other processes use too, or where the ratios
    spread by more than `noisy_spread`, pairs during which a process lost its core are taken again, and sampling goes on
    until the interval is within +- `busy_half_width` or `busy_cap_s` is over; fewer than `fewest_undisturbed` others by
    then, and all pairs count. One run may take `run_timeout_s`, or `slowest_ratio` times the reference if that is more;
    all runs of one process may take `total_s` and `total_ratio` times what the reference takes for them. What takes
    `slow_ratio` times as long as the reference gets `fewest_pairs_when_slow` in one process, and a wide interval.
    Where the reference takes less than `warm_below_s`, each timed run follows one on inputs seen before.
    Times below physics with `physics_margin` on the bandwidth are taken for cheating. `between_processes` is the error
    of a log speedup that more pairs do not remove. What is to be known well, winners and what `measure` is asked about,
    is measured in `processes` pairs of processes, in `fewest_processes` if those took more than `processes_cap_s`.
    """

    check_seeds: int = 2
    surprises: int = 6
    fewest_pairs: int = 5
    most_pairs: int = 16
    half_width: float = 0.03
    workload_cap_s: float = 0.25
    busy_cap_s: float = 6.0
    busy_half_width: float = 0.06
    fewest_undisturbed: int = 3
    noisy_spread: float = 0.15
    run_timeout_s: float = 2.0
    reference_timeout_s: float = 10.0
    slowest_ratio: float = 100.0
    total_s: float = 12.0
    total_ratio: float = 20.0
    slow_ratio: float = 20.0
    fewest_pairs_when_slow: int = 2
    physics_margin: float = 4.0
    warm_below_s: float = 0.0005
    between_processes: float = 0.035
    processes: int = 3
    fewest_processes: int = 2
    processes_cap_s: float = 3.0


BENCH = BenchEffort()


@dataclass(frozen=True)
class GpuEffort:
    """How hard a GPU bench works on one candidate.

    Each timed case has `check_sets` input sets that are checked before anything is timed, and `timed_sets` others whose
    results are checked too, one of them once more with new data: with the defaults four sets of data in all. Where the
    sets would take more than `set_bytes`, one set is used for all and filled anew for every check. Pairs come in chunks
    of `chunk_pairs` or a few more, at least `fewest_pairs`, until the speedup's 95 % interval is within `half_width` on
    either side, at most `most_pairs`, for at most `workload_cap_s`; what takes `slow_ratio` times as long as the
    reference gets `fewest_pairs_when_slow`, for nobody wants to know it so well. One command to the worker may take
    `run_timeout_s` (`jit_timeout_s` where a kernel may have to be compiled first, `compile_timeout_s` where torch
    compiles, `open_timeout_s` to take in a problem, `load_timeout_s` to build a model with its weights); the code of a
    problem may run for `task_timeout_s` at a stretch. On new data a candidate may take 1 / `memory_ratio` times as long
    plus `memory_slack_us`, the worker's clock may leave `clock_slack_s` of the judge's unexplained, and times below
    physics with `physics_margin` on the bandwidth are taken for cheating. Memory that does not suffice is waited for,
    `memory_waits` times for about `memory_wait_s`, if more than `others_share` of the device's is held by others.
    `method` is how candidates are timed: `worker`, in the process that runs their host code, or `replay`, as Programs
    (docs/trusted_replay.md). A replay has `replay_sets` sets of inputs per workload, looks at up to
    `replay_configurations` of an autotuned kernel, and takes batches by the judge's clock until one fits what events
    say, `replay_batches` at most; the share `replay_clock_slack` and `replay_clock_slack_us` more may remain
    unexplained. Each candidate has a new context, by one of `replay_light` processes that are used by turns if it
    only launches kernels, else in a new process; `replay_spares` of those stand ready at most, one per core and
    `replay_spare_room_bytes` of device memory.
    """

    method: str = "replay"
    replay_sets: int = 4
    replay_spares: int = 4
    replay_light: int = 6
    replay_spare_room_bytes: int = 8 << 30
    replay_configurations: int = 16
    replay_batches: int = 24
    replay_clock_slack: float = 0.25
    replay_clock_slack_us: float = 200.0
    check_sets: int = 1
    timed_sets: int = 2
    set_bytes: int = 16 << 30
    chunk_pairs: int = 3
    fewest_pairs: int = 6
    fewest_pairs_when_slow: int = 3
    slow_ratio: float = 4.0
    most_pairs: int = 30
    half_width: float = 0.015
    workload_cap_s: float = 1.0
    run_timeout_s: float = 2.0
    jit_timeout_s: float = 20.0
    compile_timeout_s: float = 120.0
    open_timeout_s: float = 60.0
    load_timeout_s: float = 30.0
    task_timeout_s: float = 300.0
    memory_waits: int = 12
    memory_wait_s: float = 5.0
    others_share: float = 0.1
    memory_ratio: float = 0.6
    memory_slack_us: float = 15.0
    clock_slack_s: float = 0.05
    physics_margin: float = 1.5
    between_processes: float = 0.005


GPU_BENCH = GpuEffort()


@dataclass(frozen=True)
class TaskLimits:
    """What the code of a task may take before it is refused, and how much of a long list of workloads is used.

    `call_timeout_s` is for one call of its code in a process of its own, which draws up to `sets_per_call` input sets
    or about `bytes_per_call`. Of a table of recorded workloads at most
    `timed_workloads` are timed and `checked_workloads` more only checked; a task with more than `listed_workloads`
    of its own is refused. A task whose data needs more than `memory_share` of a device's memory is too large for it.
    """

    call_timeout_s: float = 60.0
    sets_per_call: int = 6
    bytes_per_call: int = 256 << 20
    timed_workloads: int = 6
    checked_workloads: int = 4
    listed_workloads: int = 128
    memory_share: float = 0.9


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

    `decoded_bytes` are for all configurations of a recording together, though never fewer than `least_decoded_bytes`
    for one; `document_bytes` of them may be JSON, which takes longest to read, with `values` in all of them together.
    Grid, block, shared memory, arguments and clusters are what CUDA allows on any device. `launch_blocks` blocks at a
    billion per second take a minute.
    """

    encoded_bytes: int = 256 << 20
    decoded_bytes: int = 512 << 20
    least_decoded_bytes: int = 16 << 20
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
class LaunchModel:
    """Constants of the time of a kernel launch (`cost/launches.py`), the same for all kernels and devices.

    `overlap_power` says how the parts of a device overlap: 1 would be one after the other, infinity all at once.
    `followed` visits of each basic block are looked at; `integer_share` of PTX's integer instructions are left in
    machine code, which has addresses with offsets. `shared_atomic_passes` is what 32 lanes need that each change one of
    many words of shared memory, drawn at random. Latencies are in microseconds. `blocks_per_clock` start, `atomic_us`
    is for one lane in a sector: both from `benchmarks/programs/latencies.py`.
    """

    followed: int = 9
    fixed_us: float = 3.0
    overlap_power: float = 3.0
    clock_share: float = 0.92
    memory_efficiency: float = 0.88
    issue_efficiency: float = 0.8
    integer_share: float = 0.7
    tensor_efficiency: float = 0.7
    cache_share: float = 0.6
    stream_distance: float = 0.15
    least_own_cache_bytes: int = 16 << 10
    unit_bytes_per_clock: float = 48.0
    usual_registers: float = 40.0
    own_cache_us: float = 0.025
    cache_us: float = 0.16
    memory_us: float = 0.45
    shared_us: float = 0.018
    barrier_us: float = 0.02
    dependent_cycles: float = 2.0
    atomic_us: float = 0.0016
    atomic_sectors_per_clock: float = 0.25
    shared_atomic_passes: float = 3.5
    blocks_per_clock: float = 0.91


LAUNCH_MODEL = LaunchModel()


@dataclass(frozen=True)
class CallModel:
    """Constants of the time of a library call (`cost/calls.py`) before correction by what was measured.

    `operator_distance` is how far apart two operators of a class are, in standard deviations of a feature;
    `unknown_spread_log2` the doubt about a call unlike all that were measured, in doublings. On another device than
    `measured_on`, time up to operations / `busy_share` follows the device's rate, what is beyond its clock and cores;
    bytes count for at most `most_over_memory` of their roofline. A feature whose spread is `least_scale` was the same
    in all measured calls (memory layout, say): a call that differs in it is placed as if it did not, and counts as no
    nearer to a measured one than `unmeasured_near`. `uncorrected` operators have other kernels than those measured.
    """

    fixed_us: float = 3.0
    memory_efficiency: float = 0.8
    compute_efficiency: float = 0.6
    least_us: float = 1.5
    operator_distance: float = 2.0
    unknown_spread_log2: float = 1.0
    measured_on: str = "h200"
    busy_share: float = 0.7
    most_over_memory: float = 1.33
    least_scale: float = 0.05
    unmeasured_near: float = 0.5
    uncorrected: frozenset[str] = frozenset({"cudnn_batch_norm"})
    centres: int = 240
    width_per_feature: float = 0.7
    ridge: float = 0.1


CALL_MODEL = CallModel()


@dataclass(frozen=True)
class CalibrationEffort:
    """Fitting a device's rates to measured calls (`cost/calibration.py`); rates and errors are in doublings.

    Errors below `usual_log2` count by their square, larger ones by their size. `ridge` holds rates that the calls say
    nothing about; none moves by more than `most_log2`.
    """

    iterations: int = 12
    step: float = 0.05
    usual_log2: float = 0.1
    ridge: float = 0.5
    most_log2: float = 2.0


CALIBRATION = CalibrationEffort()


@dataclass(frozen=True)
class StepModel:
    """Constants of the time of a Program's steps (`cost/steps.py`): fixed costs, host costs, and doubt in doublings.

    `call_host_us` is by operator or family. `between_us` of a step's own time is hidden behind the step before it.
    `start_us` is what the device waits for the first step when it is called eagerly; host and device then overlap by a
    power mean with `eager_power`. After the first `warm_calls` a call takes the host `later_share` of its time: its
    code and data are in the processor's caches. `launch_log2` is the doubt about a launch by the part of the device
    that bounds it, `call_spread` a factor of the doubt about library calls; both were set on the development problems
    of benchmarks/programs, as were the host costs, and widened after a first evaluation on held-out ones.
    """

    fixed_us: float = 3.0
    between_us: float = 1.8
    least_us: float = 1.0
    stream_share: float = 0.7
    copy_efficiency: float = 0.8
    host_bytes_per_us: float = 12_000.0
    start_us: float = 20.0
    eager_power: float = 3.0
    allocate_host_us: float = 3.5
    launch_host_us: float = 4.0
    usual_call_host_us: float = 25.0
    warm_calls: int = 8
    later_share: float = 0.25
    call_host_us: Mapping[str, float] = field(
        default_factory=lambda: {
            "convolution": 80.0,
            "normalisation": 40.0,
            "_softmax": 35.0,
            "_log_softmax": 35.0,
            "pooling": 52.0,
            "recurrent": 200.0,
            "attention": 60.0,
            "matmul": 70.0,
            "elementwise": 30.0,
            "reduction": 35.0,
            "zeros": 25.0,
        }
    )
    copy_log2: float = 0.4
    launch_log2: Mapping[str, float] = field(
        default_factory=lambda: {
            "memory": 0.25,
            "arithmetic": 0.3,
            "issue": 0.5,
            "lines": 0.6,
            "cache": 0.7,
            "waiting": 0.7,
        }
    )
    usual_launch_log2: float = 0.7
    call_spread: float = 1.2
    cut_log2: float = 0.6
    data_log2: float = 0.6
    branch_log2: float = 0.3
    unknown_log2: float = 1.5
    unknown_share: float = 0.2
    other_device_log2: float = 0.3


STEP_MODEL = StepModel()


@dataclass(frozen=True)
class ProgramForecast:
    """The forecaster `program`: workloads and autotuner configurations that are recorded at most, and its doubt.

    `p_fail` is the chance of failure of a candidate with kernels of its own whose recording shows nothing wrong: 0.42
    of CUDA kernels that language models wrote (benchmarks/results/programs_failures.json). That table has no Triton;
    `triton_p_fail` is a judgement, for what compiles there seldom fails at launch.
    """

    workloads: int = 2
    alternatives: int = 8
    p_fail: float = 0.42
    triton_p_fail: float = 0.15
    least_doubt_log2: float = 0.3


PROGRAM_FORECAST = ProgramForecast()


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


@dataclass(frozen=True)
class RecordedEffect:
    """What a recording changes in a forecast: the share of failures that it does not see, and how far apart in log2
    two runs of the same steps are measured. What calls torch's operators alone, and returns tensors of the right shapes
    and types, fails with a chance of at most `operators_p_fail` (set by judgement: of 204 such development rows of
    benchmarks/programs none failed, but their data set publishes only what is correct).
    Recordings of more than `kept_bytes` are made anew each time."""

    unseen_failures: float = 0.35
    operators_p_fail: float = 0.05
    same_spread_log2: float = 0.05
    kept_bytes: int = 16 << 20


RECORDED = RecordedEffect()


@dataclass(frozen=True)
class KnobSearch:
    """The proposer `knobs`: candidates per round, and how it chooses them.

    The first `near_first`, but no more than `near_share` of the measurements, differ from the given kernel in one knob;
    then a Gaussian process chooses among all settings, or, if there are more than `pool`, among those near the fastest
    `around` and as many drawn at random as fill it.
    """

    batch: int = 4
    near_first: int = 16
    near_share: float = 0.4
    pool: int = 2048
    around: int = 3


KNOB_SEARCH = KnobSearch()
