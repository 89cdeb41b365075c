"""Every form of task with every verb, without a GPU: the examples, recorded here and measured on a fake device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import foretell as ft
from benchmarks.forms import FORMS, scripted, variants
from foretell.kernels.bench import cpu
from foretell.kernels.bench.gpu import bench as gpu
from foretell.kernels.devices import described
from foretell.testing import FakeBench
from tests.cli.conftest import Invoke

SMALL: dict[str, Any] = {"measurements": 4, "candidates": 12}


@pytest.fixture(autouse=True)
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake devices of both kinds; recordings in this process, since importing torch anew for each takes long."""
    from foretell.kernels.cost import recordings
    from foretell.kernels.record import record

    monkeypatch.setattr(cpu, "CpuBench", lambda: FakeBench(failure_share=0.0))
    monkeypatch.setattr(gpu, "GpuBench", lambda: FakeBench(device=described("h200"), failure_share=0.0))
    monkeypatch.setattr(recordings, "record_apart", record)


def language_of(candidate: Path) -> str:
    return "cpp" if candidate.suffix == ".cpp" else "triton"


@pytest.mark.parametrize("form", FORMS)
def test_without_measuring(form: str, invoke: Invoke) -> None:
    task, candidate = FORMS[form]
    shown = json.loads(invoke("tasks", str(task), "--language", language_of(candidate), "--json").stdout)
    assert shown["contract"] and shown["workloads"] and shown["reference"]
    told = json.loads(invoke("explain", str(task), candidate, "--json").stdout)
    assert told["floor_us"] > 0 and told["least_bytes"] > 0 and told["reference"] and told["candidate"]
    device = () if form == "cpu" else ("--device", "h200")
    result = invoke("forecast", str(task), candidate, *device, "--json")
    assert result.exit_code == 0, result.output
    [row] = json.loads(result.stdout)["results"]
    assert row["p_fail"] < 0.3 and row["speedup"] > 0.2, row
    if form != "cpu":
        assert row["recorded"]["finding"] == "runs"
        rate = "the rate of triton kernels whose recording shows nothing wrong"
        assert row["forecaster"] == ("features" if form == "library" else "program")
        assert (rate in row["p_fail_basis"]) == (row["forecaster"] == "program"), row
        assert (rate in invoke("forecast", str(task), candidate, *device).stdout) == (row["forecaster"] == "program")
        assert len(invoke("explain", str(task), candidate).stdout.splitlines()) >= 5


@pytest.mark.parametrize("form", FORMS)
def test_measuring_and_searching(form: str, invoke: Invoke) -> None:
    task, candidate = FORMS[form]
    language = language_of(candidate)
    usual = form in ("library", "kernelbench", "cpu")  # recording every candidate of every form would take long
    settings = SMALL if usual else {**SMALL, "forecaster": "roofline"}
    assert ft.measure(task, candidate).ok
    run = ft.search(task, language=language, proposer=scripted(candidate), run="runs/mine", **settings)
    assert run.best is not None and run.best.verified and run.state.measured == 4
    if usual:
        expected = "online:program" if form == "kernelbench" else "online"
        assert run.state.config["forecaster"] == expected, "a problem's kernels are forecast by their recordings"
    assert invoke("report", "runs/mine", "-o", "page.html").exit_code == 0 and Path("page.html").exists()
    warm = ft.search(task, language=language, proposer="warm:alone", run="runs/warm", **settings)
    assert run.best.id in warm.state.nodes and warm.state.reused == warm.state.measured > 0

    started = invoke("ask", "runs/told", "--task", str(task), "--language", language, "--measurements", "2",
                     *(() if usual else ("--forecaster", "roofline")), "--json")  # fmt: skip
    assert started.exit_code == 0, started.output
    question = json.loads(started.stdout)
    assert "0 bytes moved" not in question["prompt"][-1]["content"], "the work is that of the recorded reference"
    Path(f"written{candidate.suffix}").write_text(next(variants(candidate)))
    told = invoke("tell", "runs/told", f"written{candidate.suffix}", "--parent", question["parent"]["id"], "--json")
    assert told.exit_code == 0, told.output
    if language == "triton":
        Path("extension.py").write_text("from torch.utils.cpp_extension import load_inline\n" + candidate.read_text())
        Path("plain.py").write_text(candidate.read_text().replace("triton", "torch").replace("@torch.jit", ""))
        told = invoke("tell", "runs/told", "extension.py", "plain.py", "--json")
        taken = form != "library"
        assert (told.exit_code != 2) == taken, "a problem of one's own takes programs in any kind of Python"
    assert invoke("tell", "runs/told", "--finish").exit_code in (0, 1)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "library"])
def test_collecting_and_judging(form: str, invoke: Invoke) -> None:
    pytest.importorskip("pyarrow")
    task, candidate = FORMS[form]
    files = []
    for number, text in enumerate(variants(candidate)):
        files += ["--candidate", f"{number}{candidate.suffix}"]
        Path(files[-1]).write_text(text)
    planned = invoke("data", "plan", "--task", str(task), *files, "--out", "plan.gz")
    assert planned.exit_code == 0, planned.output
    collected = json.loads(invoke("collect", "plan.gz", "--into", "found.sqlite", "--json").stdout)
    assert collected["measured"] == len(files) // 2 and collected["left"] == 0
    kind = "cpu" if form == "cpu" else "gpu"
    rows = json.loads(invoke("data", "import", "found.sqlite", "--data", "mine", "--json").stdout)["rows"]
    assert rows == {f"problems_{kind}": collected["measured"]}
    words = ("--data", f"mine/problems_{kind}.parquet", "--forecaster", "roofline", "--resamples", "2", "--json")
    judged = invoke("eval", *words)
    assert judged.exit_code == 0, judged.output
    [result] = json.loads(judged.stdout)["results"]
    assert result["candidates"] == collected["measured"] and result["operations"] == 1
    again = json.loads(invoke("collect", "plan.gz", "--into", "new.sqlite", "--corpus", "mine", "--json").stdout)
    assert again["measured"] == 0 and again["known"] == collected["measured"]


def test_what_is_measured_anyway_is_not_recorded_for_a_forecast() -> None:
    """Recording every variation of a given kernel would cost more than it tells: all of them are measured."""
    task, candidate = FORMS["kernelbench"]
    with ft.new_run(task, language="triton", start=candidate, keep=False, **SMALL) as run:
        assert run.parts.policy.name == "all" and run.parts.forecaster.name == "online"
