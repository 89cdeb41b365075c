"""Effort levels: the defaults that a search and the benches run with.

A profile is a frozen value that is written whole into every run, so a run can be read, resumed and repeated without
knowing which version's defaults were in force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
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
        raise ValueError(f"there is no profile {name!r}; choose one of {', '.join(PROFILES)}")
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
