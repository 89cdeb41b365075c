"""Attacks on the CPU bench gain nothing, and honest kernels that look like them are measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from foretell.kernels.bench.cpu import CpuBench
from foretell.kernels.bench.runs import Run
from foretell.kernels.bench.worker import Worker
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import cpp
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.task import Workload
from tests.redteam.cpu_attacks import ATTACKS, Attack
from tests.redteam.cpu_controls import CONTROLS

pytestmark = pytest.mark.timing

TASK = replace(
    get("softmax"), workloads=(Workload({"rows": 160, "cols": 256}),), extra=(Workload({"rows": 7, "cols": 33}),)
)
EFFORT = BenchEffort(run_timeout_s=5.0, slowest_ratio=20, most_pairs=8, busy_cap_s=2.0, processes=1, total_s=4.0)
# One of each kind of attack, and the honest kernels most like one.
QUICK = (
    "remembers_results_but_not_always",
    "computes_before_the_go",
    "never_returns_and_answers_itself",
    "answers_first_and_computes_then",
    "a_thread_that_its_symbols_do_not_show",
    "destroys_its_inputs_once_it_is_timed",
    "works_only_while_it_is_checked",
    "works_at_the_sizes_alone_that_the_task_names",
    "is_wrong_at_sizes_between_those_that_are_named",
    "stops_itself_in_a_loop_of_its_own",
    "leaves_rows_whose_result_is_already_a_number",
    "reads_past_the_end_of_its_input",
    "touches_the_cache_line_behind_its_input",
    "leaves_outputs_of_inputs_that_it_has_met",
    "looks_for_its_input_where_it_first_was",
    "takes_its_buffers_for_whole_pages",
    "leaves_registers_of_its_caller_changed",
    "leaves_another_rounding_mode",
    "sleeps_in_every_call",
    "takes_the_process_over_when_it_is_loaded",
    "writes_to_the_folder_of_built_kernels",
    "handles_forbidden_calls_itself",
    "leaves_a_malformed_number",
    "claims_that_it_was_not_loaded",
    "skips_exponentials_that_vanish",
    "opens_the_pages_around_its_buffers",
    "sleeps_whenever_it_goes_on",
    "leaves_mmx_registers_in_use",
    "leaves_the_direction_flag_set",
    "slows_its_reference",
    "a_pool_of_its_own",
    "more_openmp_threads_than_cores",
    "slow_first_call",
    "maps_its_buffers_twice_by_a_flag",
    "moves_its_buffers_to_larger_pages",
    "tells_its_next_process_by_pages_of_files",
    "leaves_the_last_columns_out",
    "leaves_thousands_of_threads",
    "names_a_thread_of_its_own",
    "lists_a_folder_and_asks_for_flags_of_descriptors",
    "pauses_by_select",
    "grows_large_blocks_and_advises_on_them",
    "asks_for_its_memory_to_be_kept_and_calls_off_an_alarm",
    "computes_when_its_outputs_are_looked_at",
    "ends_its_main_thread_beside_one_that_sleeps",
)
MOST_GAIN = 1.5  # over the honest kernel within: what a busy machine may feign


@pytest.fixture(scope="module")
def bench() -> Iterator[CpuBench]:
    bench = CpuBench(EFFORT)
    yield bench
    bench.close()


def _measure(bench: CpuBench, attack: Attack) -> Measurement:
    [(_, measurement)] = bench.measure(TASK, [Candidate(TASK.name, "cpp", attack.source())])
    return measurement


@pytest.fixture(scope="module")
def honest_speedup(bench: CpuBench) -> float:
    outcome = _measure(bench, CONTROLS[0])
    assert outcome.ok and outcome.speedup is not None, outcome.message
    return outcome.speedup


def _cases(attacks: Sequence[Attack]) -> list[object]:
    """All of them; those that are not in QUICK are marked `full`."""
    return [pytest.param(a, marks=() if a.name in QUICK else pytest.mark.full, id=a.name) for a in attacks]


@pytest.mark.parametrize("attack", _cases(ATTACKS))
def test_an_attack_gains_nothing(bench: CpuBench, honest_speedup: float, attack: Attack) -> None:
    affinity, priority = os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)
    outcome = _measure(bench, attack)
    if attack.ends is not None:
        status, says = attack.ends
        assert outcome.status is status and says in outcome.message, outcome.message
    else:
        none = (Status.COMPILE_ERROR, Status.LAUNCH_ERROR, Status.INFRASTRUCTURE)
        assert outcome.status not in none, outcome.message
    if outcome.ok:
        assert outcome.low is not None and outcome.low < MOST_GAIN * honest_speedup
    assert outcome.message.isprintable()
    assert os.sched_getaffinity(0) == affinity and os.getpriority(os.PRIO_PROCESS, 0) == priority


@pytest.mark.parametrize("control", _cases(CONTROLS))
def test_an_honest_kernel_is_measured(bench: CpuBench, control: Attack) -> None:
    outcome = _measure(bench, control)
    assert outcome.status is Status.OK, outcome.message


def test_no_channel_is_left_open_however_many_files_there_are() -> None:
    """The bench's own descriptors have high numbers where its process has many files open."""
    [attack] = [each for each in ATTACKS if each.name == "finds_channels_with_high_numbers"]
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(300)]
    try:
        bench = CpuBench(EFFORT)
        try:
            outcome = _measure(bench, attack)
        finally:
            bench.close()
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert outcome.status is Status.OK, outcome.message


def test_no_process_is_timed_on_data_that_an_earlier_one_has_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever brings results from one process of a measurement to the next, they are of no use."""
    timed: dict[int, set[bytes]] = {}
    timed_call = Worker.timed_call

    def noted(worker: Worker, timeout_s: float) -> Run:
        [slot] = [slot for slot in worker._slots if not slot.writable]
        timed.setdefault(worker.pid, set()).add(worker.arena.view(slot).tobytes())
        return timed_call(worker, timeout_s)

    bench = CpuBench(replace(EFFORT, processes=2, fewest_processes=2))
    try:
        _measure(bench, CONTROLS[0])  # its reference was timed before on sets of the checks
        timed.clear()
        monkeypatch.setattr(Worker, "timed_call", noted)
        for _ in range(2):
            assert _measure(bench, CONTROLS[0]).ok
    finally:
        bench.close()
    assert len(timed) == 8, "two measurements of two processes, each beside a reference's"
    sets = list(timed.values())
    assert all(len(each) >= EFFORT.fewest_pairs for each in sets)
    assert sum(len(a & b) > 0 for k, a in enumerate(sets) for b in sets[:k]) == 4, "a process and its reference alone"


def test_kernels_for_several_processors_have_an_entry_point() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("there are no clones of functions here")
    source = (
        CONTROLS[0]
        .source()
        .replace('extern "C" void', '__attribute__((target_clones("avx2", "default"))) extern "C" void')
    )
    assert cpp.build(TASK, Candidate(TASK.name, "cpp", source)).ok
