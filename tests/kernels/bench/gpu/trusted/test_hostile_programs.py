"""Forged Programs, kernels and processes before the judge: each ends as a value, and the next candidate is fine."""

from __future__ import annotations

import json
import os
import pickle
import random
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.channel import receive_descriptor
from foretell.kernels.bench.gpu.handle import DeviceLost, WorkerFailed
from foretell.kernels.bench.gpu.trusted import contest, replayer
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.program import Buffer, Launch, LibraryCall, Pointer, Program, Role, Tag, View, Weight
from foretell.kernels.program_check import InvalidProgram, check
from foretell.kernels.program_codec import from_bytes, to_bytes
from foretell.kernels.record.refusal import Recording
from foretell.kernels.task import Task, Workload
from tests.kernels.bench.gpu.host import softmax
from tests.kernels.bench.gpu.trusted.local import LocalProcess, forked, judge_of, recorded
from tests.kernels.bench.gpu.trusted.toy import COLS, KERNELS, LOW_SPREAD, ROWS, ToyHost, floats, program_of
from tests.kernels.programs import mutated_document, opened, sealed

TASK = replace(softmax(), workloads=(Workload({"rows": ROWS, "cols": COLS}),), extra=())
REFERENCE = "import torch\n\n\ndef kernel(x):\n    return torch.softmax(x, 1)\n"


def recorder(programs: dict[str, Program]) -> Callable[..., Recording]:
    """Records references as they are; a candidate's source is the name of its forged Program."""

    def record(task: Task, workload: Workload, source: str | None, language: str, device: Any) -> Recording:
        return recorded(task, workload, source, language, device) if source is None else Recording(programs[source])

    return record


def verdicts(programs: dict[str, Program], start: Any = None, **changes: Any) -> dict[str, Measurement]:
    """What a judge says of each Program, one after the other."""
    judge, _ = judge_of(TASK, ToyHost(), start, recorder(programs), **changes)
    try:
        return {name: judge.judge(Candidate("softmax", "torch", name)) for name in programs}
    finally:
        judge.close()


def test_kernels_of_every_kind_get_their_verdict_and_nothing_crosses_to_the_next() -> None:
    names = ["softmax", "remembers", "every_other", "spoils_input", "fails", "counts_from_zero", "unknown_entry"]
    programs = {name: program_of(name) for name in names} | {"softmax again": program_of("softmax", offset=0)}
    outcomes = verdicts(programs)
    statuses = {name: outcome.status for name, outcome in outcomes.items()}
    assert statuses == {
        "softmax": Status.OK, "remembers": Status.WRONG, "every_other": Status.WRONG, "spoils_input": Status.CHEAT,
        "fails": Status.LAUNCH_ERROR, "counts_from_zero": Status.OK, "unknown_entry": Status.LAUNCH_ERROR,
        "softmax again": Status.OK,
    }, {name: outcome.message for name, outcome in outcomes.items()}  # fmt: skip


@pytest.mark.timing
def test_a_kernel_that_is_quick_on_numbers_as_drawn_is_timed_where_it_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "_TIMED_ELSEWHERE", 99)  # of some, none may be among those that are slow
    outcomes = verdicts({name: program_of(name) for name in ("softmax", "quick_as_drawn")})
    honest, quick = outcomes["softmax"], outcomes["quick_as_drawn"]
    assert honest.ok and "timed_on" not in honest.conditions
    assert quick.ok and quick.conditions["timed_on"] in ("narrowed numbers", "raised numbers", "stepped numbers")
    assert min(quick.timings[0].candidate_us) > 50_000


@pytest.mark.timeout(300)
def test_a_replayer_that_dies_hangs_or_loses_its_device_is_replaced() -> None:
    names = ["dies", "softmax", "hangs", "faults"]
    programs = {name: program_of(name) for name in names} | {"softmax at last": program_of("softmax")}
    outcomes = verdicts(programs, forked, run_timeout_s=8.0)
    assert [outcome.status for outcome in outcomes.values()] == [
        Status.CRASH, Status.OK, Status.TIMEOUT, Status.CRASH, Status.OK,
    ], [outcome.message for outcome in outcomes.values()]  # fmt: skip
    assert "exit code 9" in outcomes["dies"].message


def call(operator: str, *arguments: Any, result: View | None = None) -> Program:
    """A Program of one library call on the input."""
    base = recorded(TASK, TASK.workloads[0], REFERENCE, "torch", None).program  # type: ignore[arg-type]
    assert base is not None
    step = base.library_calls()[0]
    forged = LibraryCall(operator, (base.inputs[0], *arguments), (), (result or step.results[0],))
    return replace(base, run=(forged,))


def honest() -> Program:
    base = recorded(TASK, TASK.workloads[0], REFERENCE, "torch", None).program  # type: ignore[arg-type]
    assert base is not None
    return base


FORGED: dict[str, Callable[[], Program]] = {
    "an operator outside the list": lambda: call("aten::from_file.default", "/etc/passwd"),
    "an operator of another namespace": lambda: call("prim::print.default"),
    "random numbers": lambda: call("aten::rand_like.default"),
    "a view past its buffer": lambda: replace(
        honest(), outputs=(replace(honest().outputs[0], shape=(ROWS + 1, COLS)),)
    ),
    "a pointer past its buffer": lambda: _with_pointer(Pointer(8, 1, 4 * ROWS * COLS + 8)),
    "a pointer to no buffer": lambda: _with_pointer(Pointer(8, 99, 0)),
    "an absurd grid": lambda: _with_launch(grid=(1 << 30, 60000, 60000)),
    "too much shared memory": lambda: _with_launch(shared_bytes=1 << 30),
    "an image of another name": lambda: _with_launch(image="0" * 64),
    "the memory of the input as output": lambda: replace(honest(), outputs=(honest().inputs[0],)),
    "one output too many": lambda: replace(honest(), outputs=honest().outputs * 2),
    "another type": lambda: replace(honest(), outputs=(replace(honest().outputs[0], dtype="int32"),)),
    "inputs of another shape": lambda: program_of("softmax", rows=ROWS - 1),
    "another version": lambda: replace(honest(), version=99),
    "a cast to a type that does not exist": lambda: call("aten::_to_copy.default", Tag("dtype", "float99")),
}


def _with_pointer(pointer: Pointer) -> Program:
    return _with_launch(pointers=(Pointer(0, 0, 0), pointer))


def _with_launch(**changes: Any) -> Program:
    program = program_of("softmax")
    allocate, launch = program.run
    assert isinstance(launch, Launch)
    return replace(program, run=(allocate, replace(launch, **changes)))


def test_forged_programs_are_refused_before_anything_is_executed() -> None:
    programs = {name: make() for name, make in FORGED.items()} | {"honest": honest()}
    outcomes = verdicts(programs)
    assert outcomes.pop("honest").ok
    assert {name: outcome.status for name, outcome in outcomes.items()} == dict.fromkeys(FORGED, Status.CHEAT), {
        name: outcome.message for name, outcome in outcomes.items()
    }


@pytest.mark.timeout(600)
def test_two_hundred_mutations_end_as_values_and_leave_the_reference_as_it_was() -> None:
    """Mutated bytes of an honest Program, most of them refused; none may be `ok` unless it computes the right thing."""
    rng = random.Random(24)
    document, blobs = opened(to_bytes(program_of("idle")))
    plain = opened(to_bytes(honest()))
    programs: dict[str, Program] = {}
    refused = 0
    while len(programs) + refused < 200:
        text, parts = (document, blobs) if rng.random() < 0.5 else plain
        try:
            mutated = check(from_bytes(sealed(mutated_document(json.loads(json.dumps(text)), rng), parts)))
        except InvalidProgram:
            refused += 1
            continue
        programs[f"mutation {len(programs)}"] = mutated
    outcomes = verdicts(programs | {"honest": honest()}, most_pairs=3, chunk_pairs=3, fewest_pairs=3)
    assert outcomes["honest"].ok
    assert refused > 100
    expected = torch.softmax(x := torch.randn(ROWS, COLS), 1)
    for name, outcome in outcomes.items():
        if outcome.ok and name != "honest":
            assert torch.allclose(_run(programs[name], x), expected, atol=1e-5), name


def _run(program: Program, x: Any) -> Any:
    from foretell.kernels.bench.gpu.trusted.player import Player

    player = Player(program, "cpu", ToyHost().load)
    player.setup({})
    return player.run_on([x])[0]


# Processes that answer in their own way


def _answering(answer: Callable[[dict[str, Any]], bytes]) -> Callable[[socket.socket], None]:
    def serve(channel: socket.socket) -> None:
        connection = Connection(channel.detach())
        connection.recv_bytes()
        connection.send_bytes(b'{"ready": "CPU"}')
        while True:
            command = pickle.loads(connection.recv_bytes())
            if command["do"] in ("become", "lend"):
                if command["do"] == "lend":
                    os.close(receive_descriptor(connection, 10.0))
                connection.send_bytes(json.dumps({"token": command["token"]}).encode())
                continue
            os.write(connection.fileno(), answer(command))

    return serve


def _message(content: Any) -> bytes:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return len(text).to_bytes(4, "big") + text


LIES: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "answers before it is asked": lambda command: _message({"us": 1.0}) * 3,
    "another's token": lambda command: _message({"token": "0" * 16, "us": 1.0}),
    "not JSON": lambda command: _message(b"\xff\x00 us"),
    "deeply nested": lambda command: _message(b"[" * 100_000),
    "a list": lambda command: _message([1, 2]),
    "a length that is none": lambda command: b"\xff\xff\xff\xff",
    "a status that there is not": lambda command: _message({"token": command["token"], "status": "ok"}),
    "times that are none": lambda command: _message({"token": command["token"], "us": [1e999], "method": "graph"}),
    "done without doing it": lambda command: _message({"token": command["token"], "us": 0.5, "method": "graph"}),
    "silence": lambda command: b"",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_replayer_that_lies_gains_nothing(lie: str) -> None:
    made: list[Any] = []

    def start(role: str, platform: Any) -> Any:
        is_candidate = role == "light"
        worker = forked(_answering(LIES[lie]), platform) if is_candidate else LocalProcess(role, platform)
        made.append(worker)
        return worker

    started = time.monotonic()
    (outcome,) = verdicts({"softmax": program_of("softmax")}, start, run_timeout_s=2.0, load_timeout_s=2.0).values()
    assert outcome.status in (Status.CHEAT, Status.WRONG, Status.TIMEOUT), outcome.message
    assert time.monotonic() - started < 120


def test_a_flood_of_answers_does_not_reach_the_judge() -> None:
    def flood(command: dict[str, Any]) -> bytes:
        return _message({"token": command["token"], "junk": "x" * 1000}) + _message({"us": 1.0}) * 2000

    LIES["flood"] = flood
    try:
        test_a_replayer_that_lies_gains_nothing("flood")
    finally:
        del LIES["flood"]


class _FailsOnce(LocalProcess):
    """A replayer of the reference whose sixth timed run fails, as on a lost device."""

    runs = 0

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        self.runs += command["do"] == "run"
        if command["do"] == "run" and self.runs == 6:
            self.stop()
            raise WorkerFailed(Status.CRASH, "died of SIGKILL")
        return super().ask(timeout_s, **command)


def test_a_failure_of_the_reference_is_not_held_against_a_candidate_unless_it_changed_inputs() -> None:
    made: list[Any] = []

    def start(role: str, platform: Any) -> Any:
        is_reference = role == "replayer" and any(worker.role == "replayer" for worker in made)
        made.append((_FailsOnce if is_reference else LocalProcess)(role, platform))
        return made[-1]

    programs = {"softmax": program_of("softmax"), "spoils": program_of("spoils_later")}
    judge, workers = judge_of(TASK, ToyHost(), start, recorder(programs))
    reference = workers["replayer"][1]
    with pytest.raises(DeviceLost, match="SIGKILL"):
        judge.judge(Candidate("softmax", "torch", "softmax"))
    assert judge.judge(Candidate("softmax", "torch", "softmax")).ok
    reference.runs = 0
    spoiled = judge.judge(Candidate("softmax", "torch", "spoils"))
    assert spoiled.status is Status.CHEAT and "input 0 was changed" in spoiled.message
    reference.runs = 6
    assert judge.judge(Candidate("softmax", "torch", "softmax")).ok


def test_the_fastest_configuration_of_an_autotuned_kernel_is_measured() -> None:
    """One that fails is passed over; all that fail are the candidate's failure."""
    programs = {name: program_of(name) for name in ("fails", "naps", "softmax")}

    def record(task: Task, workload: Workload, source: str | None, language: str, device: Any) -> Recording:
        if source is None:
            return recorded(task, workload, source, language, device)
        first, *others = (programs[name] for name in source.split())
        return Recording(first, None, tuple(others))

    judge, workers = judge_of(TASK, ToyHost(), record=record)
    assert judge.judge(Candidate("softmax", "torch", "fails softmax")).ok
    assert workers["light"][0].asked.count("program") == 3  # each, and the chosen one again
    assert judge.judge(Candidate("softmax", "torch", "fails fails")).status is Status.LAUNCH_ERROR
    assert judge.judge(Candidate("softmax", "torch", "naps softmax")).ok
    assert judge.judge(Candidate("softmax", "torch", "naps fails")).status is Status.WRONG


def test_no_configuration_of_an_autotuned_kernel_may_let_torch_compute() -> None:
    """Of the first one alone it was asked, and the fastest was loaded."""
    first, second = program_of("softmax"), honest()

    def record(task: Task, workload: Workload, source: str | None, language: str, device: Any) -> Recording:
        return recorded(task, workload, None, language, device) if source is None else Recording(first, None, (second,))

    judge, _ = judge_of(TASK, ToyHost(), record=record)
    refused = judge.judge(Candidate("softmax", "cuda", "both"))
    judge.close()
    assert refused.status is Status.CHEAT and "no kernel of its own" in refused.message


def test_room_for_weights_that_no_device_has_is_not_made() -> None:
    size, program = 1 << 39, program_of("softmax")
    weight = Weight("w", View(2, 0, "uint8", (size,), (1,)))
    huge = replace(program, buffers=(*program.buffers, Buffer(size, Role.WEIGHT)), weights=(weight,))
    outcomes = verdicts({"huge": huge, "softmax": program})
    assert outcomes["huge"].status is Status.LAUNCH_ERROR and "more than the device has" in outcomes["huge"].message
    assert outcomes["softmax"].ok


def test_where_kernels_of_ones_own_are_asked_for_torch_must_not_compute() -> None:
    programs = {"library": honest(), "kernel": program_of("softmax")}
    judge, _ = judge_of(TASK, ToyHost(), record=recorder(programs))
    assert judge.judge(Candidate("softmax", "cuda", "kernel")).ok
    refused = judge.judge(Candidate("softmax", "cuda", "library"))
    assert refused.status is Status.CHEAT and "no kernel of its own" in refused.message
    kernel, view = programs["kernel"], View(2, 0, "float32", (ROWS, COLS), (COLS, 1))
    exp = LibraryCall("aten::exp.default", (kernel.outputs[0],), (), (view,))
    programs["both"] = replace(kernel, run=(*kernel.run, exp), buffers=(*kernel.buffers, kernel.buffers[1]))
    computes = judge.judge(Candidate("softmax", "cuda", "both"))
    assert computes.status is Status.CHEAT and "lets torch compute: aten::exp" in computes.message


def test_the_replayer_holds_no_seeds_and_its_job_knows_no_source() -> None:
    """The commands of a replayer of candidates carry Programs, places and numbers, and neither seeds nor code."""
    judge, workers = judge_of(TASK, ToyHost(), record=recorder({"softmax": program_of("softmax")}))
    candidate = workers["light"][0]
    commands: list[dict[str, Any]] = []
    ask = candidate.ask

    def noting(timeout_s: float, **command: Any) -> Any:
        commands.append(command)
        return ask(timeout_s, **command)

    candidate.ask = noting
    assert judge.judge(Candidate("softmax", "cuda", "softmax")).ok
    keys = {key for command in commands for key in command}
    assert keys == {
        "do", "token", "role", "name", "size", "memory", "workload", "program", "inputs", "outputs", "weights",
        "precision", "cudnn_tf32", "layouts", "sets", "set", "captured", "order",
    }  # fmt: skip
    assert {command["name"] for command in commands if command["do"] == "lend"} == {"inputs", "outputs"}
    assert not hasattr(replayer, "runtime_of")


def test_timed_runs_on_other_numbers_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that counts its runs is right in the few that check it, and later where numbers look as drawn."""

    def later_only_as_drawn(source: int, target: int, count: int, state: dict[str, Any]) -> None:
        state["runs"] = state.get("runs", 0) + 1
        KERNELS["softmax"](source, target, count, state)
        if state["runs"] > 12 and floats(source, count).std() < LOW_SPREAD:
            floats(target, count)[:] = 1 / COLS

    monkeypatch.setattr(contest, "_TIMED_ELSEWHERE", 99)
    monkeypatch.setitem(KERNELS, "later_only_as_drawn", later_only_as_drawn)
    outcome = verdicts({"later": program_of("later_only_as_drawn")}, most_pairs=12)["later"]
    assert outcome.status is Status.WRONG and " numbers: " in outcome.message
