"""`import foretell as ft`: the verbs as functions, runs as objects, on a fake bench and in plain scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import foretell as ft
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.protocols import Bench
from foretell.kernels.search import StopReason
from foretell.kernels.task import Task
from foretell.testing import BenchConformance, FakeBench, FakeForecaster
from tests.kernels.tasks.test_module import CPU

SRC = Path(__file__).parents[2] / "src"
HEAD = 'extern "C" void kernel(const float* x, float* out, long long rows, long long cols)'


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path / "cache"))
    return tmp_path


class Answers:
    """A language model that writes another program each time."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return f"Here it is:\n```cpp\n{HEAD} {{ int n{len(self.prompts)} = {len(self.prompts)}; }}\n```\n"


def fake() -> FakeBench:
    return FakeBench(failure_share=0.0)


class TestTasks:
    def test_by_name_path_and_value(self) -> None:
        assert ft.task("softmax").device_kind == "cpu" and ft.task("softmax", "gpu").device_kind == "gpu"
        assert ft.task("mish").device_kind == "gpu", "which only a GPU has"
        Path("twice.py").write_text(CPU)
        task = ft.task(Path("twice.py"))
        assert ft.task(task) is task and isinstance(task, ft.Task)
        assert ft.task("twice.py", sizes={"n": 64}).workloads[0].sizes["n"] == 64
        assert repr(task) == f"<task twice (module, for a CPU): timed at {task.workloads[0].name}>"

    def test_what_is_wrong_is_said(self) -> None:
        Path("twice.py").write_text(CPU)
        with pytest.raises(ft.BadInput, match="is a task for a CPU") as error:
            ft.forecast("twice.py", "kernel.py", device="h200")
        assert error.value.expected
        with pytest.raises(ft.BadInput, match="no description of a device"):
            ft.explain("softmax", device="abacus")
        with pytest.raises(ft.BadInput, match="there is no task 'softmx'; did you mean softmax") as error:
            ft.forecast("softmx", "kernel.cpp")
        assert error.value.expected and error.value.do
        with pytest.raises(ft.BadInput, match=r"nofile.py does not exist"):
            ft.task("nofile.py")
        with pytest.raises(ft.BadInput, match=r"no setting 'measurments'.*did you mean measurements"):
            ft.search("softmax", measurments=3, bench=fake())
        with pytest.raises(ft.BadInput, match="no setting 'effort'"):
            ft.new_run("softmax", effort=3)
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            ft.nothing  # noqa: B018


class TestSearch:
    def test_with_a_function_as_the_language_model(self) -> None:
        answers = Answers()
        events: list[str] = []
        run = ft.search(
            "softmax",
            proposer=answers,
            measurements=6,
            candidates=12,
            bench=fake(),
            on_event=lambda event, state: events.append(event.name),
        )
        assert run.best is not None and run.best.verified and run.best.source.startswith(HEAD)
        assert run.state.measured == 6 and "softmax" in answers.prompts[0] and events[-1] == "finished"
        assert run.place == Path("runs/softmax-1") and run.report("out.html").read_text().startswith("<!")
        assert "best" in repr(run) and "<table>" in run._repr_html_()
        assert {u.role for u in run.language_models()} == {"proposer"}
        again = ft.open_run("softmax-1", proposer=answers, measurements=9, candidates=60, bench=fake())
        assert again.carry_on().state.measured > 6, "a finished run continues with a larger budget"

    def test_in_memory_with_parts_of_ones_own(self, own_place: Path) -> None:
        run = ft.search("softmax", keep=False, measurements=4, candidates=16, bench=fake(), use_catalogue=False)
        assert run.best is not None and run.state.finished is not None
        assert not Path("runs").exists()
        assert run.report("page.html").exists()
        with pytest.raises(ft.BadInput, match="int is not a proposer"):
            ft.search("softmax", proposer=3, bench=fake())  # type: ignore[arg-type]

    def test_a_task_of_one_s_own(self) -> None:
        Path("twice.py").write_text(CPU)
        run = ft.search("twice.py", proposer=Answers(), measurements=3, candidates=8, bench=fake())
        assert run.task.name == "twice" and run.best is not None
        Path("twice.py").unlink()
        assert ft.open_run(run.place).task.identity == run.task.identity


class TestAskAndTell:
    def test_the_loop(self) -> None:
        answers = Answers()
        with ft.open_run("runs/mine", task="softmax", measurements=3, bench=fake(), policy="all") as run:
            assert "not started" in repr(run)
            first = run.ask()
            assert run.ask() == first and ft.open_run("runs/mine").ask() == first, "asking changes nothing"
            while not run.spent:
                question = run.ask()
                told = run.tell(answers(question.prompt), parent=question.parent)
                assert told.nodes[0] is not None and told.nodes[0].parents == (question.parent,)
            assert run.state.measured == 3 and run.spent == StopReason.MEASUREMENTS.sentence
            with pytest.raises(ft.BadInput, match="budget of measurements is spent"):
                run.tell(answers(""))
            run.finish()
        state = ft.open_run("runs/mine").state
        assert state.finished is not None and state.finished.reason is StopReason.MEASUREMENTS
        with pytest.raises(ft.BadInput, match="is finished"):
            ft.open_run("runs/mine", bench=fake()).tell(answers(""))

    def test_what_is_told_is_judged_as_if_nothing_more_came(self) -> None:
        run = ft.open_run("mine", task="softmax", bench=fake(), measurements=20)
        node = run.tell(f"{HEAD} {{ int first; }}\n").nodes[0]
        assert run.state.config["policy"] == "value" and node is not None and node.measurement is not None

    def test_what_may_be_told(self) -> None:
        run = ft.open_run("mine", task="softmax", bench=fake(), measurements=20)
        Path("a.cpp").write_text(f"{HEAD} {{ int a; }}\n")
        own = Candidate("softmax", "cpp", f"{HEAD} {{ int own; }}\n", Origin("person"))
        told = run.tell([Path("a.cpp"), f"{HEAD} {{ int b; }}\n", own])
        assert [node.candidate.origin.kind for node in told.nodes if node] == ["person", "model", "person"]
        assert run.tell(Path("a.cpp")).before.rounds == told.state.rounds, "known, so nothing is done again"
        patch = "```diff\n@@ -1 +1 @@\n-" + f"{HEAD} {{ int b; }}\n+{HEAD} {{ int c; }}\n```"
        parent = told.candidates[1].id
        patched = run.tell(patch, parent=parent)
        assert patched.nodes[0] is not None and "int c;" in patched.nodes[0].candidate.source
        for text, words in (("```cpp\nx\n```\n```cpp\ny\n```", "exactly one"), ("  ", "is empty")):
            with pytest.raises(ft.BadInput, match=words):
                run.tell(text)

    def test_no_run_and_no_task(self) -> None:
        with pytest.raises(ft.BadInput, match="there is no run nowhere"):
            ft.open_run("nowhere")


def test_measure_and_forecast_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from foretell.kernels.bench import cpu

    monkeypatch.setattr(cpu, "CpuBench", fake)
    Path("a.cpp").write_text(f"{HEAD} {{ int a; }}\n")
    outcome = ft.measure("softmax", "a.cpp")
    assert outcome.ok and outcome.speedup > 0 and "x (" in repr(outcome) and "<table>" in outcome._repr_html_()
    assert [each.ok for each in ft.measure("softmax", ["a.cpp", f"{HEAD} {{ int b; }}\n"], keep=False)] == [True, True]
    told = ft.forecast("softmax", "a.cpp")
    assert told.learnt_from == 1 and 0 <= told.prob_above(1.2) <= 1 and told.interval()[0] <= (told.speedup or 0)
    assert "chance that it fails" in repr(told) and "<table>" in told._repr_html_()
    mine = ft.forecast("softmax", ["a.cpp"], forecaster=FakeForecaster())
    assert mine[0].forecaster == "fake"


class TestFakeBench(BenchConformance):
    @pytest.fixture
    def bench(self) -> Bench:
        return FakeBench(failure_share=0.5)

    @pytest.fixture
    def task(self) -> Task:
        return ft.task("softmax")

    @pytest.fixture
    def working(self, task: Task) -> list[Candidate]:
        return [c for c, ok in _sorted(task) if ok][:2]

    @pytest.fixture
    def broken(self, task: Task) -> Candidate:
        return next(c for c, ok in _sorted(task) if ok is None)


def _sorted(task: Task) -> list[tuple[Candidate, bool | None]]:
    """Candidates with what the fake bench says of each: works, is wrong, or (None) does not build."""
    bench, found = FakeBench(failure_share=0.5), list[tuple[Candidate, bool | None]]()
    for number in range(40):
        candidate = Candidate(task.name, "cpp", f"int n = {number};")
        [build] = bench.build(task, [candidate])
        [(_, outcome)] = bench.measure(task, [candidate])
        found.append((candidate, outcome.ok if build.ok else None))
    return [(c, ok) for c, ok in found if ok is not False]


def run_script(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(SRC), str(SRC.parent)))}
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False, timeout=200
    )


def test_importing_is_light(tmp_path: Path) -> None:
    heavy = ("numpy", "torch", "typer", "rich", "httpx")
    done = run_script(
        f"import sys, foretell as ft\nft.task, ft.search\nprint([m for m in {heavy} if m in sys.modules])", tmp_path
    )
    assert done.stdout.strip() == "[]", done.stderr


PLAIN = """
print("the script runs")
import os
from foretell.kernels.bench.children import SpawnContext

context = SpawnContext()
process = context.Process(target=os.write, args=(1, b"a child\\n"))
process.start()
process.join()
"""


def test_a_plain_script_is_not_run_again_in_its_processes(tmp_path: Path) -> None:
    done = run_script(PLAIN, tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["a child", "the script runs"]
