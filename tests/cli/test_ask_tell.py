"""`foretell ask` and `foretell tell`: the loop for people and coding agents, on a fake bench and on a real one."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from foretell.kernels import devices, library
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Bench
from foretell.kernels.search import StopReason, load_run
from foretell.kernels.task import Task, Tensor, Tolerance, Workload
from tests.cli.conftest import FakeBench, Invoke

HEAD = 'extern "C" void kernel(const float* x, float* out, long long rows, long long cols)'
ROW = {
    "file", "id", "known", "taken", "author", "parent", "builds", "forecast", "decision", "result", "reused", "best",
    "note",
}  # fmt: skip
QUICK = ("--task", "softmax", "--profile", "quick")


def write(name: str, body: str = "") -> Path:
    Path(name).write_text(f"{HEAD} {{ {body} }}\n")
    return Path(name)


def told(invoke: Invoke, *arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke("tell", *arguments, "--json").stdout)
    return found


def refused(invoke: Invoke, *arguments: str | Path) -> str:
    """What the command says where it takes nothing: exit code 2, and with --json the same as a document."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    problem = json.loads(invoke(*arguments, "--json").stdout)["error"]
    assert problem["what"] in result.stderr
    return result.stderr


@pytest.fixture
def run(bench: FakeBench, invoke: Invoke) -> str:
    """A run that is open."""
    assert invoke("ask", "mine", *QUICK).exit_code == 0
    return "mine"


class TestAsk:
    def test_starts_the_run_and_says_what_to_write(self, bench: FakeBench, invoke: Invoke) -> None:
        result = invoke("ask", "runs/new", *QUICK, "--language", "cpp", "--measurements", "5")
        assert result.exit_code == 0
        task = library.get("softmax")
        assert task.references["cpp"] in result.stdout
        assert f"foretell tell runs/new FILE --parent {load_run(Path('runs/new')).reference.id}" in result.stdout
        assert "0 of 5 measurements" in result.stdout
        state = load_run(Path("runs/new"))
        assert state.config["proposer"] == "told"
        assert state.rounds == 0
        assert invoke("ask", "new").stdout == result.stdout, "asking again, by name, asks the same"

    def test_json(self, run: str, invoke: Invoke) -> None:
        data = json.loads(invoke("ask", run, "--json").stdout)
        assert set(data) == {
            "run", "task", "language", "device", "parent", "best", "prompt", "budget", "tell",
        }  # fmt: skip
        assert [message["role"] for message in data["prompt"]] == ["system", "user"]
        assert data["parent"]["id"] == load_run(Path(run)).reference.id
        assert data["budget"]["measurements"] == {"spent": 0, "limit": 32}

    def test_goes_on_from_what_was_told(self, run: str, invoke: Invoke) -> None:
        first = told(invoke, run, write("a.cpp", "int a;"))["results"][0]["id"]
        told(invoke, run, write("b.cpp", "BROKEN"))
        text = invoke("ask", run, "--parent", first[:8]).stdout
        assert "int a;" in text
        assert "was not declared" in text
        assert f"foretell tell {run} FILE --parent {first}" in text
        assert told(invoke, run, write("c.cpp", "int c;"), "--parent", first)["results"][0]["parent"] == first
        reference = load_run(Path(run)).reference.id
        row = told(invoke, run, write("d.cpp", "int d;"), "--parent", "reference")["results"][0]
        assert row["parent"] == reference

    def test_other_settings_than_the_runs_own_are_refused(self, run: str, invoke: Invoke) -> None:
        assert invoke("ask", run, *QUICK).exit_code == 0
        assert "is of the task softmax, not gelu" in refused(invoke, "ask", run, "--task", "gelu")
        assert "was started with --language cpp, not cuda" in refused(invoke, "ask", run, "--language", "cuda")
        assert "was started with --seed 0, not 3" in refused(invoke, "ask", run, "--seed", "3")
        assert "not on h200" in refused(invoke, "ask", run, "--device", "h200")
        assert invoke("ask", run, "--device", "cpu").exit_code == 0

    def test_bad_input(self, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        assert "there is no run nowhere" in refused(invoke, "ask", "nowhere")
        assert "there is no task" in refused(invoke, "ask", "new", "--task", "sofmax")
        assert "there is no language 'cobol'" in refused(invoke, "ask", "new", *QUICK, "--language", "cobol")
        assert "measures on" in refused(invoke, "ask", "new", *QUICK, "--device", "gpu")
        assert "above zero" in refused(invoke, "ask", "new", *QUICK, "--measurements", "0")
        assert "is a file" in refused(invoke, "ask", write("file"), *QUICK)
        assert not Path("new/journal.jsonl").exists()

    def test_a_journal_without_a_whole_line_is_no_run_yet(self, bench: FakeBench, invoke: Invoke) -> None:
        Path("torn").mkdir()
        Path("torn/journal.jsonl").write_text('{"n":0,"t":')
        assert "there is no run torn" in refused(invoke, "ask", "torn")
        assert invoke("ask", "torn", *QUICK).exit_code == 0


class TestTell:
    def test_for_people(self, run: str, invoke: Invoke) -> None:
        result = invoke("tell", run, write("a.cpp"), write("bad.cpp", "BROKEN"), write("no.cpp", "WRONG"))
        assert result.exit_code == 1
        for words in ("forecast  ", "decision  measured:", "95 % interval", "did not compile", "was not declared"):
            assert words in result.stdout
        assert "3 of 3 values are wrong" in result.stdout
        assert "2 of 32 measurements" in result.stdout
        assert "next  foretell ask mine" in result.stdout

    def test_json(self, run: str, invoke: Invoke) -> None:
        data = told(invoke, run, write("a.cpp"), write("bad.cpp", "BROKEN"), write("no.cpp", "WRONG"))
        assert set(data) == {
            "run", "task", "device", "results", "also_measured", "best", "budget", "spent", "finished", "next",
        }  # fmt: skip
        good, broken, wrong = data["results"]
        assert all(set(row) == ROW for row in data["results"])
        assert [row["result"]["status"] for row in data["results"]] == ["ok", "compile_error", "wrong"]
        assert good["forecast"]["low"] <= good["forecast"]["speedup"] <= good["forecast"]["high"]
        assert good["decision"]["action"] == "measure"
        assert good["best"] and data["best"]["id"] == good["id"]
        assert broken["builds"] is False and broken["forecast"] is None
        assert "does not build" in broken["decision"]["reason"]
        assert wrong["author"] == "person" and wrong["taken"] and not wrong["known"]
        assert data["spent"] is None and data["finished"] is False and data["next"] == "foretell ask mine"

    def test_the_author_is_written_down(self, run: str, invoke: Invoke) -> None:
        [row] = told(invoke, run, write("a.cpp"), "--author", "language-model")["results"]
        assert row["author"] == "language model"
        origin = load_run(Path(run)).nodes[row["id"]].candidate.origin
        assert (origin.kind, origin.detail) == ("model", {"by": "language model", "file": "a.cpp"})
        assert "no author 'robot'" in refused(invoke, "tell", run, write("b.cpp"), "--author", "robot")

    def test_what_is_known_is_answered_and_nothing_done_again(self, run: str, invoke: Invoke) -> None:
        [first] = told(invoke, run, write("a.cpp"))["results"]
        journal = Path(run, "journal.jsonl").read_bytes()
        Path("same.cpp").write_text(Path("a.cpp").read_text())
        Path("reference.cpp").write_text(library.get("softmax").references["cpp"])
        data = told(invoke, run, "a.cpp", "same.cpp", "reference.cpp", "--author", "language-model")
        again, same, reference = data["results"]
        assert again == first | {"known": True}
        assert same["result"] == first["result"] and same["known"]
        assert reference["note"] == "this is the reference: its speedup is 1"
        assert Path(run, "journal.jsonl").read_bytes() == journal
        assert invoke("tell", run, "a.cpp").exit_code == 0

    def test_a_patch_of_what_was_asked_for(self, run: str, invoke: Invoke) -> None:
        [first] = told(invoke, run, write("a.cpp", "int a;"))["results"]
        source = Path("a.cpp").read_text().rstrip("\n")
        Path("b.diff").write_text(f"@@ -1 +1 @@\n-{source}\n+{source.replace('int a;', 'int b;')}\n")
        [row] = told(invoke, run, "b.diff", "--parent", first["id"])["results"]
        assert row["taken"] and row["parent"] == first["id"]
        assert load_run(Path(run)).nodes[row["id"]].candidate.source == f"{source.replace('int a;', 'int b;')}\n"
        problem = refused(invoke, "tell", run, "b.diff", "--parent", "reference")
        assert "cannot be applied" in problem and "do not stand in the source" in problem

    def test_bad_files_change_nothing(self, run: str, invoke: Invoke) -> None:
        Path("empty.cpp").write_text("  \n")
        Path("binary.cpp").write_bytes(b"\x00\xff\xfe")
        Path("large.cpp").write_text("//" + "x" * (1 << 20))
        Path("kernel.py").write_text("import triton\n")
        before = Path(run, "journal.jsonl").read_bytes()
        for name, words in (
            ("missing.cpp", "there is no file missing.cpp"),
            ("empty.cpp", "empty.cpp is empty"),
            ("binary.cpp", "is not text"),
            ("large.cpp", "source text of at most"),
            ("kernel.py", "is not cpp by its ending, and the run is of cpp"),
        ):
            assert words in refused(invoke, "tell", run, write("good.cpp"), name)
        assert Path(run, "journal.jsonl").read_bytes() == before

    def test_bad_commands(self, run: str, invoke: Invoke) -> None:
        assert "there is no run other" in refused(invoke, "tell", "other", write("a.cpp"))
        assert "there is nothing to tell" in refused(invoke, "tell", run)
        assert "--finish takes no files" in refused(invoke, "tell", run, "a.cpp", "--finish")
        assert "the run has no candidate 'zzz'" in refused(invoke, "tell", run, "a.cpp", "--parent", "zzz")
        Path("empty").mkdir()
        assert "holds no run" in refused(invoke, "tell", "empty", "a.cpp")

    def test_budgets(self, bench: FakeBench, invoke: Invoke) -> None:
        invoke("ask", "few", *QUICK, "--candidates", "2")
        names = [write(f"{i}.cpp", f"int a{i};") for i in range(3)]
        result = invoke("tell", "few", *names, "--json")
        data = json.loads(result.stdout)
        assert result.exit_code == 1
        assert [row["taken"] for row in data["results"]] == [True, True, False]
        assert data["results"][2]["note"] == "not taken in: the budget of candidates is spent"
        assert data["spent"] == "candidates" and data["next"] == "foretell tell few --finish"
        problem = refused(invoke, "tell", "few", names[2])
        assert "budget of candidates is spent (2 of 32" in problem and "foretell tell few --finish" in problem
        assert "budget of candidates is spent" in refused(invoke, "ask", "few")
        assert told(invoke, "few", names[0])["results"][0]["known"]

    def test_finish(self, run: str, invoke: Invoke) -> None:
        [row] = told(invoke, run, write("a.cpp"))["results"]
        assert "foretell ask" in Path(invoke("report", run).stdout.strip()).read_text()
        result = invoke("tell", run, "--finish")
        assert result.exit_code == 0
        assert "verified" in result.stdout
        assert Path(run, "best.cpp").read_text() == Path("a.cpp").read_text()
        assert Path(run, "report.html").exists()
        assert load_run(Path(run)).finished is not None
        assert json.loads(invoke("tell", run, "--finish", "--json").stdout)["best"]["id"] == row["id"]
        assert "is finished" in refused(invoke, "tell", run, write("b.cpp", "int b;"))
        assert "is finished" in refused(invoke, "ask", run)
        assert told(invoke, run, "a.cpp")["results"][0]["known"]
        assert invoke("report", run).exit_code == 0

    def test_nothing_works(self, run: str, invoke: Invoke) -> None:
        invoke("tell", run, write("a.cpp", "BROKEN"))
        assert invoke("tell", run, "--finish").exit_code == 1


class TestReused:
    def test_what_was_measured_before_spends_no_measurements(self, bench: FakeBench, invoke: Invoke) -> None:
        assert invoke("measure", "softmax", write("a.cpp"), write("b.cpp", "int b;")).exit_code == 0
        assert invoke("ask", "mine", *QUICK, "--measurements", "2").exit_code == 0
        result = invoke("tell", "mine", "a.cpp", "b.cpp")
        assert "spent 0 of 2 measurements (2 more reused from earlier runs)" in result.stdout
        answer = invoke("ask", "mine", "--json")
        assert answer.exit_code == 0, answer.output
        assert json.loads(answer.stdout)["budget"]["measurements"] == {"spent": 0, "limit": 2}
        assert "2 measurements and" in json.loads(answer.stdout)["prompt"][-1]["content"]
        told(invoke, "mine", write("c.cpp", "int c;"), write("d.cpp", "int d;"), write("e.cpp", "int e;"))
        state = load_run(Path("mine"))
        assert (state.reused, state.charged) == (2, 2)
        assert invoke("report", "mine").exit_code == 0
        assert "2 were measured in an earlier run" in Path("mine/report.html").read_text()


class TestNothingIsLost:
    def test_a_cut_journal(self, run: str, invoke: Invoke) -> None:
        invoke("tell", run, write("a.cpp"))
        [row] = told(invoke, run, write("b.cpp", "int b;"))["results"]
        journal = Path(run, "journal.jsonl")
        whole = journal.read_bytes()
        journal.write_bytes(whole[:-9])
        result = invoke("tell", run, "b.cpp", "--json")
        data = json.loads(result.stdout)
        assert data["results"] == [row | {"known": True, "reused": True}], (
            "measured before the cut, so in the catalogue"
        )
        assert "was cut short by a crash" in result.stderr
        assert load_run(Path(run)).measured == 2

    def test_ctrl_c_while_measuring(self, bench: FakeBench, run: str, invoke: Invoke) -> None:
        bench.interrupt_at = 1
        assert invoke("tell", run, write("a.cpp"), write("b.cpp", "int b;")).exit_code == 130
        assert len(load_run(Path(run)).pending) == 1
        bench.interrupt_at = None
        data = told(invoke, run, write("c.cpp", "int c;"))
        assert len(data["also_measured"]) == 1
        assert load_run(Path(run)).measured == 3
        assert not load_run(Path(run)).pending

    def test_asking_writes_nothing(self, run: str, invoke: Invoke) -> None:
        before = {path.name: path.read_bytes() for path in Path(run).iterdir()}
        invoke("ask", run, "--parent", "reference")
        assert {path.name: path.read_bytes() for path in Path(run).iterdir()} == before

    def test_a_finished_run_goes_on_with_a_larger_budget(self, run: str, invoke: Invoke) -> None:
        told(invoke, run, write("a.cpp"))
        done = json.loads(invoke("tell", run, "--finish", "--json").stdout)
        assert done["ended"] == "ended"
        assert "it was told to finish with budget left" in invoke("tell", run, "--finish").stdout
        problem = refused(invoke, "tell", run, write("b.cpp", "int b;"))
        assert "is finished" in problem and f"foretell ask {run} --measurements 64" in problem
        assert "0 of 16 measurements" not in refused(invoke, "ask", run, "--measurements", "16")
        assert "1 of 64 measurements" in invoke("ask", run, "--measurements", "64").stdout
        [row] = told(invoke, run, "b.cpp")["results"]
        assert row["result"]["status"] == "ok"
        assert load_run(Path(run)).config["budgets"]["measurements"] == 64
        assert invoke("tell", run, "--finish").exit_code == 0

    def test_a_finished_search_goes_on_with_a_larger_budget(self, bench: FakeBench, invoke: Invoke) -> None:
        small = ("--profile", "quick", "--measurements", "4", "--candidates", "64", "--json")
        assert json.loads(invoke("search", "softmax", *small).stdout)["measured"] == 4
        more = json.loads(invoke("search", "--resume", "softmax-1", "--measurements", "7", "--json").stdout)
        assert more["measured"] == 7 and more["config"]["budgets"]["measurements"] == 7
        again = json.loads(invoke("search", "softmax", "--resume", "softmax-1", "--json").stdout)
        assert again["measured"] == 7, "finished, and so as it was"
        assert "was started with --measurements 7, not 5" in refused(
            invoke, "search", "--resume", "softmax-1", "--measurements", "5"
        )

    def test_a_kernel_can_be_told_to_a_search_that_was_interrupted(self, bench: FakeBench, invoke: Invoke) -> None:
        bench.interrupt_at = 3
        small = ("--profile", "quick", "--measurements", "12", "--candidates", "32")
        assert invoke("search", "softmax", *small).exit_code == 130
        bench.interrupt_at = None
        assert "## Your turn" in invoke("ask", "softmax-1").stdout
        [row] = told(invoke, "softmax-1", write("a.cpp"))["results"]
        assert row["taken"]
        done = json.loads(invoke("search", "softmax", "--resume", "softmax-1", "--json").stdout)
        state = load_run(Path("runs/softmax-1"))
        assert row["id"] in state.nodes
        assert done["considered"] == state.considered
        assert state.finished is not None and state.finished.reason is not StopReason.INTERRUPTED

    def test_a_run_finds_its_language_model_again(self, bench: FakeBench, invoke: Invoke) -> None:
        invoke("ask", "mine", *QUICK, "--forecaster", "files:model?form=direct")
        assert load_run(Path("mine")).config["forecaster"] == "files:model?form=direct"
        assert told(invoke, "mine", write("a.cpp"))["results"][0]["taken"]
        assert Path("model/requests.jsonl").exists()

    def test_a_search_may_take_other_proposers(self, bench: FakeBench, invoke: Invoke) -> None:
        small = ("--profile", "quick", "--measurements", "6", "--candidates", "24", "--json")
        done = json.loads(invoke("search", "softmax", "--proposer", "crossover", *small).stdout)
        assert done["config"]["proposer"] == "crossover" and done["measured"] == 6
        result = invoke("search", "softmax", "--proposer", "files:model", *small)
        assert result.exit_code == 1
        assert "gave no answer" in result.stderr and Path("model/requests.jsonl").exists()
        assert "no proposer 'wizard'" in refused(invoke, "search", "softmax", "--proposer", "wizard")


def _in_place_of_the_gpu(monkeypatch: pytest.MonkeyPatch, bench: Callable[[], Bench]) -> None:
    """A bench in the place of the GPU's, whose module would import torch."""
    monkeypatch.setitem(sys.modules, "foretell.kernels.bench.gpu.bench", SimpleNamespace(GpuBench=bench))


class TestGpu:
    SOURCE = "import triton\n@triton.jit\ndef body(): pass\ndef kernel(x): return x\n"

    @pytest.fixture
    def gpu(self, monkeypatch: pytest.MonkeyPatch) -> Bench:
        fake = FakeBench(replace(devices.described("h200"), toolchain="fake"))
        _in_place_of_the_gpu(monkeypatch, lambda: fake)
        return fake

    def test_triton_against_the_torch_reference(self, gpu: Bench, invoke: Invoke) -> None:
        start = ("ask", "mine", *QUICK, "--language", "triton", "--device", "h200")
        text = invoke(*start).stdout
        assert "torch.softmax" in text and "@triton.jit" in text and "NVIDIA H200" in text
        Path("a.py").write_text(self.SOURCE)
        [row] = told(invoke, "mine", "a.py")["results"]
        assert row["result"]["status"] == "ok"
        assert load_run(Path("mine")).reference.language == "torch"
        Path("b.py").write_text("from foretell.cuda import compile\n")
        assert "is cuda by its text, and the run is of triton" in refused(invoke, "tell", "mine", "b.py")
        Path("b.diff").write_text("@@ -1 +1 @@\n-import torch\n+import triton\n")
        assert "which is torch" in refused(invoke, "tell", "mine", "b.diff", "--parent", "reference")
        assert invoke("tell", "mine", "--finish").exit_code == 0

    def test_without_a_gpu(self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
        from foretell.kernels.bench.gpu.device import NoGpu

        def none() -> Bench:
            raise NoGpu("torch sees no CUDA GPU on this machine")

        _in_place_of_the_gpu(monkeypatch, none)
        assert "sees no CUDA GPU" in refused(invoke, "ask", "mine", *QUICK, "--language", "cuda")


needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler on this machine"
)

DOUBLE = """#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) BODY
}
"""


def double(body: str) -> str:
    return DOUBLE.replace("BODY", body)


TINY = Task(
    name="tiny_double",
    family="tiny",
    summary="twice each number, taken by way of a root",
    sizes=("n",),
    inputs=(Tensor("x", "float32", ("n",), "positive"),),
    outputs=(Tensor("out", "float32", ("n",)),),
    workloads=(Workload({"n": 30000}),),
    extra=(Workload({"n": 7}),),
    tolerance=Tolerance(1e-4, 1e-5, "a root and its square"),
    flops=lambda sizes: float(sizes["n"]),
    oracle=lambda arrays, sizes: (2.0 * arrays["x"].astype("float64"),),
    references={"cpp": double("{ volatile float r = __builtin_sqrtf(x[i]); out[i] = 2.0f * r * r; }")},
)


@needs_compiler
@pytest.mark.timing
def test_the_whole_loop_on_the_real_bench(invoke: Invoke, real_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow program, a faster one, one that does not compile and one that is wrong; then the winner is verified."""
    monkeypatch.setenv("FORETELL_CACHE", str(real_cache))
    monkeypatch.setitem(library.tasks("cpu"), TINY.name, TINY)
    slow = double("{ volatile double s = x[i]; for (int k = 0; k < 20; ++k) s = s * 1.0; out[i] = 2 * s; }")
    sources = {
        "slow": slow,
        "fast": double("out[i] = 2.0f * x[i];"),
        "broken": double("out[i] = 2.0f * y[i];"),
        "wrong": double("out[i] = 3.0f * x[i];"),
    }
    for name, source in sources.items():
        Path(f"{name}.cpp").write_text(source)
    assert TINY.references["cpp"] in invoke("ask", "mine", "--task", TINY.name, "--profile", "quick").stdout
    first = invoke("tell", "mine", "slow.cpp", "wrong.cpp", "broken.cpp", "--no-catalogue", "--json")
    assert first.exit_code == 1
    rows = json.loads(first.stdout)["results"]
    assert [row["result"]["status"] for row in rows] == ["ok", "wrong", "compile_error"]
    assert rows[0]["result"]["speedup"] < 1.0
    asked = invoke("ask", "mine", "--parent", rows[0]["id"]).stdout
    assert "'y' was not declared" in asked and "values are wrong" in asked and "this program" in asked
    result = invoke("tell", "mine", "fast.cpp", "--author", "language-model", "--no-catalogue")
    assert result.exit_code == 0, result.output
    assert "the best so far" in result.stdout
    done = invoke("tell", "mine", "--finish", "--no-catalogue", "--json")
    best = json.loads(done.stdout)["best"]
    assert best["verified"] and best["speedup"] > 1.0
    assert best["origin"]["kind"] == "model"
    assert Path("mine/best.cpp").read_text() == sources["fast"]


def test_a_pooled_speedup_says_that_the_table_is_one_measurement(bench: FakeBench, run: str, invoke: Invoke) -> None:
    first = invoke("tell", run, write("a.cpp", "int a;")).stdout
    assert "pooled" not in first
    assert invoke("tell", run, "--finish").exit_code == 0
    assert invoke("ask", "second", *QUICK).exit_code == 0
    again = invoke("tell", "second", "a.cpp").stdout
    assert "measured in an earlier run" in again
    assert "pooled over 2 measurements; the table shows the latest of them alone" in again


def test_what_is_slower_than_the_reference_is_not_called_the_best(bench: FakeBench, run: str, invoke: Invoke) -> None:
    words = {}
    for number in range(8):
        name = f"m{number}"
        assert invoke("ask", name, *QUICK).exit_code == 0
        found = invoke("tell", name, write(f"{number}.cpp", f"int a{number};"))
        row = told(invoke, name, f"{number}.cpp")["results"][0]
        words[row["result"]["speedup"] < 1.0] = found.stdout
    assert "the fastest so far, but slower than the reference" in words[True]
    assert "the best so far" in words[False]


def test_what_a_step_cannot_judge_is_told(bench: FakeBench, run: str, invoke: Invoke) -> None:
    """A bench that gives no outcome stops the step; the next one takes it up."""

    class Silent(FakeBench):
        def measure(
            self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
        ) -> Iterator[tuple[Candidate, Measurement]]:
            return iter(())

    honest = bench.measure
    bench.measure = Silent().measure  # type: ignore[method-assign]
    result = invoke("tell", run, write("a.cpp"))
    assert result.exit_code == 1
    assert "gave no outcome" in result.stderr
    bench.measure = honest  # type: ignore[method-assign]
    assert told(invoke, run, "a.cpp")["results"][0]["result"]["status"] == "ok"
