"""FlashInfer-Bench: definitions with workloads as tasks, solutions as candidates."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Status
from foretell.kernels.tasks import BadTask, Refusal, from_spec, load
from foretell.kernels.tasks.solution import BadSolution, module_of
from tests.kernels.tasks.test_sources import refusal, write

DEFINITION: dict[str, Any] = {
    "name": "scaled_h8",
    "op_type": "scaling",
    "description": "x times weight times factor.",
    "axes": {"batch": {"type": "var"}, "hidden": {"type": "const", "value": 8}},
    "inputs": {
        "x": {"shape": ["batch", "hidden"], "dtype": "float32"},
        "weight": {"shape": ["hidden"], "dtype": "float32"},
        "factor": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["batch", "hidden"], "dtype": "float32"}},
    "reference": "def run(x, weight, factor):\n    return {'y': x * weight * factor}\n",
}
SCALAR = {"type": "scalar", "value": 2.0}


def workload(batch: int, **inputs: Any) -> dict[str, Any]:
    entry = {"uuid": f"w{batch}", "axes": {"batch": batch}, "inputs": {"factor": SCALAR, **inputs}}
    return {"definition": "scaled_h8", "workload": entry, "solution": None, "evaluation": None}


def dataset(where: Path, workloads: list[dict[str, Any]], **changes: Any) -> Path:
    lines = "".join(json.dumps(each) + "\n" for each in workloads)
    write(where / "workloads" / "scaling" / "scaled_h8.jsonl", lines)
    return write(where / "definitions" / "scaling" / "scaled_h8.json", json.dumps({**DEFINITION, **changes}))


def safetensors(path: Path, values: list[float], dtype: str = "F32") -> Path:
    data = struct.pack(f"{len(values)}f", *values)
    header = json.dumps({"w": {"dtype": dtype, "shape": [len(values)], "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


TIMES = "def run(x, weight, factor):\n    return x * weight * factor\n"


def solution(content: str, helper: str = "", **spec: Any) -> str:
    about = {"language": "python", "entry_point": "main.py::run", "destination_passing_style": False, **spec}
    sources = [{"path": "main.py", "content": content}] + [{"path": "helper.py", "content": helper}] * bool(helper)
    return json.dumps({"name": "s", "definition": "scaled_h8", "author": "a", "spec": about, "sources": sources})


class TestDefinition:
    def test_a_definition_with_its_workloads(self, tmp_path: Path) -> None:
        task = load(dataset(tmp_path, [workload(16), workload(2), workload(16)]))
        assert task.kind == "flashinfer" and task.name == "scaled_h8" and task.family == "scaling"
        assert [w.name for w in task.workloads] == ["batch=2", "batch=16"]
        assert [(t.name, t.shape) for t in task.inputs][:2] == [("x", ("batch", "hidden")), ("weight", ("hidden",))]
        assert task.least_bytes(task.workloads[0].sizes) == 4 * (2 * 8 + 8 + 1 + 2 * 8)
        assert from_spec(task.spec) == task

    def test_a_long_list_is_sampled_from_small_to_large(self, tmp_path: Path) -> None:
        task = load(dataset(tmp_path, [workload(n) for n in range(1, 40)]))
        assert [w.sizes["batch"] for w in task.workloads] == [1, 9, 16, 24, 31, 39]
        assert len(task.extra) == 4 and "6 of 39 workloads" in task.summary

    def test_workloads_beside_the_definition(self, tmp_path: Path) -> None:
        write(tmp_path / "own.jsonl", json.dumps({"axes": {"batch": 3}, "inputs": {}}) + "\n")
        assert load(write(tmp_path / "own.json", json.dumps(DEFINITION))).workloads[0].sizes["batch"] == 3

    @pytest.mark.parametrize(
        ("changes", "reason", "says"),
        [
            ({"reference": "def go():\n    pass\n"}, Refusal.NOT_A_TASK, "does not define run"),
            ({"reference": "def run(:\n"}, Refusal.NOT_READABLE, "not valid Python"),
            ({"reference": 3}, Refusal.NOT_A_TASK, "without the name and reference"),
            ({"axes": {"batch": {"type": "odd"}}}, Refusal.NOT_A_TASK, "the axis batch"),
            (
                {"inputs": {"x": {"shape": ["n"], "dtype": "int8"}}},
                Refusal.NOT_A_TASK,
                "an axis that is not there",
            ),
            ({"inputs": {"x": {"shape": [], "dtype": "float4_e2m1"}}}, Refusal.NOT_RUNNABLE, "float4_e2m1"),
            ({"outputs": {}}, Refusal.NOT_A_TASK, "no outputs"),
            ({"outputs": {"y": {"shape": None, "dtype": "float32"}}}, Refusal.ODD_OUTPUTS, "is a number"),
        ],
    )
    def test_bad_definitions_are_refused(
        self, tmp_path: Path, changes: dict[str, Any], reason: Refusal, says: str
    ) -> None:
        error = refusal(dataset(tmp_path, [workload(2)], **changes))
        assert error.reason is reason and says in error.what, error.what

    def test_bad_workloads_are_refused(self, tmp_path: Path) -> None:
        absent = {"type": "safetensors", "path": "blob/w.safetensors", "tensor_key": "w"}
        error = refusal(dataset(tmp_path, [workload(2, weight=absent)]))
        assert error.reason is Refusal.NOT_FOUND and "w.safetensors, which is not there" in error.what
        assert "type random, scalar" in refusal(dataset(tmp_path, [workload(2, weight={"type": "odd"})])).expected
        assert refusal(dataset(tmp_path, [])).reason is Refusal.NO_WORKLOADS
        assert "line 1" in refusal(dataset(tmp_path, [{"workload": 3}])).what
        assert "sets none of the axes batch" in refusal(dataset(tmp_path, [{"axes": {}}])).what

    def test_other_json_is_refused(self, tmp_path: Path) -> None:
        assert "is a solution" in refusal(write(tmp_path / "s.json", solution("x = 1"))).what
        assert refusal(write(tmp_path / "l.json", "[1]")).reason is Refusal.NOT_A_TASK
        assert refusal(write(tmp_path / "j.json", "{")).reason is Refusal.NOT_READABLE


torch = pytest.importorskip("torch")

from foretell.kernels.tasks.runtime import runtime_of
from tests.kernels.bench.gpu.host import judge_of


class TestRunning:
    def test_inputs_are_drawn_given_or_read(self, tmp_path: Path) -> None:
        safetensors(tmp_path / "w.safetensors", [float(k) for k in range(8)])
        stored = {"type": "safetensors", "path": "w.safetensors", "tensor_key": "w"}
        task = load(dataset(tmp_path, [workload(4, weight=stored)]))
        runtime = runtime_of(task)
        x, weight, factor = runtime.inputs(task.workloads[0], 3, "cpu")
        assert x.shape == (4, 8) and weight.tolist() == list(range(8)) and factor == 2.0
        assert torch.equal(runtime.expected([x, weight, factor], "cpu")[0], x * weight * 2.0)

    @pytest.mark.parametrize("damage", ["short", "header", "other"])
    def test_damaged_data_is_refused(self, tmp_path: Path, damage: str) -> None:
        path = safetensors(tmp_path / "w.safetensors", [0.0] * (7 if damage == "other" else 8))
        if damage != "other":
            path.write_bytes(path.read_bytes()[:-5] if damage == "short" else b"\xff" * 64)
        stored = {"type": "safetensors", "path": "w.safetensors", "tensor_key": "w"}
        task = load(dataset(tmp_path, [workload(4, weight=stored)]))
        with pytest.raises(BadTask) as caught:
            runtime_of(task).inputs(task.workloads[0], 3, "cpu")
        assert caught.value.reason in (Refusal.NOT_READABLE, Refusal.ODD_INPUTS)

    @pytest.mark.parametrize(
        "text",
        [
            solution(TIMES),
            solution("def run(x, weight, factor):\n    return {'y': x * weight * factor}\n"),
            solution(
                "def run(x, weight, factor, y):\n    y.copy_(x * weight * factor)\n", destination_passing_style=True
            ),
            solution("def kernel(x, w, f):\n    return x * w * f\n", entry_point="main.py::kernel"),
            solution("from helper import run as go\n\n\ndef run(*given):\n    return go(*given)\n", helper=TIMES),
        ],
        ids=["returns", "returns a dict", "writes", "other name", "two files"],
    )
    def test_solutions_are_measured(self, tmp_path: Path, text: str) -> None:
        task = load(dataset(tmp_path, [workload(64)]))
        judge, _ = judge_of(task)
        outcome = judge.judge(Candidate(task.key, "torch", module_of(text, task)))
        assert outcome.status is Status.OK, outcome.message

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("{", "is not a solution"),
            (solution("x", language="cuda"), "tvm-ffi"),
            (solution("x", entry_point="other.py::run"), "not among the sources"),
            (solution("x").replace("scaled_h8", "other"), "is for other"),
            (solution("x").replace('"path": "main.py"', '"path": "../main.py"'), "not among the sources"),
        ],
    )
    def test_other_solutions_are_refused(self, tmp_path: Path, text: str, says: str) -> None:
        task = load(dataset(tmp_path, [workload(4)]))
        with pytest.raises(BadSolution, match=says):
            module_of(text, task)
