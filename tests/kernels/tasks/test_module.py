"""The plain form of a task, `reference` and `inputs`: for a GPU with torch, for the CPU with numpy and C++."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from foretell.kernels.bench.cpu import CpuBench
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Status
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.tasks import BadTask, Refusal, from_spec, load
from foretell.kernels.tasks.cpu import dimension, draw
from tests.kernels.tasks.test_sources import EXAMPLES, refusal, write

needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler on this machine"
)
GPU = "def inputs(seed):\n    return [seed]\n\n\ndef reference(x):\n    return x\n"
CPU = '''"""Twice each number."""

import numpy as np

workloads = [{"n": 3000}]
extra = [{"n": 7}]
cpp = """
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = 2 * x[i];
}
"""


def inputs(seed, n):
    return np.random.default_rng(seed).random(n, dtype=np.float32)


def reference(x):
    return 2 * x
'''


class TestReading:
    def test_the_ten_lines_of_the_example(self) -> None:
        task = load(EXAMPLES / "tasks" / "softmax_bias.py")
        assert task.kind == "module" and task.device_kind == "gpu" and task.name == "softmax_bias"
        assert [w.name for w in task.workloads] == ["as given"] and not task.extra
        assert task.summary.startswith("Softmax of each row") and from_spec(task.spec) == task

    def test_workloads_and_tolerance_are_read_without_executing(self, tmp_path: Path) -> None:
        mark = tmp_path / "executed"
        text = f"open({str(mark)!r}, 'w').close()\nN = 1 << 10\nworkloads = [{{'n': 4 * N, 'mode': 'a'}}, {{'n': N}}]\n"
        task = load(write(tmp_path / "op.py", text + "extra = ({'n': 3},)\ntolerance = 1e-3, 0\n" + GPU))
        assert [w.name for w in task.workloads] == ["n=4096 mode=a", "n=1024"] and task.extra[0].sizes == {"n": 3}
        assert (task.tolerance.relative, task.tolerance.absolute) == (1e-3, 0.0)
        assert not mark.exists()

    @pytest.mark.parametrize(
        ("text", "reason", "says"),
        [
            (GPU.replace("def inputs", "def input_of"), Refusal.NO_INPUTS, "does not define the function inputs"),
            (GPU.replace("def reference", "def f"), Refusal.NOT_A_TASK, "does not define the function reference"),
            ("workloads = [dict(n=1)]\n" + GPU, Refusal.NOT_READABLE, "workloads of op is not a literal"),
            ("workloads = [3]\n" + GPU, Refusal.NO_WORKLOADS, "not a list of dicts"),
            ("tolerance = 1e-3\n" + GPU, Refusal.NOT_A_TASK, "not two numbers"),
            ("tolerance = (-1, 0)\n" + GPU, Refusal.NOT_A_TASK, "not two numbers"),
            ("cpp = 3\n" + GPU, Refusal.NOT_A_TASK, "cpp of op is not a text"),
            ("cpp = 'absent.cpp'\n" + GPU, Refusal.NOT_FOUND, "absent.cpp"),
            ("workloads = [{'n': 9 ** 9 ** 9}]\n" + GPU, Refusal.NOT_READABLE, "not a literal"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path: Path, text: str, reason: Refusal, says: str) -> None:
        error = refusal(write(tmp_path / "op.py", text))
        assert error.reason is reason and says in error.what, error.what


class TestSizes:
    def test_sizes_of_workloads_and_numbers_in_files_can_be_changed(self, tmp_path: Path) -> None:
        path = write(tmp_path / "op.py", "batch = 2 ** 20  # é\nworkloads = [{'n': 64}, {'n': 8}]\n" + GPU)
        task = load(path, sizes={"n": 4, "batch": 16})
        assert [w.name for w in task.workloads] == ["n=4"] and "batch = 16  # é\n" in task.files["module.py"]
        assert task.identity != load(path).identity and from_spec(task.spec) == task
        assert load("softmax", sizes={"rows": 5}).workloads[0].name.startswith("rows=5 ")

    def test_unknown_sizes_are_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path / "op.py", GPU)
        with pytest.raises(BadTask, match="has no size depth"):
            load(path, sizes={"depth": 3})
        with pytest.raises(BadTask, match="cannot be 0"):
            load("softmax", sizes={"rows": 0})


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([8, 10], "a"), ([5, 5], 5), ([24, 40], "a * b"), ([6, 7], "a - b + 1"), ([5, 6], "a - b"), ([11, 14], "a + b"),
        ([9, 11], "a + 1"), ([4, 5], "a // 2"), ([24, 30], "a * 3"), ([1, 77], None),
    ],
)  # fmt: skip
def test_dimensions_are_written_with_sizes(values: list[int], written: str | int | None) -> None:
    assert dimension(values, [{"a": 8, "b": 3}, {"a": 10, "b": 4}]) == written


class TestCpu:
    def test_tensors_are_found_by_running_it(self) -> None:
        task = load(EXAMPLES / "tasks" / "correlate.py")
        assert task.device_kind == "cpu" and task.sizes == ("n", "taps")
        assert [(t.name, t.dtype, t.shape) for t in task.inputs] == [
            ("x", "float32", ("n",)), ("filter", "float32", ("taps",)),
        ]  # fmt: skip
        assert [t.shape for t in task.outputs] == [("n - taps + 1",)]
        assert from_spec(task.spec) == task

    def test_inputs_come_from_seeds_and_results_in_double_precision(self, tmp_path: Path) -> None:
        task = load(write(tmp_path / "op.py", CPU))
        drawn = draw(task, task.extra[0], [1, 2, 1])
        assert [inputs[0].shape for inputs, _ in drawn] == [(7,)] * 3
        assert (drawn[0][0][0] == drawn[2][0][0]).all() and (drawn[0][0][0] != drawn[1][0][0]).any()
        assert drawn[0][1][0].dtype == "float64"

    @pytest.mark.parametrize(
        ("change", "reason", "says"),
        [
            (("import numpy as np", "import numpy as np, nowhere_at_all"), Refusal.MISSING_PACKAGE, "nowhere_at_all"),
            (("import numpy as np", "import numpy as np\n1 / 0"), Refusal.DOES_NOT_IMPORT, "ZeroDivisionError"),
            (("def inputs(seed, n)", "def inputs(seed, m)"), Refusal.DOES_NOT_RUN, "inputs of op fails at n=3000"),
            (("return 2 * x", "return x @ x[:2]"), Refusal.DOES_NOT_RUN, "the reference of op fails"),
            (("return 2 * x", "return {'y': x}"), Refusal.ODD_OUTPUTS, "something else than numpy arrays"),
            (("return 2 * x", "return x.astype('float16')"), Refusal.ODD_OUTPUTS, "float16"),
            (("return 2 * x", "return x + np.random.rand()"), Refusal.NONDETERMINISTIC, "other results"),
            (("return 2 * x", "return x[x > 0.5]"), Refusal.ODD_INPUTS, "dimension 0 of out"),
            (("return 2 * x", "import os; os._exit(0)"), Refusal.DOES_NOT_RUN, "ended its process"),
            (('[{"n": 7}]', '[{"m": 7}]'), Refusal.NO_WORKLOADS, "do not name the same sizes"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path: Path, change: tuple[str, str], reason: Refusal, says: str) -> None:
        text = CPU.replace(*change)
        assert text != CPU
        error = refusal(write(tmp_path / "op.py", text))
        assert error.reason is reason and says in error.what, error.what

    def test_what_takes_too_long_is_stopped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from foretell.kernels.limits import Limits
        from foretell.kernels.tasks import worker

        monkeypatch.setattr(worker, "TASK_CODE_LIMITS", Limits(wall_s=1.0))
        error = refusal(write(tmp_path / "op.py", CPU.replace("return 2 * x", "while True: pass")))
        assert error.reason is Refusal.DOES_NOT_RUN and "within 1 s" in error.what


@pytest.fixture
def bench() -> Iterator[CpuBench]:
    effort = BenchEffort(check_seeds=1, fewest_pairs=2, most_pairs=2, busy_cap_s=0.5, run_timeout_s=30.0, processes=1)
    made = CpuBench(effort)
    yield made
    made.close()


@needs_compiler
def test_an_operation_of_ones_own_is_measured(bench: CpuBench, tmp_path: Path) -> None:
    """Nothing of the package is touched for it, and operations of one name have references of their own."""
    twice = load(write(tmp_path / "a" / "op.py", CPU))
    thrice = load(write(tmp_path / "b" / "op.py", CPU.replace("2 * x", "3 * x")))
    statuses = []
    for task in (twice, thrice, twice):
        [(_, outcome)] = bench.measure(task, [Candidate(task.key, "cpp", twice.references["cpp"])])
        statuses.append(outcome.status)
    assert statuses == [Status.OK, Status.WRONG, Status.OK]


@needs_compiler
@pytest.mark.parametrize(
    ("change", "says"),
    [(("2 * x[i]", "5 * x[i]"), "is wrong at n=3000"), (("2 * x[i]", "2 * z[i]"), "does not build")],
)
def test_a_cpp_reference_that_disagrees_is_refused(
    bench: CpuBench, tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    task = load(write(tmp_path / "op.py", CPU.replace(*change)))
    with pytest.raises(BadTask) as caught:
        list(bench.measure(task, [Candidate(task.key, "cpp", load(write(tmp_path / "o.py", CPU)).references["cpp"])]))
    assert says in caught.value.what and "extern" in caught.value.expected
