"""A search that starts from a given kernel: it is measured first, its knobs are turned, the winner is compared."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from foretell.kernels.bench.fake import FakeBench, FakeForecaster
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.measurement import Status
from foretell.kernels.policy import make_policy
from foretell.kernels.profiles import Budgets, Profile
from foretell.kernels.propose.knobs.proposer import KnobProposer
from foretell.kernels.protocols import Build, Proposer
from foretell.kernels.search import FileJournal, RunState, Search, SearchConfig, StopReason, load_run, make_strategy
from foretell.report.start import over_start, start_trouble
from tests.kernels.search.world import TASK, Killed, journal_of, kill_after, small

SOURCE = """
#define TILE 64
constexpr int UNROLL = 4, CHUNK = 256;
void softmax(const float* x, float* y, int rows, int cols);
"""
START = Candidate(TASK.name, "cpp", SOURCE, Origin("person", {"file": "mine.cpp"}))


class SmoothBench(FakeBench):
    """A world as of tiles: each knob has a best value, and halving or doubling from there costs a little more."""

    BEST: ClassVar[dict[str, int]] = {"TILE": 16, "UNROLL": 16, "CHUNK": 1024}

    def log2_speedup(self, candidate: Candidate) -> float:
        knobs = {"TILE": 64, "UNROLL": 4, "CHUNK": 256, **candidate.origin.detail.get("knobs", {})}
        return 1.0 - math.fsum(0.1 * abs(math.log2(int(knobs[name]) / best)) ** 1.5 for name, best in self.BEST.items())


def make(
    run_dir: Path,
    *,
    bench: FakeBench,
    profile: Profile | None = None,
    policy: str = "all",
    proposer: Proposer | None = None,
    seed: int = 0,
    **more: object,
) -> Search:
    chosen = profile or small(budgets=Budgets(measurements=20, seconds=1e6, candidates=60))
    return Search(
        TASK, bench, proposer or KnobProposer(START), FakeForecaster(), make_strategy("puct", chosen),
        make_policy(policy, chosen), SearchConfig("cpp", seed, chosen, START),
        FileJournal(run_dir, clock=lambda: 0.0, fsync=False), timer=lambda: 0.0, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def searched(run_dir: Path, **settings: object) -> RunState:
    return make(run_dir, bench=SmoothBench(failure_share=0.0), **settings).run()  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["all", "selective", "value"])
def test_the_given_kernel_is_measured_first_and_again_at_the_end(policy: str, tmp_path: Path) -> None:
    state = searched(tmp_path / "run", policy=policy)
    first = next(iter(state.nodes.values()))
    assert first.id == START.id and first.round == 0 and first.measurement is not None and first.measurement.ok
    assert state.start == first and first.verified is not None
    assert state.best is not None and state.best.candidate.origin.kind == "knobs"
    gain = over_start(state)
    assert gain is not None and not gain.same and gain.low < gain.speedup < gain.high
    assert state.best.verified is not None and state.best.verified.speedup is not None
    assert gain.speedup == pytest.approx(state.best.verified.speedup / (first.verified.speedup or 0))
    assert f"{gain.speedup:.2f}" in gain.sentence and "given kernel" in gain.sentence


def test_variations_carry_their_knobs_and_descend_from_the_start(tmp_path: Path) -> None:
    state = searched(tmp_path / "run")
    for node in list(state.nodes.values())[1:]:
        knobs = node.candidate.origin.detail["knobs"]
        assert f"#define TILE {knobs['TILE']}\n" in node.candidate.source
        assert node.parents[0] in state.nodes
    assert state.measured == 20 and state.finished is not None and state.finished.reason is StopReason.MEASUREMENTS


def test_killed_at_every_event(tmp_path: Path) -> None:
    whole, few = FakeBench(), small(budgets=Budgets(measurements=10, seconds=1e6, candidates=60))
    make(tmp_path / "whole", bench=whole, profile=few).run()
    expected = journal_of(tmp_path / "whole")
    for count in range(1, expected.count(b"\n") + 1):
        run_dir, bench = tmp_path / f"killed-{count}", FakeBench()
        with pytest.raises(Killed):
            make(run_dir, bench=bench, profile=few, on_event=kill_after(count)).run()
        make(run_dir, bench=bench, profile=few).resume()
        assert journal_of(run_dir) == expected
        assert bench.asked == whole.asked


def test_a_small_space_is_exhausted_without_repeating(tmp_path: Path) -> None:
    few = Candidate(TASK.name, "cpp", "#define STAGES 2\nvoid softmax();\n", Origin("person"))
    budgets = small(budgets=Budgets(measurements=100, seconds=1e6, candidates=100))
    bench = FakeBench(failure_share=0.0)
    search = Search(TASK, bench, KnobProposer(few), FakeForecaster(), make_strategy("puct", budgets),
                    make_policy("all", budgets), SearchConfig("cpp", 0, budgets, few),
                    FileJournal(tmp_path / "run", fsync=False))  # fmt: skip
    state = search.run()
    assert state.measured == 6 and state.finished is not None and state.finished.reason is StopReason.EXHAUSTED


def test_a_start_that_does_not_work_is_an_ordinary_failure(tmp_path: Path) -> None:
    class Picky(FakeBench):
        def _build(self, candidate: Candidate) -> Build:
            build = super()._build(candidate)
            return replace(build, status=Status.COMPILE_ERROR) if candidate.id == START.id else build

    bench = Picky(failure_share=0.0)
    state = make(tmp_path / "run", bench=bench).run()
    assert state.best is not None and over_start(state) is None
    assert start_trouble(state).startswith("the given kernel does not work: compile_error")
    assert load_run(tmp_path / "run").start is not None


def test_the_tuner_finds_faster_variations_than_chance(tmp_path: Path) -> None:
    def mean(tuned: bool) -> float:
        found = []
        for seed in range(3):
            bench = SmoothBench(failure_share=0.0)
            state = make(
                tmp_path / f"{tuned}-{seed}", bench=bench, proposer=KnobProposer(START, tuned), seed=seed
            ).run()
            found.append(float(state.best.measurement.log2_speedup))  # type: ignore[union-attr]
        return math.fsum(found) / len(found)

    tuned = mean(tuned=True)
    assert tuned > 0.9 and tuned > mean(tuned=False) + 0.05
