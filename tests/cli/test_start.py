"""`search --start`: a given kernel is tuned without a language model; on a fake device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from foretell.kernels.bench import cpu
from foretell.kernels.bench.gpu import bench as gpu
from foretell.kernels.devices import described
from foretell.kernels.search import load_run
from foretell.testing import FakeBench
from tests.cli.conftest import Invoke
from tests.kernels.propose.knobs.sources import CUDA

WRITTEN = Path("benchmarks/acceptance/triton").resolve()
PROBLEM, KERNEL = WRITTEN / "42_cumsum_rows.problem.py", WRITTEN / "42_cumsum_rows.kernel.py"
PLAIN = ("--forecaster", "roofline", "--measurements", "9")


@pytest.fixture(autouse=True)
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "CpuBench", lambda: FakeBench(failure_share=0.0))
    monkeypatch.setattr(gpu, "GpuBench", lambda: FakeBench(device=described("h200"), failure_share=0.0))


def test_a_problem_without_templates_is_searched_from_a_kernel(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("search", PROBLEM, "--start", KERNEL, *PLAIN, "--run", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "given kernel" in result.stdout
    document = json.loads(invoke("search", "--resume", tmp_path / "run", "--json").stdout)
    assert document["config"]["proposer"] == "knobs" and document["config"]["language"] == "triton"
    assert document["measured"] == 9 and document["over_start"]["speedup"] > 0
    first, second, *_ = load_run(tmp_path / "run").nodes.values()
    assert first.candidate.source == KERNEL.read_text()
    assert set(second.candidate.origin.detail["knobs"]) == {"BLOCK", "num_warps", "maxnreg", "loop", "used_once"}
    assert "iven kernel" in (tmp_path / "run" / "report.html").read_text()
    more = invoke("search", "--resume", tmp_path / "run", "--measurements", "12", "--json")
    assert json.loads(more.stdout)["measured"] == 12


def test_what_the_budget_leaves_unmeasured_is_not_said_to_be_dropped_on_its_forecast(
    invoke: Invoke, tmp_path: Path
) -> None:
    budget = ("--forecaster", "roofline", "--measurements", "7")
    result = invoke("search", PROBLEM, "--start", KERNEL, *budget, "--run", tmp_path / "run")
    left = load_run(tmp_path / "run").dropped
    assert left > 0
    assert f"0 trusted on their forecast, {left} dropped ({left} of them past the budget)" in result.stdout


def test_from_python(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"forecaster": "roofline", "measurements": 6, "keep": False}
    run = ft.search(PROBLEM, start=KERNEL, **settings)
    assert run.best is not None and run.best.over_start is not None
    assert next(iter(run.state.nodes.values())).candidate.source == KERNEL.read_text()
    text = ft.search(PROBLEM, start=KERNEL.read_text(), **settings)
    assert text.state.measured == 6


def test_a_task_with_templates_can_start_from_a_kernel_too(invoke: Invoke, tmp_path: Path) -> None:
    source = "#define TILE 64\n" + ft.task("softmax").references["cpp"]
    (tmp_path / "mine.cpp").write_text(source)
    for proposer in ("knobs", "template"):
        result = invoke("search", "softmax", "--start", tmp_path / "mine.cpp", "--proposer", proposer, *PLAIN, "--json")
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        assert document["config"]["proposer"] == proposer and document["config"]["start"]["source"] == source


def test_the_winner_of_a_bare_cuda_file_is_one(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(f"#include <torch/extension.h>\n{CUDA}\ntorch::Tensor entry(torch::Tensor x);\n")
    result = invoke("search", PROBLEM, "--start", tmp_path / "mine.cu", *PLAIN, "--run", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.output
    best = json.loads(result.stdout)["best"]
    assert best["file"] == str(tmp_path / "run" / "best.cu") and "__global__" in Path(best["file"]).read_text()


def test_a_function_that_writes_candidates_begins_with_the_start(tmp_path: Path) -> None:
    prompts: list[str] = []

    def writer(prompt: str) -> str:
        prompts.append(prompt)
        return f"```python\n{KERNEL.read_text()}\n# {len(prompts)}\n```"

    run = ft.search(PROBLEM, start=KERNEL, proposer=writer, forecaster="roofline", measurements=3, keep=False)
    assert next(iter(run.state.nodes.values())).candidate.source == KERNEL.read_text()
    assert any("def cumsum_kernel" in prompt for prompt in prompts)


def test_what_cannot_be_tuned_is_said(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n")
    result = invoke("search", PROBLEM, "--start", tmp_path / "plain.py", *PLAIN)
    assert result.exit_code == 2 and "no tunable constant is found in the kernel to start from" in result.output
    said = " ".join(result.output.split())
    assert "do: give a number such a name (constexpr int UNROLL = 4" in said and "foretell ask RUN --task FILE" in said
    result = invoke("search", PROBLEM, "--start", tmp_path / "absent.py", *PLAIN)
    assert result.exit_code == 2 and "there is no file" in result.output
    result = invoke("search", PROBLEM, "--proposer", "knobs", "--language", "triton", *PLAIN)
    assert result.exit_code == 2 and "--start" in result.output
    result = invoke("search", PROBLEM, "--start", KERNEL, "--language", "cuda", *PLAIN)
    assert result.exit_code == 2 and "is triton, not cuda" in result.output
