"""Constants of the models of time: launches, library calls, steps, and what forecasts by Programs rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
