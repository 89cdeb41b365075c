"""Tasks from every source: read without being executed, rebuilt from their specs, refused with a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from foretell.kernels.library import UnknownTask, get, tasks
from foretell.kernels.task import Workload
from foretell.kernels.tasks import BadTask, Refusal, from_spec, gpumode, load
from foretell.kernels.tasks.gpumode import read_yaml

EXAMPLES = Path(__file__).parents[3] / "examples"
PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.rand(4)]
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(reference: Path | str) -> BadTask:
    with pytest.raises(BadTask) as caught:
        load(reference)
    assert caught.value.what and caught.value.expected
    return caught.value


class TestLibrary:
    def test_a_name_is_a_task_at_the_sizes_of_the_device(self) -> None:
        assert load("softmax") is get("softmax") and load("softmax", "gpu") is get("softmax", "gpu")

    def test_an_unknown_name_suggests_others(self) -> None:
        with pytest.raises(UnknownTask, match="did you mean softmax"):
            load("sofmax")

    def test_a_name_wins_over_a_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("softmax").mkdir()
        assert load("softmax") is get("softmax")
        assert refusal("./softmax").reason is refusal(Path("softmax")).reason is Refusal.NOT_A_TASK

    @pytest.mark.parametrize("kind", ["cpu", "gpu"])
    def test_identities_are_distinct_and_survive_the_spec(self, kind: str) -> None:
        known = tasks(kind)
        assert len({task.identity for task in known.values()}) == len(known)
        for task in known.values():
            again = from_spec(task.spec)
            assert again.identity == task.identity and again.key == task.name == again.name

    def test_other_sizes_are_another_task_that_survives_the_spec(self) -> None:
        task = get("softmax", "gpu")
        small = replace(task, workloads=(Workload({"rows": 2, "cols": 3}),))
        assert small.identity != task.identity
        assert from_spec(small.spec).workloads == small.workloads


class TestKernelBench:
    def test_the_example_is_read_as_it_is(self) -> None:
        task = load(EXAMPLES / "kernelbench" / "gelu_problem.py")
        again = from_spec(task.spec)
        assert task.kind == "kernelbench" and task.device_kind == "gpu" and task.library_calls
        assert [workload.name for workload in again.workloads] == ["as published"] and not again.extra
        assert again.identity == task.identity and again.references == task.references

    def test_equal_names_with_other_texts_are_other_tasks(self, tmp_path: Path) -> None:
        first = load(write(tmp_path / "a" / "problem.py", PROBLEM))
        second = load(write(tmp_path / "b" / "problem.py", PROBLEM.replace("+ 1", "+ 2")))
        moved = load(write(tmp_path / "c" / "renamed.py", PROBLEM))
        assert first.name == second.name and first.key != second.key
        assert moved.key == first.key

    def test_a_name_of_the_library_is_not_taken_for_it(self, tmp_path: Path) -> None:
        task = load(write(tmp_path / "softmax.py", PROBLEM))
        assert task.name == "softmax" and task.key != "softmax"

    def test_reading_executes_nothing(self, tmp_path: Path) -> None:
        mark = tmp_path / "executed"
        load(write(tmp_path / "problem.py", f"open({str(mark)!r}, 'w').close()\n{PROBLEM}"))
        assert not mark.exists()

    @pytest.mark.parametrize(
        ("text", "reason", "says"),
        [
            ("x = 1\n", Refusal.NOT_A_TASK, "is not a task"),
            ("def f(:\n", Refusal.NOT_READABLE, "not valid Python"),
            ("x = '\0'\n", Refusal.NOT_READABLE, "not valid Python"),
            (PROBLEM.replace("get_inputs", "inputs_of"), Refusal.NO_INPUTS, "does not define get_inputs"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path: Path, text: str, reason: Refusal, says: str) -> None:
        error = refusal(write(tmp_path / "problem.py", text))
        assert error.reason is reason and says in error.what

    def test_what_is_no_file_is_refused(self, tmp_path: Path) -> None:
        assert refusal(tmp_path / "absent.py").reason is Refusal.NOT_FOUND
        (tmp_path / "link.py").symlink_to(write(tmp_path / "problem.py", PROBLEM))
        assert "a symbolic link" in refusal(tmp_path / "link.py").what
        (tmp_path / "binary.py").write_bytes(b"\xff\xfe")
        assert refusal(tmp_path / "binary.py").reason is Refusal.NOT_READABLE


REFERENCE = """
from utils import make_match_reference
import torch
from task import input_t


def ref_kernel(data):
    return data * 2


def generate_input(size, seed):
    return torch.ones(size)


check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=2e-4)
"""
LISTED = """
# name: doubled
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - name: task.py
    source: task.py
lang: "py"
description: |
  Twice each number.

  More about it.
templates:
  Python: "template.py"
tests:
  - {"size": 4, "seed": 1}
  - {"size": 9, "seed": 2}
  - size: 5
    seed: 3
benchmarks:
  - {"size": 9, "seed": 2}
  - size: 16
    shape: [1, 2]
    case: "band"
    contention: 0.5
    seed: 7
  - {size: 9, seed: 4}
test_timeout: 180
"""


def folder(where: Path, listed: str = LISTED, reference: str = REFERENCE) -> Path:
    write(where / "doubled" / "reference.py", reference)
    write(where / "doubled" / "task.py", "input_t = int\n")
    write(where / "utils.py", "def make_match_reference(kernel, **limits):\n    return kernel\n")
    return write(where / "doubled" / "task.yml", listed).parent


LAUGHS = "a0: &a0 [1]\n" + "".join(f"a{k + 1}: &a{k + 1} [{', '.join([f'*a{k}'] * 9)}]\n" for k in range(30))
LAUGHS += "benchmarks:\n  - {size: 2, more: *a30}\n"


class TestGpuMode:
    def test_the_example_is_read_as_it_is(self) -> None:
        task = load(EXAMPLES / "gpumode")
        assert [w.name for w in task.workloads] == ["size=2048", "size=8192"] and len(task.extra) == 2
        assert from_spec(task.spec) == task

    def test_a_folder_as_people_write_it(self, tmp_path: Path) -> None:
        task = load(folder(tmp_path))
        assert [w.name for w in task.workloads] == ["size=9", "size=16 shape=[1,2] case=band contention=0.5"]
        assert task.workloads[1].arguments == {"shape": [1, 2], "case": "band", "contention": 0.5}
        assert [w.name for w in task.extra] == ["size=4", "size=5"]
        assert set(task.files) == {"reference.py", "utils.py", "task.py"}
        assert task.summary == "Twice each number."
        assert (task.tolerance.relative, task.tolerance.absolute) == (1e-3, 2e-4)
        assert task.name == "doubled" and load(tmp_path / "doubled" / "reference.py") == task

    def test_what_lies_beside_the_reference_is_part_of_the_identity(self, tmp_path: Path) -> None:
        task = load(folder(tmp_path))
        write(tmp_path / "utils.py", "def make_match_reference(kernel, **limits):\n    return None\n")
        assert load(tmp_path / "doubled").identity != task.identity

    @pytest.mark.parametrize(
        ("listed", "reason", "says"),
        [
            ("tests: []\n", Refusal.NO_WORKLOADS, "nothing under 'benchmarks'"),
            ("benchmarks: 3\n", Refusal.NO_WORKLOADS, "not a list of mappings"),
            ("benchmarks:\n  - {size: 2024-01-01}\n", Refusal.NO_WORKLOADS, "not plain"),
            ("benchmarks:\n  - &a {size: 2, more: [*a]}\n", Refusal.NOT_READABLE, "part of"),
            (LAUGHS, Refusal.NOT_READABLE, "aliases stand for too much"),
            ("benchmarks: [\n", Refusal.NOT_READABLE, "not valid YAML"),
            ("- 1\n", Refusal.NOT_READABLE, "not a mapping"),
            ("x: !!python/object/apply:os.system ['true']\n", Refusal.NOT_READABLE, "not valid YAML"),
        ],
    )
    def test_bad_lists_are_refused(self, tmp_path: Path, listed: str, reason: Refusal, says: str) -> None:
        error = refusal(folder(tmp_path, listed))
        assert error.reason is reason and says in error.what

    def test_a_folder_without_a_list_is_refused(self, tmp_path: Path) -> None:
        where = folder(tmp_path)
        (where / "task.yml").unlink()
        assert refusal(where).reason is Refusal.NO_WORKLOADS
        (where / "reference.py").unlink()
        assert refusal(where).reason is Refusal.NOT_A_TASK

    def test_other_files_are_not_read(self, tmp_path: Path) -> None:
        secret = write(tmp_path / "secret.txt", "x = 1\n")
        link = tmp_path / "doubled" / "linked.py"
        where = folder(tmp_path, LISTED.replace("source: task.py", f"source: {secret}"))
        assert "task.py" not in load(where).files
        link.symlink_to(secret)
        folder(tmp_path, LISTED.replace("source: task.py", "source: linked.py"))
        assert refusal(where).reason is Refusal.NOT_FOUND

    def test_entries_without_arguments(self) -> None:
        task = gpumode.from_texts({"reference.py": REFERENCE}, "x", read_yaml("benchmarks: [{seed: 1}]", "x"))
        assert [w.name for w in task.workloads] == ["as published"]
