"""The CPU bench and builders in the tenth round: odd modules, infinities, data without end, threads left behind."""

from __future__ import annotations

import errno
import json
import resource
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from foretell.api import task as api_task
from foretell.cli.app import app
from foretell.cli.errors import BAD_INPUT, explain
from foretell.kernels.bench import memory
from foretell.kernels.bench.arena import Slot
from foretell.kernels.bench.cpu import CpuBench, reference_candidate
from foretell.kernels.bench.fake import FAKE_DEVICE
from foretell.kernels.bench.faults import fault
from foretell.kernels.bench.inputs import draw, expect, mismatch
from foretell.kernels.bench.keeper import call_names
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.store import lines
from foretell.kernels.task import Tensor, Tolerance
from foretell.kernels.tasks import BadTask, Refusal, load
from foretell.kernels.tasks.arrays import Forged, read_shapes
from foretell.kernels.tasks.cpu import DTYPES
from foretell.lm.function import FunctionModel
from foretell.lm.model import Failure, Message, Request
from foretell.received import NotText
from tests.kernels.bench.hostile import CORRECT, HEAD

Array = NDArray[Any]
HALF = "\\ud800"  # as it stands in a file, in ASCII
MODULE = '''"""DOC"""
import numpy as np
workloads = [{"n": 64}]
cpp = """#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = VALUE; } // END
"""
def inputs(seed, n):
    BODY
    return np.random.default_rng(seed).standard_normal(n, dtype="float32")
def reference(x):
    return RESULT
'''
KERNEL = '#include <cstdint>\nextern "C" void kernel(const float* x, float* out, int64_t n) {}\n'


def module(path: Path, **changes: str) -> Path:
    text = MODULE
    for name, value in ({"DOC": "d", "VALUE": "x[i]", "END": "e", "BODY": "pass", "RESULT": "x"} | changes).items():
        text = text.replace(name, value)
    path.write_text(text)
    return path


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def bench() -> Iterator[CpuBench]:
    effort = BenchEffort(check_seeds=1, fewest_pairs=2, most_pairs=2, busy_cap_s=0.5, run_timeout_s=30.0, processes=1)
    made = CpuBench(effort)
    yield made
    made.close()


class TestHalfCharacters:
    """A lone surrogate is a character to Python, and no file in UTF-8 can hold it."""

    @pytest.mark.parametrize("place", ["DOC", "END"], ids=["docstring", "cpp"])
    @pytest.mark.parametrize(
        "words", [("measure", "TASK", "KERNEL"), ("ask", "RUN", "--task", "TASK"), ("tasks", "TASK")]
    )
    def test_a_module(self, tmp_path: Path, place: str, words: tuple[str, ...]) -> None:
        path = module(tmp_path / "op.py", **{place: HALF})
        (tmp_path / "k.cpp").write_text(KERNEL)
        names = {"TASK": path, "KERNEL": tmp_path / "k.cpp", "RUN": tmp_path / "run"}
        result = run(*(names.get(word, word) for word in words))
        assert result.exit_code == BAD_INPUT and "half a character" in result.output, result.output
        with pytest.raises(BadTask) as caught:
            load(path)
        assert caught.value.reason is Refusal.NOT_READABLE

    @pytest.mark.parametrize("place", ["description", "name"])
    def test_a_problem_whose_task_yml_names_half_of_one(self, tmp_path: Path, place: str) -> None:
        (tmp_path / "reference.py").write_text("def generate_input(**k): pass\ndef ref_kernel(data): pass\n")
        entry = {"size": 4, "seed": 1, **({"name": "\ud800"} if place == "name" else {})}
        about = {"description": "\ud800" if place == "description" else "d", "benchmarks": [entry]}
        (tmp_path / "task.yml").write_text(json.dumps(about))
        with pytest.raises(BadTask) as caught:
            load(tmp_path, "gpu")
        assert caught.value.reason is Refusal.NOT_READABLE

    def test_candidates_and_what_is_told_of_them(self) -> None:
        for made in (lambda: Candidate("t", "cpp", "// \ud800"), lambda: Candidate("t", "cpp", "", Origin("\udfff"))):
            with pytest.raises(NotText):
                made()

    def test_a_line_of_a_journal_blames_no_number(self) -> None:
        with pytest.raises(NotText, match="'told' holds half a character"):
            lines.encode({"event": "told", "payload": "\ud800"})
        with pytest.raises(ValueError, match="not finite"):
            lines.encode({"event": "told", "payload": float("inf")})

    def test_the_answer_of_a_function(self) -> None:
        [reply] = FunctionModel(lambda prompt: "\ud800").ask([Request((Message("user", "p"),))])
        assert isinstance(reply, Failure) and "half a character" in reply.message

    def test_names_of_files_that_are_not_utf8_are_told_with_a_mark(self, tmp_path: Path) -> None:
        try:
            path = module(tmp_path / "op\udcfe.py")
        except OSError:
            pytest.skip("this file system has no such names")
        task = load(path)
        assert task.name == "op?"
        result = run("ask", tmp_path / "run", "--task", path)
        assert result.exit_code == 0, result.output

    def test_whole_characters_are_welcome(self, tmp_path: Path) -> None:
        task = load(module(tmp_path / "größe.py", DOC="\U0001d49c, é", END="ß"))
        assert task.summary.endswith("é") and task.name == "größe"


class TestForgedShapes:
    @pytest.mark.parametrize("absent", ["inputs", "outputs"])
    def test_a_process_that_tells_of_no_arrays(self, absent: str) -> None:
        plain: list[dict[str, Any]] = [{"inputs": [["float32", [1]]], "outputs": [["float32", [1]]], absent: []}]
        with pytest.raises(Forged, match=r"no inputs or no outputs"):
            read_shapes(json.dumps(plain).encode(), 1, DTYPES)

    def test_a_module_that_makes_its_process_say_so(self, tmp_path: Path) -> None:
        path = module(tmp_path / "op.py", BODY="import foretell.kernels.tasks.cpu as c; c._shapes = lambda arrays: []")
        with pytest.raises(BadTask, match="answers in its own way"):
            load(path)


class TestSizes:
    def test_what_no_memory_holds_is_refused_before_anything_is_made(self, tmp_path: Path) -> None:
        (tmp_path / "k.cpp").write_text(KERNEL)
        result = run("measure", "softmax", tmp_path / "k.cpp", "--size", f"cols={10**12}")
        assert result.exit_code == BAD_INPUT, result.output
        assert "softmax needs about" in result.output and "--size cols=" in result.output

    def test_a_module_of_few_bytes(self, tmp_path: Path, bench: CpuBench, monkeypatch: pytest.MonkeyPatch) -> None:
        task = load(module(tmp_path / "op.py"))
        memory.check_size(task, bench.device)
        monkeypatch.setattr(memory, "_limits", lambda: [64])
        with pytest.raises(BadTask, match="needs about") as caught:
            list(bench.measure(task, [reference_candidate(task)]))
        assert caught.value.reason is Refusal.TOO_LARGE

    def test_the_processs_own_limit_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda which: (1 << 20, resource.RLIM_INFINITY))
        with pytest.raises(BadTask, match="has 1 MiB"):
            memory.check_size(get("softmax"), FAKE_DEVICE)

    @pytest.mark.parametrize("error", [MemoryError("unable"), OSError(errno.ENOMEM, "Cannot allocate memory")])
    def test_memory_that_is_short_in_spite_of_it(self, error: Exception) -> None:
        problem = explain(error)
        assert problem is not None and problem.code == BAD_INPUT and "--size" in problem.do


class TestInfinities:
    def test_they_are_compared_as_equal_and_nothing_is_warned_of(self) -> None:
        want = np.array([np.inf, -np.inf, 1.0, 1e300, np.nan])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = expect(want, "float32", Tolerance(1e-3, 1e-5, ""))
        right = np.array([np.inf, -np.inf, 1.0005, np.inf, 0.0], np.float32)
        assert "1 of 5" in mismatch(right, expected)  # what is not a number is never right
        for place, value in ((0, -np.inf), (0, 3e38), (1, np.inf), (1, np.nan), (3, 1.0)):
            changed = right.copy()
            changed[place] = value
            assert "2 of 5" in mismatch(changed, expected)

    def test_a_reference_that_masks_by_infinity_is_measured(self, tmp_path: Path, bench: CpuBench) -> None:
        task = load(
            module(tmp_path / "op.py", VALUE="x[i] > 0 ? x[i] : -INFINITY", RESULT="np.where(x > 0, x, -np.inf)")
        )
        [(_, outcome)] = bench.measure(task, [reference_candidate(task)])
        assert outcome.status is Status.OK, outcome.message
        kernel = task.references["cpp"].replace("-INFINITY", "-3e38f")
        [(_, outcome)] = bench.measure(task, [Candidate(task.key, "cpp", kernel)])
        assert outcome.status is Status.WRONG


class TestWords:
    """What is said of a process that ended."""

    def test_forbidden_calls_have_names(self) -> None:
        names = call_names()
        assert {"mlockall", "setitimer", "timer_create", "bpf", "prlimit64 (to set, or of another process)"} <= set(
            names.values()
        )

    def test_a_buffer_that_is_touched_between_calls_was_not_written(self) -> None:
        slots = [Slot(Tensor("x", "float32", (1024,)), 4096, 4096, (1024,), False)]
        verdict = fault(b"b\n", "x", 4, slots, {})
        assert verdict.status is Status.CRASH and "after its call had returned" in str(verdict)

    def test_a_thread_that_only_reads_its_input_is_not_told_that_it_wrote(self, bench: CpuBench) -> None:
        source = f"""{HEAD}#include <thread>
{CORRECT}
static const volatile float* volatile seen = nullptr;
static volatile float sum = 0;
extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {{
    if (seen == nullptr) std::thread([] {{ for (;;) if (seen != nullptr) sum = seen[0]; }}).detach();
    seen = x;
    honest(x, out, rows, cols);
}}
"""
        [(_, outcome)] = bench.measure(get("softmax"), [Candidate("softmax", "cpp", source)])
        assert outcome.status in (Status.CRASH, Status.OK), outcome.message
        assert "wrote" not in outcome.message


class TestModules:
    """Code of a module, in its own process."""

    def test_nothing_that_it_prints_is_shown(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        path = module(tmp_path / "op.py", BODY="import os, sys; print('\\x1b[2JTOLD' * 500_000, flush=True); "
                      "sys.stderr.write('TOLD'); os.write(1, b'TOLD'); os.write(2, b'TOLD')")  # fmt: skip
        result = run("tasks", path)
        shown = capfd.readouterr()
        assert result.exit_code == 0 and "TOLD" not in result.output + shown.out + shown.err

    @pytest.mark.parametrize(
        "raised",
        [
            "ValueError('\\x1b[2J[bold]x' * 100_000)",
            "type('\\x1b[2Jx[bold]', (Exception,), {})('y')",
            "ValueError('\\ud800')",
        ],
        ids=["message", "class", "half a character"],
    )
    def test_what_it_raises_is_cleaned_and_cut(self, tmp_path: Path, raised: str) -> None:
        path = module(tmp_path / "op.py", BODY=f"raise {raised}")
        result = run("tasks", path)
        assert result.exit_code == BAD_INPUT and "\x1b" not in result.output and len(result.output) < 10_000
        with pytest.raises(BadTask) as caught:
            load(path)
        assert caught.value.reason is Refusal.DOES_NOT_RUN


def _parts(x: Array) -> tuple[Array, Array]:
    """Two numbers in bfloat16 whose sum is nearly x."""

    def rounded(values: Array) -> Array:
        bits = values.view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)

    high = rounded(x)
    return high.astype(np.float64), rounded(x - high).astype(np.float64)


def test_products_of_fewer_bits_are_right_within_the_tolerance_as_the_summary_says() -> None:
    """Three products of bfloat16 parts, with 16 bits of each factor, are within it at most sizes; two are nowhere."""
    task = get("matmul")
    assert "products of fewer bits are right" in task.summary
    for workload in task.workloads:
        for drawn in draw(task, workload, (301, 302)):
            (high_a, low_a), (high_b, low_b) = map(_parts, drawn.inputs)
            two = high_a @ high_b + low_a @ high_b
            [expected] = drawn.expected
            assert mismatch(two.astype(np.float32), expected)
            if workload.sizes["k"] <= 128:
                assert not mismatch((two + high_a @ low_b).astype(np.float32), expected)


def test_the_door_for_texts_is_that_of_the_interface_in_python_too(tmp_path: Path) -> None:
    with pytest.raises(BadTask, match="half a character"):
        api_task(str(module(tmp_path / "op.py", DOC=HALF)))
