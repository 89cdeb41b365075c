"""What a call took, from what was seen of its process: no empty call that others held up makes a kernel fast."""

from __future__ import annotations

from foretell.kernels.bench.accounts import Account
from foretell.kernels.bench.runs import LEAST_US, serial_run, threaded_run


def test_a_call_on_threads_takes_the_clocks_time_less_an_empty_call() -> None:
    run = threaded_run(130.0, 220.0, 20.0, [Account(112.0, 3.0), Account(108.0, 5.0)], cores=2)
    assert run.time_us == run.wall_us == 110.0 and run.cpu_us == 112.0
    assert not run.serial and not run.preempted


def test_an_empty_call_that_was_held_up_does_not_make_a_kernel_fast() -> None:
    run = threaded_run(130.0, 220.0, 5000.0, [Account(112.0, 3.0), Account(108.0, 5.0)], cores=2)
    assert run.time_us == 56.0


def test_threads_that_ended_count_by_the_time_of_their_process() -> None:
    run = threaded_run(500.0, 900.0, 20.0, [Account(10.0, 0.0)], cores=2)
    assert run.cpu_us == 450.0 and run.wall_us == 480.0


def test_waiting_for_a_core_is_being_held_up_unless_there_are_more_threads_than_cores() -> None:
    waiting = [Account(100.0, 300.0), Account(100.0, 0.0)]
    assert threaded_run(420.0, 200.0, 20.0, waiting, cores=2).preempted
    assert not threaded_run(420.0, 200.0, 20.0, waiting, cores=1).preempted


def test_a_serial_call_takes_its_time_on_a_core_and_never_nothing() -> None:
    assert serial_run(900.0, 35.0).time_us == 35.0
    assert serial_run(-3.0, -1.0).time_us == LEAST_US
    assert serial_run(900.0, None).time_us == 900.0  # where the system does not tell, the clock does
