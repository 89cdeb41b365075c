"""Recording a task's reference and candidates, and recordings that travel between processes."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
import zlib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.devices import described
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.limits import PROGRAM
from foretell.kernels.program import VERSION
from foretell.kernels.program_check import check_signature
from foretell.kernels.program_codec import to_bytes
from foretell.kernels.record import Reason, record
from foretell.kernels.record.job import answer, decoded, decoded_all, request, serve
from foretell.kernels.record.replay import replay
from foretell.kernels.tasks import load

PROBLEM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def get_inputs():
    return [torch.rand(32, 64)]


def get_init_inputs():
    return [64, 16]
"""
CANDIDATE = PROBLEM.replace("class Model(", "class ModelNew(").replace("torch.relu(", "torch.relu_(")
H200 = described("h200")


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.py"
    path.write_text(PROBLEM)
    return path


def test_a_problem_file_and_its_candidate(problem: Path) -> None:
    task = load(problem)
    [workload] = task.workloads
    reference, candidate = (record(task, workload, source, "torch", H200) for source in (None, CANDIDATE))
    assert reference.program is not None and candidate.program is not None, (reference.refusal, candidate.refusal)
    names = [weight.name for weight in reference.program.weights]
    assert names[:2] == ["linear.weight", "linear.bias"] and "norm.running_mean" in names
    assert [weight.name for weight in candidate.program.weights] == names
    for recording in (reference, candidate):
        assert recording.program is not None
        check_signature(recording.program, [("float32", (32, 64))], [("float32", (32, 16))])
    kinds = [[call.name for call in r.program.library_calls()] for r in (reference, candidate) if r.program]
    assert kinds[0][0] == "addmm" and kinds[0][-1] == "relu" and kinds[1][-1] == "relu_"


def test_a_recording_travels_as_bytes(problem: Path) -> None:
    task = load(problem)
    question = request(task, task.workloads[0], CANDIDATE, language_of(CANDIDATE), H200)
    recording, again = decoded_all(serve(json.dumps([question, question]).encode()), 2)
    assert again.ok
    here = record(task, task.workloads[0], CANDIDATE, "torch", H200)
    assert recording.program is not None and here.program is not None
    assert to_bytes(recording.program) == to_bytes(here.program)
    reads = "def kernel(x):\n    return x * x.sum().item()\n"
    refused = decoded(answer(request(task, task.workloads[0], reads, "torch", H200)))
    assert refused.refusal is not None and refused.refusal.reason is Reason.DEPENDS_ON_DATA
    first = request(task, task.workloads[0], reads, "torch", H200)
    (only,) = decoded_all(serve(json.dumps([first, question]).encode()), 2)
    assert only.refusal is not None and only.refusal.reason is Reason.DEPENDS_ON_DATA
    (short,) = decoded_all(serve(json.dumps([question]).encode()), 2)
    assert short.refusal is not None and short.refusal.reason is Reason.FORGED


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"{}",
        b'{"programs": [], "refusal": null, "seconds": 0}',
        b'{"programs": ["AAAA"], "refusal": null, "seconds": 0}',
        b'{"programs": [], "refusal": ["because", "x"], "seconds": 0}',
        b'{"programs": 3, "refusal": null, "seconds": "x"}',
        json.dumps({"programs": ["é"], "refusal": None, "seconds": 1}).encode(),
        b"[" * 100_000,
        b'{"programs": [], "refusal": null, "cpu_seconds": 0, "seconds": ' + b"9" * 5000 + b"}",
        json.dumps({"programs": [], "refusal": ["no reason", "\x1b]0;x\x07[red]x[/red]"], "seconds": 1}).encode(),
    ],
)
def test_a_forged_answer_is_a_refusal(answer: bytes) -> None:
    refusal = decoded(answer).refusal
    assert refusal is not None and refusal.reason is Reason.FORGED


def test_a_problem_that_does_not_import_says_so(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(PROBLEM.replace("import torch.nn as nn", "import torch.nn as nn\nimport no_such_package"))
    task = load(path)
    refusal = record(task, task.workloads[0], None, "torch", H200).refusal
    assert refusal is not None and refusal.reason is Reason.TASK and "no_such_package" in refusal.sentence


def test_a_reference_that_changes_its_input_cannot_be_judged_by(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    path.write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, a, x):\n        return x.mul_(2) + a\n"
        "def get_inputs():\n    return [torch.rand(8), torch.rand(8)]\n"
    )
    task = load(path)
    refusal = record(task, task.workloads[0], None, "torch", H200).refusal
    assert refusal is not None and refusal.reason is Reason.TASK and "changes its input 1" in refusal.sentence


def test_inputs_that_are_not_contiguous_are_replayed(tmp_path: Path) -> None:
    path = tmp_path / "strided.py"
    path.write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x, y, b):\n        return x * y + b\n"
        "def get_inputs():\n    x, b = torch.rand(6, 4).t(), torch.rand(1, 6).expand(4, 6)\n"
        "    return [x, torch.rand(4, 12)[:, ::2], b]\n"
    )
    task = load(path)
    program = record(task, task.workloads[0], None, "torch", H200).program
    assert program is not None and program.inputs[2].strides[0] == 0
    x, y, b = torch.rand(6, 4).t(), torch.rand(4, 12)[:, ::2], torch.rand(1, 6).expand(4, 6)
    [got] = replay(program, [x, y, b], {}, "cpu")
    torch.testing.assert_close(got, x * y + b)


def test_a_folder_with_a_generator_on_the_device_and_an_output_to_write(tmp_path: Path) -> None:
    (tmp_path / "task.yml").write_text("tests:\n  - {size: 8}\nbenchmarks:\n  - {size: 64}\n")
    (tmp_path / "reference.py").write_text(
        "import torch\n\n\ndef generate_input(size, seed):\n"
        "    generator = torch.Generator(device='cuda')\n    generator.manual_seed(seed)\n"
        "    x = torch.randn(size, size, device='cuda', generator=generator)\n    return x, torch.empty_like(x)\n\n\n"
        "def ref_kernel(data):\n    x, out = data\n    out[...] = torch.relu(x)\n    return out\n"
    )
    task = load(tmp_path)
    candidate = "import torch\n\n\ndef custom_kernel(data):\n    return torch.clamp(data[0], min=0, out=data[1])\n"
    for source in (None, candidate):
        program = record(task, task.workloads[0], source, "torch", H200).program
        assert program is not None and len(program.inputs) == 2
        assert program.outputs[0].buffer == program.inputs[1].buffer and program.facts["writes_inputs"]


class TestForgedAnswers:
    """A recorder in which foreign code ran may answer anything; whatever it is, it is a refusal and takes no time."""

    def test_a_number_that_is_too_large(self) -> None:
        answer = json.dumps({"programs": [], "refusal": [Reason.FAILED, "words"], "seconds": 10**400})
        refused = decoded(answer.encode()).refusal
        assert refused is not None and refused.reason is Reason.FORGED

    @pytest.mark.parametrize("name", ["seconds", "cpu_seconds"])
    @pytest.mark.parametrize("value", [math.inf, math.nan, -1.0])
    def test_a_time_that_is_none(self, name: str, value: float) -> None:
        plain = {"programs": [], "refusal": [Reason.FAILED, "words"], "seconds": 1.0, "cpu_seconds": 1.0}
        recording = decoded(json.dumps(plain | {name: value}).encode())
        assert recording.refusal is not None and recording.refusal.reason is Reason.FORGED
        assert recording.seconds == recording.cpu_seconds == 0.0

    def test_more_configurations_than_are_recorded(self) -> None:
        answer = json.dumps({"programs": ["AAAA"] * 100_000, "refusal": None, "seconds": 1.0})
        refused = decoded(answer.encode()).refusal
        assert refused is not None and refused.reason is Reason.FORGED and "alternatives" in refused.sentence

    def test_a_description_that_inflates(self) -> None:
        size = PROGRAM.document_bytes + 1
        payload = zlib.compress(struct.pack("<QQ", size, 0) + bytes(size), level=1)
        head = struct.pack("<8sI32sQ", b"FORETELL", VERSION, hashlib.sha256(payload).digest(), len(payload))
        answer = json.dumps({"programs": [base64.b64encode(head + payload).decode()], "refusal": None, "seconds": 1.0})
        refused = decoded(answer.encode()).refusal
        assert refused is not None and refused.reason is Reason.FORGED and "description" in refused.sentence
