"""Live searches of the benchmark: arms share their first candidates, differ in choosing alone, and can be resumed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.learned import live
from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.handle import WorkerHandle
from foretell.kernels.search import load_run
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import DEVICE, EFFORT

PROBLEM = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.randn(8, 64)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def bench() -> Iterator[GpuBench]:
    worker = WorkerHandle("foretell.testing.host:Host")
    made = GpuBench(EFFORT, 1, DEVICE, worker, Host())
    yield made
    made.close()
    worker.close()


def write(folder: Path, *bodies: str) -> None:
    folder.mkdir(parents=True)
    for number, body in enumerate(bodies):
        text = PROBLEM.replace("class Model", "class ModelNew").replace("x + 1", body)
        (folder / f"{number}.py").write_text(text)


@pytest.mark.full
def test_arms_choose_from_the_same_candidates_and_go_on(bench: GpuBench, tmp_path: Path) -> None:
    problem = tmp_path / "plus_one.py"
    problem.write_text(PROBLEM)
    place = tmp_path / "runs" / "plus_one"
    write(place / "round-1", "x + 1.0", "1 + x", "x - (-1)", "x + 2")
    chosen = {}
    for arm in ("first", "newest"):
        live.carry_on(place, problem, arm, bench, False)
        folder = place / live.letters("plus_one")[arm]
        prompt = (folder / "prompt-2.txt").read_text()
        assert "x + 1" in prompt and "Your turn" in prompt and "Forecast:" not in prompt
        state = load_run(folder / "run")
        assert state.measured == live.PER_ROUND and state.considered == 4
        chosen[arm] = {node.id for node in state.nodes.values() if node.measurement is not None}
    assert not chosen["first"] & chosen["newest"]
    folder = place / live.letters("plus_one")["first"]
    live.carry_on(place, problem, "first", bench, False)
    assert load_run(folder / "run").measured == live.PER_ROUND, "nothing new was written"
    write(folder / "round-2", "torch.add(x, 1)")
    live.carry_on(place, problem, "first", bench, False)
    state = load_run(folder / "run")
    assert state.measured == live.PER_ROUND + 1 and (folder / "prompt-3.txt").exists()


def test_letters_hide_arms_and_differ_between_problems() -> None:
    assert sorted(live.letters("a").values()) == list("abcde") and live.letters("a") == live.letters("a")
    assert len({tuple(live.letters(name).values()) for name in ("a", "b", "c", "d")}) > 1
