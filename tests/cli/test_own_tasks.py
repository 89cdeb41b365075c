"""Tasks that are not in the library, on the command line: named by their files in every verb that names a task."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import FakeBench, Invoke, real
from tests.kernels.tasks.test_module import CPU, GPU
from tests.kernels.tasks.test_sources import PROBLEM

needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler on this machine"
)
KERNEL = CPU.partition('cpp = """\n')[2].partition('"""')[0]


@pytest.fixture
def operation(own_place: Path) -> str:
    (own_place / "mine.cpp").write_text(f"// mine\n{KERNEL.replace('2 * x[i]', 'x[i] + x[i]')}")
    (own_place / "twice.py").write_text(CPU)
    return "twice.py"


def refused(invoke: Invoke, *arguments: str) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr


class TestMeasure:
    def test_it_is_measured_kept_and_told(self, bench: FakeBench, invoke: Invoke, operation: str) -> None:
        result = invoke("measure", operation, "mine.cpp", "--json")
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        assert document["task"] == "twice" and len(document["identity"]) == 32
        assert "twice" in invoke("catalogue", "list").stdout
        assert "n=3000" in invoke("measure", operation, "mine.cpp").stdout

    def test_other_sizes(self, bench: FakeBench, invoke: Invoke, operation: str) -> None:
        assert "n=64" in invoke("measure", operation, "mine.cpp", "--size", "n=64").stdout
        assert "rows=9" in invoke("measure", "softmax", "mine.cpp", "--size", "rows=9").stdout
        assert "has no size m" in refused(invoke, "measure", operation, "mine.cpp", "--size", "m=64")
        assert "is not a size" in refused(invoke, "measure", operation, "mine.cpp", "--size", "n")

    def test_what_is_wrong_is_said(self, bench: FakeBench, invoke: Invoke, operation: str) -> None:
        Path("other.py").write_text("x = 1\n")
        Path("gpu.py").write_text(GPU)
        Path("problem.py").write_text(PROBLEM.replace("get_inputs", "inputs_of"))
        assert "other.py is not a task" in refused(invoke, "measure", "other.py", "mine.cpp")
        assert "absent.py does not exist" in refused(invoke, "measure", "absent.py", "mine.cpp")
        assert "does not define get_inputs" in refused(invoke, "measure", "problem.py", "mine.cpp")
        assert "gpu.py is a task for a GPU" in refused(invoke, "measure", "gpu.py", "mine.cpp")
        assert "twice.py is a task for a CPU" in refused(invoke, "measure", operation, "gpu.py")
        said = refused(invoke, "forecast", "gpu.py", "gpu.py")
        assert "gpu.py is a task for a GPU" in said and "--device h200" in said and "asked" not in said
        assert "leave --device out" in refused(invoke, "forecast", operation, "mine.cpp", "--device", "h200")
        assert "there is no task 'sofmax'" in refused(invoke, "measure", "sofmax", "mine.cpp")

    @needs_compiler
    def test_with_the_real_bench(self, real_cache: Path, operation: str) -> None:
        Path("wrong.cpp").write_text(KERNEL.replace("2 * x[i]", "3 * x[i]"))
        done = real(real_cache, "measure", operation, "mine.cpp", "wrong.cpp", "--json")
        assert done.returncode == 1, done.stderr
        assert [row["status"] for row in json.loads(done.stdout)["results"]] == ["ok", "wrong"]


class TestOtherVerbs:
    def test_tasks_shows_it(self, invoke: Invoke, operation: str) -> None:
        shown = invoke("tasks", operation).stdout
        assert "void kernel(const float* x, float* out, int64_t n)" in shown and "n=3000" in shown and "n=7" in shown
        assert "foretell measure twice.py mine.cpp" in shown
        assert invoke("tasks", operation, "--reference").stdout.strip() == KERNEL.strip()
        Path("problem.py").write_text(PROBLEM)
        assert "class ModelNew" in invoke("tasks", "problem.py").stdout
        assert json.loads(invoke("tasks", "problem.py", "--json").stdout)["kind"] == "gpu"

    def test_ask_and_tell_go_on_without_the_file(self, bench: FakeBench, invoke: Invoke, operation: str) -> None:
        asked = invoke("ask", "run", "--task", operation, "--profile", "quick")
        assert asked.exit_code == 0, asked.output
        assert "const float* x, float* out, int64_t n" in asked.stdout and KERNEL in asked.stdout
        assert invoke("ask", "run", "--task", operation).exit_code == 0
        Path("other").mkdir()
        Path("other/twice.py").write_text(CPU.replace("2 *", "3 *"))
        assert "is of the task twice, not other/twice.py" in refused(invoke, "ask", "run", "--task", "other/twice.py")
        Path(operation).unlink()
        told = json.loads(invoke("tell", "run", "mine.cpp", "--json").stdout)
        assert told["results"][0]["result"]["status"] == "ok"
        assert invoke("ask", "run").exit_code == 0
        assert invoke("tell", "run", "--finish").exit_code == 0
        assert "Twice each number" in Path("run/report.html").read_text()

    def test_forecast(self, bench: FakeBench, invoke: Invoke, operation: str) -> None:
        result = invoke("forecast", operation, "mine.cpp")
        assert result.exit_code == 0 and "chance that it fails" in result.stdout, result.output

    def test_a_search_says_what_it_lacks(self, bench: FakeBench, invoke: Invoke, operation: str) -> None:
        error = refused(invoke, "search", operation, "--profile", "quick")
        assert "it has no template in cpp" in error and "foretell ask RUN --task FILE" in error
        assert "do:       --start FILE" in error and "expected: expected" not in error
        error = refused(invoke, "search", operation, "--warm-start")
        assert "nothing of it in cpp was measured before" in error

    def test_forecast_of_a_problem_for_a_gpu(self, invoke: Invoke, own_place: Path) -> None:
        Path("problem.py").write_text(PROBLEM)
        Path("mine.py").write_text("import torch\n\n\ndef kernel(x):\n    return x + 1\n")
        result = invoke("forecast", "problem.py", "mine.py", "--device", "h200", "--source-only")
        assert result.exit_code == 0 and "family" in result.stdout, result.output
