"""docs/quickstart.md does what it says: its CPU part on a fake bench, and in full tests on the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.page_blocks import steps
from benchmarks.quickstart_gpu import HEADING, PAGE
from foretell.kernels.search import load_run
from tests.cli.conftest import FakeBench, Invoke
from tests.cli.test_real import needs_compiler

PARSED_ONLY = ("measure", "search", "report")  # on a GPU


def follow(invoke: Invoke, heading: str, without: tuple[str, ...] = ()) -> list[str]:
    """Write the files and run the commands below a heading; the commands that were run."""
    done = []
    for step in steps(PAGE, heading):
        if step.name:
            Path(step.name).write_text(step.text)
            continue
        assert step.command[0] == "foretell"
        if step.command[1] in without:
            continue
        result = invoke(*step.command[1:])
        assert result.exit_code == 0, (step.command, result.output)
        done.append(step.command[1])
    return done


def test_on_a_fake_cpu(bench: FakeBench, invoke: Invoke) -> None:
    verbs = follow(invoke, "On a CPU")
    assert verbs == ["tasks", "explain", "measure", "search", "report", "ask", "tell", "tell"]
    assert Path("runs/tuned/report.html").exists() and load_run(Path("runs/tuned")).measured > 1


@pytest.mark.full
@needs_compiler
def test_on_the_real_cpu(invoke: Invoke) -> None:
    follow(invoke, "On a CPU")
    state = load_run(Path("runs/tuned"))
    assert state.best is not None and state.shown_faster, "the kernel of the page is faster than its reference"


def test_before_the_gpu_is_there(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    from foretell.kernels.cost import recordings
    from foretell.kernels.record import record

    monkeypatch.setattr(recordings, "record_apart", record)  # in this process: importing torch anew takes long
    assert follow(invoke, HEADING, PARSED_ONLY) == ["explain", "forecast"]


def test_a_page_without_the_heading() -> None:
    with pytest.raises(ValueError, match="no heading 'On a TPU'"):
        list(steps(PAGE, "On a TPU"))
