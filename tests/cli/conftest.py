"""What the command line's tests share: a place of their own, a bench that costs nothing, and a runner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from foretell.cli.app import app
from foretell.kernels.bench import cpu
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.protocols import Build
from foretell.kernels.task import Task
from tests.report.synthetic import DEVICE, METHOD

Invoke = Callable[..., Result]


class FakeBench:
    """Speedups by the candidate's id; sources that say WRONG, BROKEN (does not build) or DISTURBED are that."""

    def __init__(self, device: Device = DEVICE) -> None:
        self.device = device
        self.interrupt_at: int | None = None

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        broken = Build(Status.COMPILE_ERROR, "kernel.cpp:1:1: error: 'BROKEN' was not declared")
        return [broken if "BROKEN" in c.source else Build(Status.OK, "", {"instructions": 50.0}) for c in candidates]

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        for candidate, build in zip(candidates, self.build(task, candidates), strict=True):
            if self.interrupt_at is not None:
                self.interrupt_at -= 1
                if self.interrupt_at < 0:
                    raise KeyboardInterrupt
            yield candidate, self._judge(task, candidate, build)

    def _judge(self, task: Task, candidate: Candidate, build: Build) -> Measurement:
        if not build.ok:
            return Measurement(build.status, build.message)
        if "WRONG" in candidate.source:
            return Measurement(Status.WRONG, "output 'out' at rows=3 cols=1: 3 of 3 values are wrong")
        ratio = 0.5 + int(candidate.likeness[:4], 16) / 16384
        timings = tuple(
            Timing(w.name, (100.0, 101.0), (100 / ratio, 101 / ratio), ratio, ratio * 0.98, ratio * 1.02)
            for w in task.workloads
        )
        cost = Cost(0.1, 0.01, 0.2)
        busy = {"load": 9.0, "cores": 2, "others": 0.8, "disturbed": True}
        return Measurement(
            Status.OK, "", ratio, ratio * 0.98, ratio * 1.02, timings, False, cost, METHOD, self.device.id,
            busy if "DISTURBED" in candidate.source else {},
        )  # fmt: skip

    def close(self) -> None:
        return None


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory and a cache that no other test sees, and lines wide enough not to be wrapped."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return work


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> FakeBench:
    """A fake bench in the place of the CPU's."""
    fake = FakeBench()
    monkeypatch.setattr(cpu, "CpuBench", lambda: fake)
    return fake


@pytest.fixture
def invoke() -> Invoke:
    """Run a command in this process. A traceback is never an answer."""

    def run(*arguments: str | Path) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture(scope="session")
def real_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built objects of the runs that use the real bench, shared between them."""
    return tmp_path_factory.mktemp("cache")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "foretell.cli", *arguments]


def environment(cache: Path, **changes: str) -> dict[str, str]:
    return {**os.environ, "FORETELL_CACHE": str(cache), "COLUMNS": "200", **changes}


def real(cache: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, with the real bench."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, env=environment(cache, **changes), timeout=250, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
