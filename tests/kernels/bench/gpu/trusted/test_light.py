"""The light replayer on the CPU: the same outputs as the one with torch, and nothing left for the next candidate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.session import poison
from foretell.kernels.bench.gpu.trusted.light import _poison_word, is_light
from foretell.kernels.bench.gpu.trusted.player import Player
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Status
from foretell.kernels.program import (
    Allocate,
    Buffer,
    Copy,
    Fill,
    Fork,
    Join,
    LibraryCall,
    Program,
    Region,
    Role,
    SymbolUpload,
)
from foretell.kernels.record.refusal import Recording
from foretell.kernels.task import Task, Workload
from foretell.kernels.tasks import kernelbench
from tests.kernels.bench.gpu.trusted.local import LocalProcess, judge_of, recorded
from tests.kernels.bench.gpu.trusted.test_hostile_programs import TASK, recorder
from tests.kernels.bench.gpu.trusted.toy import COLS, KERNELS, ROWS, ToyHost, program_of

SIZE = 4 * ROWS * COLS


def through_a_copy(entry: str = "softmax") -> Program:
    """The kernel's result, copied into a buffer whose first row is filled before, and an array from the host."""
    program = program_of(entry)
    whole = Region(2, 0, SIZE)
    steps = (Allocate(2), Fill(Region(2, 0, 4 * COLS), b"\x00\x00\x80\x3f"), Copy(whole, Region(1, 0, SIZE)))
    buffers = (*program.buffers, program.buffers[1], Buffer(8, Role.STATE))
    setup = (Allocate(3), Copy(Region(3, 0, 8), b"ABCDEFGH"))
    output = replace(program.outputs[0], buffer=2)
    return replace(program, setup=setup, run=(*program.run, *steps), buffers=buffers, outputs=(output,))


def test_fills_copies_and_setup_are_carried_out_as_with_torch() -> None:
    program = through_a_copy()
    assert is_light(program)
    judge, workers = judge_of(TASK, ToyHost(), record=recorder({"copy": program}))
    outcome = judge.judge(Candidate("softmax", "cuda", "copy"))
    judge.close()
    assert outcome.ok, outcome.message
    assert "check" in workers["light"][0].asked and not workers["replayer"][0].asked
    player = Player(program, "cpu", ToyHost().load)
    player.setup({})
    x = torch.randn(ROWS, COLS)
    assert torch.allclose(player.run_on([x])[0], torch.softmax(x, 1), atol=1e-6)


def test_what_does_more_than_launch_fill_and_copy_is_for_the_replayer_with_torch() -> None:
    program = through_a_copy()
    view = program.outputs[0]
    exp = LibraryCall("aten::exp.default", (view,), (), (view,))
    upload = SymbolUpload(program.images[0].hash, "x", 0, b"12345678")
    transposed = replace(view, shape=(COLS, ROWS), strides=(1, COLS))
    heavy = {
        "library call": replace(program, run=(*program.run, exp)),
        "upload": replace(program, run=(upload, *program.run)),
        "streams": replace(program, run=(Fork(1, 0), *program.run, Join(1, 0))),
        "gaps in an output": replace(program, outputs=(transposed,)),
        "much memory": replace(program, buffers=(*program.buffers, Buffer(1 << 40, Role.TEMPORARY))),
    }
    assert {name: is_light(each) for name, each in heavy.items()} == dict.fromkeys(heavy, False)


def test_each_candidate_has_a_fresh_context_and_failures_end_their_process() -> None:
    names = ["softmax", "counts_from_zero", "every_other", "softmax again"]
    programs = {name: program_of(name.removesuffix(" again")) for name in names}
    judge, workers = judge_of(TASK, ToyHost(), record=recorder(programs), replay_light=1)
    (light,) = workers["light"]
    statuses = [judge.judge(Candidate("softmax", "cuda", name)).status for name in names]
    assert statuses == [Status.OK, Status.OK, Status.WRONG, Status.OK]
    judge.close()
    assert not light.alive
    # One context each and one more that stands ready; what went wrong ended its process.
    assert light.starts in (len(names), len(names) + 1) and light.asked.count("become") == 2
    assert light.asked.count("fresh") in (2, 3)


class _Once(LocalProcess):
    """A process in which kernels could reach more than the memory of their context."""

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        assert command["do"] != "fresh"
        return super().ask(timeout_s, **command) | ({"reusable": False} if command["do"] == "become" else {})


def test_where_kernels_reach_the_hosts_memory_no_process_is_used_twice() -> None:
    programs = {"one": program_of("softmax"), "two": program_of("softmax")}
    judge, workers = judge_of(TASK, ToyHost(), _Once, recorder(programs), replay_light=1)
    assert all(judge.judge(Candidate("softmax", "cuda", name)).ok for name in programs)
    judge.close()
    assert workers["light"][0].starts in (2, 3)  # the last one stands ready, if there was time for it


def test_candidates_that_are_foreseen_are_loaded_and_not_run_before_their_turn() -> None:
    programs = {name: program_of("softmax") for name in ("first", "second", "third", "never")}
    judge, workers = judge_of(TASK, ToyHost(), record=recorder(programs), replay_light=3)
    candidates = {name: Candidate("softmax", "cuda", name) for name in programs}
    for name in ("first", "second", "never"):
        judge.foresee(candidates[name])
    assert judge.judge(candidates["first"]).ok
    used = sorted(workers["light"], key=lambda worker: "run" in worker.asked)
    assert ["run" in worker.asked for worker in used] == [False, False, True]
    assert judge.judge(candidates["second"]).ok
    assert judge.judge(candidates["third"]).ok  # which nobody foresaw
    assert judge.judge(candidates["first"]).ok
    judge.close()
    assert not any(worker.alive for worker in workers["light"])


def test_a_kernel_cannot_tell_which_runs_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an H200 a kernel read its ring, which was poisoned before runs that were looked at and before no others."""
    judge, workers = judge_of(TASK, ToyHost(), record=recorder({"softmax": program_of("softmax")}), replay_light=1)
    (light,) = workers["light"]
    asked: list[dict[str, Any]] = []
    rings: list[Any] = []
    ask, honest = light.ask, KERNELS["softmax"]

    def noting(timeout_s: float, **command: Any) -> Any:
        asked.append(command)
        return ask(timeout_s, **command)

    def looking(source: int, target: int, count: int, state: dict[str, Any]) -> None:
        if asked[-1]["do"] == "run":
            rings.append(judge._scene.ring(1, 0, asked[-1]["set"])[0].clone())
        honest(source, target, count, state)

    monkeypatch.setattr(light, "ask", noting)
    monkeypatch.setitem(KERNELS, "softmax", looking)
    assert judge.judge(Candidate("softmax", "cuda", "softmax")).ok
    assert len(rings) >= 7 and all(len(ring.unique()) == 1 or ring.isnan().all() for ring in rings)
    assert {bool(ring.isnan().all()) for ring in rings} == {False, True}  # which of them is drawn
    runs = [command for command in asked if command["do"] == "run"]
    assert {frozenset(command) for command in runs} == {frozenset({"do", "token", "workload", "set"})}


def test_an_invalid_program_that_was_foreseen_is_a_verdict_and_not_the_next_ones() -> None:
    programs = {"bad": program_of("softmax", rows=ROWS - 1), "good": program_of("softmax")}
    judge, _ = judge_of(TASK, ToyHost(), record=recorder(programs), replay_light=2)
    candidates = [Candidate("softmax", "cuda", name) for name in programs]
    for candidate in candidates:
        judge.foresee(candidate)
    outcomes = [judge.judge(candidate) for candidate in candidates]
    judge.close()
    assert outcomes[0].status is Status.CHEAT and "its Program is invalid" in outcomes[0].message
    assert outcomes[1].ok, outcomes[1].message


PROBLEM = f"""import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)
def get_inputs():
    return [torch.randn({ROWS}, {COLS})]
def get_init_inputs():
    return []
"""
WITH_A_WEIGHT = f"""import torch
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.zero = torch.nn.Parameter(torch.zeros({COLS}))
    def forward(self, x):
        return torch.softmax(x + self.zero, 1)
"""


def test_a_candidate_with_weights_changes_nothing_for_those_made_ready_before() -> None:
    """It has outputs of its own; the others' are where they were when they were loaded."""
    forged = recorder({name: program_of("softmax") for name in ("first", "second")})

    def record(task: Task, workload: Workload, source: str | None, language: str, device: Any) -> Recording:
        known = forged if source in ("first", "second") else recorded
        return known(task, workload, source, language, device)

    judge, workers = judge_of(kernelbench.from_text(PROBLEM, "rows"), ToyHost(), record=record, replay_light=2)
    others = [Candidate("rows", "cuda", name) for name in ("first", "second")]
    for candidate in others:
        judge.foresee(candidate)
        assert judge._seats._ahead[candidate.id].result().loaded
    outcomes = [judge.judge(c) for c in (Candidate("rows", "torch", WITH_A_WEIGHT), *others)]
    judge.close()
    assert [outcome.message for outcome in outcomes] == ["", "", ""] and all(outcome.ok for outcome in outcomes)
    assert all("run" in light.asked for light in workers["light"])


def test_poison_is_not_right_throughout_whatever_is_right() -> None:
    for _ in range(200):
        assert set(_poison_word("bool")) == {0, 1}
        assert not {0, 255} & set(_poison_word("int64"))
    words = {_poison_word("float32") for _ in range(200)}
    assert b"\xff" * 4 in words and len(words) > 20
    assert len({_poison_word("bool") for _ in range(200)}) == 2
    flags, whole, real = torch.zeros(9, dtype=torch.bool), torch.zeros(9, dtype=torch.int64), torch.zeros(9)
    seen = set()
    for _ in range(200):
        for tensor in (flags, whole, real):
            poison(tensor)
        assert flags.sum() in (4, 5) and bool(flags[0]) != bool(flags[1])
        assert not torch.isin(whole, torch.tensor([-1, 0, 1])).any() and not (real.abs() < 2).any()
        seen |= {float(real[0]) if not real.isnan().any() else None, int(whole[0]), bool(flags[0])}
    assert None in seen and len(seen) > 50
