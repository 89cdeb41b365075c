"""Tasks of every form with the verbs that need no GPU: forecast, explain; what cannot run is said so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from foretell.kernels.languages.extension import toolchain
from tests.cli.conftest import Invoke

MODEL = """
import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.rand(features))

    def forward(self, x):
        return torch.softmax(x * 2.0 + self.shift, dim=1)


def get_inputs():
    return [torch.rand(256, 1024)]


def get_init_inputs():
    return [1024]
"""
SAME = MODEL.partition("def get_inputs")[0].replace("class Model(", "class ModelNew(")
MODULE = """
import torch

workloads = [{"rows": 256}, {"rows": 1024}]


def inputs(seed, rows):
    return torch.randn(rows, 512), torch.randn(512)


def reference(x, bias):
    return torch.relu(x + bias) * 2.0
"""
GPUMODE = {
    "reference.py": """
import torch
from task import input_t, output_t


def generate_input(size: int, seed: int) -> input_t:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(size, size, device="cuda", generator=generator)


def ref_kernel(data: input_t) -> output_t:
    return data.cumsum(1) + 1.0


def check_implementation(data, output):
    return ""
""",
    "task.py": "input_t = output_t = object\n",
    "task.yml": """files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "reference.py", "source": "reference.py"}
lang: "py"
description: cumulative sums
tests:
  - {"size": 64, "seed": 1}
benchmarks:
  - {"size": 512, "seed": 2}
""",
}
EXTENSION = """
import torch
from torch.utils.cpp_extension import load_inline

source = "torch::Tensor twice(torch::Tensor x, torch::Tensor y) { return x + y; }"
built = load_inline("built", cpp_sources=source.partition("{")[0] + ";", cuda_sources=source, functions=["twice"])


def kernel(x, bias):
    return built.twice(x, bias)
"""
DEFINITION = {
    "name": "scaled_add",
    "op_type": "elementwise",
    "axes": {"n": {"type": "var"}, "d": {"type": "const", "value": 128}},
    "inputs": {
        "x": {"shape": ["n", "d"], "dtype": "float32"},
        "y": {"shape": ["n", "d"], "dtype": "float32"},
    },
    "outputs": {"out": {"shape": ["n", "d"], "dtype": "float32"}},
    "reference": "import torch\n\n\ndef run(x, y):\n    return torch.sigmoid(x) + y\n",
}
WORKLOAD = {
    "definition": "scaled_add",
    "workload": {"axes": {"n": 4096}, "inputs": {"x": {"type": "random"}, "y": {"type": "random"}}, "uuid": "w1"},
}


@pytest.fixture
def forms(own_place: Path) -> dict[str, tuple[str, str]]:
    """A task of every form, and a candidate for it."""
    Path("problem.py").write_text(MODEL)
    Path("new.py").write_text(SAME.replace("* 2.0 + self.shift", ".mul(2.0).add(self.shift)"))
    Path("mine.py").write_text(MODULE)
    Path("kernel.py").write_text("import torch\n\n\ndef kernel(x, bias):\n    return torch.relu(x + bias).mul(2.0)\n")
    Path("softmax.py").write_text(
        "import torch\n\n\ndef kernel(x):\n    return torch.softmax(x.float(), 1).to(x.dtype)\n"
    )
    Path("clamped.py").write_text("def kernel(x, bias):\n    return (x + bias).clamp_min(0.0) * 2.0\n")
    Path("sums").mkdir()
    for name, text in GPUMODE.items():
        Path("sums", name).write_text(text)
    Path("custom.py").write_text("def custom_kernel(data):\n    return data.cumsum(1) + 1.0\n")
    Path("scaled_add.json").write_text(json.dumps(DEFINITION))
    Path("scaled_add.jsonl").write_text(json.dumps(WORKLOAD) + "\n")
    Path("run.py").write_text("import torch\n\n\ndef run(x, y):\n    return y + torch.sigmoid(x)\n")
    return {
        "library": ("softmax", "softmax.py"),
        "kernelbench": ("problem.py", "new.py"),
        "module": ("mine.py", "kernel.py"),
        "gpumode": ("sums", "custom.py"),
        "flashinfer": ("scaled_add.json", "run.py"),
    }


@pytest.fixture
def recorded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings in this process, one at a time: importing torch anew for each takes long."""
    from foretell import forecasting
    from foretell.kernels.cost import recordings
    from foretell.kernels.record import record

    monkeypatch.setattr(recordings, "record_apart", record)
    monkeypatch.setattr(forecasting, "RECORDERS", 1)


def forecast(invoke: Invoke, task: str, *words: str | Path, code: int = 0) -> dict[str, Any]:
    result = invoke("forecast", task, *words, "--device", "h200", "--json")
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_in_processes_of_their_own(forms: dict[str, tuple[str, str]], invoke: Invoke) -> None:
    Path("dies.py").write_text("import os\n\nos._exit(3)\n")
    good, dead = forecast(invoke, "problem.py", "new.py", "dies.py", code=1)["results"]
    assert good["recorded"]["finding"] == "does what the reference does", good
    assert dead["message"].startswith("cannot run: ") and dead["p_fail"] > 0.95


@pytest.mark.usefixtures("recorded_here")
def test_what_cannot_run_is_said_so(forms: dict[str, tuple[str, str]], invoke: Invoke) -> None:
    broken = {
        "raises.py": ("raise RuntimeError('no such thing')\n", "no such thing"),
        "returns.py": ("def kernel(x):\n    return x\n", "returns an input as it came"),
        "signature.py": ("def kernel(x, y):\n    return x + y\n", "missing 1 required positional argument"),
        "shape.py": ("def kernel(x):\n    return x[:, :7] * 2\n", "has the shape 256 x 7"),
        "other.py": (
            "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self, a, b):\n"
            "        super().__init__()\n        self.l = torch.nn.Linear(a, b)\n\n    def forward(self, x):\n"
            "        return self.l(x)\n",
            "missing 1 required positional argument",
        ),
    }
    for name, (source, _) in broken.items():
        Path(name).write_text(source)
    rows = forecast(invoke, "problem.py", *broken, code=1)["results"]
    for row, (_, words) in zip(rows, broken.values(), strict=True):
        assert row["p_fail"] > 0.95 and row["speedup"] is None, row
        assert row["message"].startswith("cannot run: ") and words in row["message"], row
    shown = invoke("forecast", "problem.py", "raises.py", "--device", "h200")
    assert shown.exit_code == 1 and "cannot run  raises.py" in shown.stdout
    assert invoke("explain", "problem.py", "returns.py").exit_code == 1


@pytest.mark.usefixtures("recorded_here")
def test_library_calls_of_several_passes_are_named(forms: dict[str, tuple[str, str]], invoke: Invoke) -> None:
    Path("rows.py").write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.logsumexp(x, dim=1)\n\n\ndef get_inputs():\n    return [torch.randn(8192, 4096)]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    told = invoke("explain", "rows.py").stdout
    assert "logsumexp takes" in told and "times as long as reading and writing its tensors once" in told, told
    assert "times as long" not in invoke("explain", "softmax", "--device", "h200").stdout


@pytest.mark.usefixtures("recorded_here")
def test_shares_of_steps_add_up_to_the_whole(forms: dict[str, tuple[str, str]], invoke: Invoke) -> None:
    Path("two.py").write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.softmax(x, dim=1) + 1.0\n\n\ndef get_inputs():\n    return [torch.randn(64, 256)]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    told = invoke("explain", "two.py").stdout
    shares = [int(share) for share in re.findall(r"^ +(\d+)%  ", told, re.MULTILINE)]
    assert len(shares) == 2 and abs(sum(shares) - 100) <= 1, told
    assert "its steps one by one" in told


@pytest.mark.usefixtures("recorded_here")
def test_a_plain_program_of_torch_is_not_likely_to_fail(forms: dict[str, tuple[str, str]], invoke: Invoke) -> None:
    steps = "e = torch.exp(x - x.amax(dim=1, keepdim=True))\n    return e / e.sum(dim=1, keepdim=True)\n"
    Path("plain.py").write_text(f"import torch\n\n\ndef kernel(x):\n    {steps}")
    [row] = forecast(invoke, "softmax", "plain.py")["results"]
    assert row["forecaster"] == "program", "the trained one knows nothing of torch's own operators"
    assert row["p_fail"] <= 0.05 and row["speedup"] < 0.8, row
    scaled = steps.replace("torch.exp(x", "torch.exp(2.0 * x + self.shift").replace("    return", "        return")
    Path("new.py").write_text(SAME.replace("return torch.softmax(x * 2.0 + self.shift, dim=1)", scaled))
    [row] = forecast(invoke, "problem.py", "new.py")["results"]
    assert row["recorded"]["finding"] == "runs" and row["p_fail"] <= 0.05, row


def test_devices_that_are_not_described(forms: dict[str, tuple[str, str]], invoke: Invoke) -> None:
    for verb in ("forecast", "explain"):
        result = invoke(verb, "problem.py", "new.py", "--device", "h2000")
        assert result.exit_code == 2 and "h200" in result.stderr, result.output


@pytest.mark.usefixtures("recorded_here")
def test_a_missing_compiler_is_not_held_against_a_candidate(
    forms: dict[str, tuple[str, str]], invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("extension.py").write_text(EXTENSION)
    monkeypatch.setattr(toolchain, "nvcc", lambda: None)
    [row] = forecast(invoke, "mine.py", "extension.py")["results"]
    assert row["recorded"]["finding"] == "was not recorded" and "nvcc" in row["recorded"]["sentence"], row
    assert row["p_fail"] < 0.9 and row["builds"] is None, row


@pytest.mark.usefixtures("recorded_here")
def test_nothing_is_held_against_a_candidate_that_lacks_a_package(
    forms: dict[str, tuple[str, str]], invoke: Invoke
) -> None:
    Path("lacking.py").write_text("import a_package_that_is_nowhere\n\n\ndef kernel(x):\n    return x\n")
    Path("same.py").write_text(SAME)
    lacking, same = forecast(invoke, "problem.py", "lacking.py", "same.py")["results"]
    assert lacking["recorded"]["finding"] == "was not recorded" and lacking["p_fail"] < 0.9
    assert "a_package_that_is_nowhere" in lacking["recorded"]["sentence"] and lacking["builds"] is None
    assert same["recorded"]["finding"] == "does what the reference does"
    assert same["p_fail"] < 0.05 and same["speedup"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.usefixtures("recorded_here")
def test_the_reference_s_time_may_be_told(forms: dict[str, tuple[str, str]], invoke: Invoke) -> None:
    slow, fast = (
        forecast(invoke, "mine.py", "clamped.py", "--reference-ms", ms)["results"][0]["speedup"]
        for ms in ("5", "0.005")
    )
    assert slow > 4 * fast
    told = json.loads(invoke("explain", "mine.py", "clamped.py", "--reference-ms", "5", "--json").stdout)
    assert told["reference_us"] == 5000.0


@pytest.mark.usefixtures("recorded_here")
def test_a_task_that_cannot_be_recorded_is_no_candidate_s_fault(own_place: Path, invoke: Invoke) -> None:
    Path("noise.py").write_text(MODEL.replace("x * 2.0", "torch.randn_like(x)"))
    Path("fails.py").write_text("raise RuntimeError('no')\n")
    [row] = forecast(invoke, "noise.py", "fails.py")["results"]
    assert row["recorded"]["finding"] == "was not recorded" and "nondeterministic" in row["recorded"]["sentence"]
    result = invoke("explain", "noise.py")
    assert result.exit_code == 1 and "cannot be recorded: nondeterministic" in result.stdout
