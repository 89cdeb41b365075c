"""A small search on the fake bench, with clocks that stand still, so that equal runs have the same bytes as journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from foretell.kernels import library, profiles
from foretell.kernels.bench.fake import FakeBench, FakeForecaster, FakeProposer, unit_hash
from foretell.kernels.candidate import Candidate
from foretell.kernels.policy import make_policy
from foretell.kernels.profiles import Budgets, Profile
from foretell.kernels.protocols import Bench, Build, Proposer
from foretell.kernels.search import Event, FileJournal, RunState, Search, SearchConfig, make_strategy
from foretell.kernels.store import Catalogue
from foretell.kernels.task import Task

TASK = library.get("softmax")
SMALL = replace(
    profiles.QUICK,
    name="small",
    budgets=Budgets(measurements=12, seconds=1e6, candidates=60),
    batch_size=8,
    measure_per_batch=3,
    max_measure_per_batch=4,
    audit_share=0.2,
    refit_every_until=4,
    refit_growth=1.5,
    selective=replace(profiles.QUICK.selective, explore_until=4, explore_per_batch=4, trust_width_log2=4.0),
)


def small(**changes: Any) -> Profile:
    return replace(SMALL, **changes)


class VariedBench(FakeBench):
    """A fake bench whose builds use different amounts of registers, so that a run has several cells."""

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        return [
            replace(build, features={**build.features, "registers": 256.0 * unit_hash("registers", candidate.likeness)})
            for candidate, build in zip(candidates, super().build(task, candidates), strict=True)
        ]


def make_search(
    run_dir: Path,
    policy: str = "selective",
    strategy: str = "puct",
    *,
    bench: Bench | None = None,
    proposer: Proposer | None = None,
    profile: Profile = SMALL,
    seed: int = 0,
    catalogue: Catalogue | None = None,
    on_event: Callable[[Event, RunState], None] | None = None,
) -> Search:
    return Search(
        TASK,
        bench or FakeBench(),
        proposer or FakeProposer(TASK.name),
        FakeForecaster(),
        make_strategy(strategy, profile),
        make_policy(policy, profile),
        SearchConfig("cpp", seed, profile),
        FileJournal(run_dir, clock=lambda: 0.0, fsync=False),
        catalogue=catalogue,
        on_event=on_event,
        timer=lambda: 0.0,
    )


def journal_of(run_dir: Path) -> bytes:
    return (run_dir / "journal.jsonl").read_bytes()


class Killed(BaseException):
    """The process is gone: nothing in the search may catch this."""


def kill_after(count: int) -> Callable[[Event, RunState], None]:
    """A callback that ends the world right after the `count`-th event is on disk."""
    seen = 0

    def callback(event: Event, state: RunState) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            raise Killed

    return callback
