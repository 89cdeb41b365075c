"""Runs on the fake bench whose candidates are told, and language models that say what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from foretell.kernels.bench.fake import FAKE_DEVICE, FakeBench, FakeForecaster
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.policy import make_policy
from foretell.kernels.profiles import Profile
from foretell.kernels.protocols import Bench, Build
from foretell.kernels.search import Event, FileJournal, RunJournal, RunState, Search, SearchConfig, make_strategy
from foretell.kernels.task import Task
from foretell.lm import Failure, Reply, Request, Usage
from tests.kernels.search.world import SMALL, TASK

REFERENCE = Candidate(TASK.name, "cpp", TASK.references["cpp"], Origin("reference"))


BASE = "".join(f"static const int number_{i} = {i};\n" for i in range(9))


def program(body: str, parent: Candidate = REFERENCE) -> Candidate:
    return Candidate(TASK.name, "cpp", f"{BASE}{body}\n", Origin("person"), (parent.id,))


class ScriptedBench(FakeBench):
    """What becomes of a program stands in it: `x2.5` is its speedup; BROKEN, WRONG."""

    def _build(self, candidate: Candidate) -> Build:
        if "BROKEN" in candidate.source:
            return Build(Status.COMPILE_ERROR, "kernel.cpp:3:1: error: 'BROKEN' was not declared", seconds=0.1)
        return Build(Status.OK, features={"spills": 7.0}, seconds=0.1)

    def _measure(self, task: Task, candidate: Candidate, hopeless_below: float | None) -> Measurement:
        cost = Cost(device_s=0.25, wall_s=0.25)
        if "WRONG" in candidate.source:
            return Measurement(Status.WRONG, "output 'out': 3 of 3 values are wrong", cost=cost, device=FAKE_DEVICE.id)
        speedup = float(candidate.source.partition("x")[2].split()[0])
        timings = tuple(
            Timing(w.name, (100.0, 110.0, 120.0), (110.0 / speedup,) * 3, speedup, speedup * 0.9, speedup * 1.1)
            for w in task.workloads
        )
        return Measurement(
            Status.OK, "", speedup, speedup * 0.9, speedup * 1.1, timings, False, cost, "fake", FAKE_DEVICE.id
        )


def told_search(
    run_dir: Path,
    *,
    bench: Bench | None = None,
    policy: str = "all",
    profile: Profile = SMALL,
    on_event: Callable[[Event, RunState], None] | None = None,
    journal: RunJournal | None = None,
) -> Search:
    return Search(
        TASK,
        bench or ScriptedBench(),
        None,
        FakeForecaster(),
        make_strategy("puct", profile),
        make_policy(policy, profile),
        SearchConfig("cpp", 0, profile),
        journal or FileJournal(run_dir, clock=lambda: 0.0, fsync=False),
        on_event=on_event,
        timer=lambda: 0.0,
    )


class SayingModel:
    """A model that answers as a function says, given the request and how many came before it."""

    name = "saying"

    def __init__(self, answer: Callable[[int, Request], Reply | Failure | str]) -> None:
        self.requests: list[Request] = []
        self._answer = answer

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        return list(self._answers(requests))

    def _answers(self, requests: Sequence[Request]) -> Iterator[Reply | Failure]:
        for request in requests:
            said = self._answer(len(self.requests), request)
            self.requests.append(request)
            yield Reply(said, Usage(100, 10), None, 2.0, 0.5) if isinstance(said, str) else said
