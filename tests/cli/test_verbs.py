"""What each verb says and leaves behind, on a bench that costs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from foretell import __version__
from foretell.cli import doctor as doctor_verb
from foretell.kernels import library
from foretell.kernels.bench import doctor
from foretell.kernels.forecast import FORECASTERS
from foretell.kernels.policy import POLICIES
from foretell.kernels.profiles import PROFILES
from foretell.kernels.search import STRATEGIES, load_run
from foretell.report.numbers import times
from tests.cli.conftest import FakeBench, Invoke
from tests.report.synthetic import events_of_a_run, write_run

KERNEL = 'extern "C" void kernel(const float* x, float* out, long long rows, long long cols) {}\n'
SMALL = ("--profile", "quick", "--measurements", "12", "--candidates", "48")


@pytest.fixture
def kernel(own_place: Path) -> Path:
    (own_place / "mine.cpp").write_text(KERNEL)
    return Path("mine.cpp")


class TestRoot:
    def test_version_and_help(self, invoke: Invoke) -> None:
        assert invoke("--version").stdout.strip() == f"foretell {__version__}"
        for result in (invoke("--help"), invoke()):
            assert result.exit_code == 0
            assert all(verb in result.stdout for verb in ("search", "measure", "forecast", "tasks", "report", "doctor"))

    def test_help_loads_nothing_heavy(self) -> None:
        heavy = ("numpy", "sklearn", "scipy", "jinja2")
        code = f"import sys, foretell.cli.app; print([name for name in {heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_help_names_every_choice(self, invoke: Invoke) -> None:
        text = invoke("search", "--help").stdout
        assert all(name in text for name in (*POLICIES, *STRATEGIES, *PROFILES, *FORECASTERS))


class TestTasks:
    def test_list_by_family(self, invoke: Invoke) -> None:
        text = invoke("tasks").stdout
        assert all(name in text and task.family in text for name, task in library.tasks().items())
        assert {row["name"] for row in json.loads(invoke("tasks", "--json").stdout)} == set(library.tasks())

    def test_one(self, invoke: Invoke) -> None:
        text = invoke("tasks", "softmax").stdout
        task = library.get("softmax")
        assert 'extern "C" void kernel(const float* x' in text
        assert task.tolerance.reason[:30] in text
        assert all(workload.name in text for workload in (*task.workloads, *task.extra))

    def test_reference_can_be_piped_into_a_file(self, invoke: Invoke) -> None:
        assert invoke("tasks", "softmax", "--reference").stdout == library.get("softmax").references["cpp"]

    def test_tasks_of_a_gpu(self, invoke: Invoke) -> None:
        known = library.tasks("gpu")
        assert {row["name"] for row in json.loads(invoke("tasks", "--kind", "gpu", "--json").stdout)} == set(known)
        only = next(name for name in known if name not in library.tasks())
        shown = invoke("tasks", only).stdout
        assert "def kernel(" in shown and "--language triton" in shown
        assert invoke("tasks", "softmax", "--kind", "gpu", "--reference").stdout == known["softmax"].references["torch"]
        assert "is for a GPU only" in invoke("search", only, "--language", "cpp").stderr
        assert invoke("tasks", "--kind", "tpu").exit_code == 2

    def test_the_contract_of_a_language(self, invoke: Invoke) -> None:
        shown = invoke("tasks", "softmax", "--language", "triton").stdout
        assert "`kernel(x)`" in shown and "@triton.jit" in shown and "x float32[rows, cols]" in shown
        assert all(workload.name in shown for workload in library.get("softmax", "gpu").workloads)
        data = json.loads(invoke("tasks", "softmax", "--language", "cuda", "--json").stdout)
        assert "foretell.cuda" in data["contract"] and data["workloads"][0]["sizes"] == {"rows": 8192, "cols": 4096}
        assert "One C++20 file" in invoke("tasks", "softmax", "--language", "cpp").stdout
        for words in (
            ("softmax", "--kind", "cpu", "--language", "cuda"),
            ("--language", "cuda"),
            ("softmax", "--language", "c"),
        ):
            assert invoke("tasks", *words).exit_code == 2

    def test_json_has_floors(self, invoke: Invoke) -> None:
        data = json.loads(invoke("tasks", "softmax", "--json").stdout)
        assert all(row["floor_s"] > 0 for row in data["workloads"]) and data["reference"]


class TestMeasure:
    def test_for_people(self, bench: FakeBench, invoke: Invoke, kernel: Path) -> None:
        result = invoke("measure", "softmax", kernel)
        assert result.exit_code == 0
        assert "mine.cpp" in result.stdout and "95 % interval" in result.stdout and "Next:" in result.stdout
        assert all(workload.name in result.stdout for workload in library.get("softmax").workloads)

    def test_failure_is_exit_code_one_with_its_message(self, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "bad.cpp").write_text("WRONG")
        (own_place / "worse.cpp").write_text("BROKEN")
        result = invoke("measure", "softmax", "bad.cpp", "worse.cpp")
        assert result.exit_code == 1
        assert "wrong result" in result.stdout and "3 of 3 values are wrong" in result.stdout
        assert "did not compile" in result.stdout and "was not declared" in result.stdout
        assert "worse.cpp:1:1: error" in result.stdout and "kernel.cpp" not in result.stdout

    def test_json(self, bench: FakeBench, invoke: Invoke, kernel: Path, own_place: Path) -> None:
        (own_place / "bad.cpp").write_text("WRONG")
        result = invoke("measure", "softmax", kernel, "bad.cpp", "--json")
        data = json.loads(result.stdout)
        assert result.exit_code == 1
        assert [row["status"] for row in data["results"]] == ["ok", "wrong"]
        assert data["results"][0]["file"] == "mine.cpp" and data["results"][0]["timings"]

    def test_what_was_disturbed_is_said_not_to_be_kept(self, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "busy.cpp").write_text("// DISTURBED")
        text = invoke("measure", "softmax", "busy.cpp").stdout
        assert "disturbed by other processes: not kept in the catalogue" in text
        assert "intervals of 1 of 1 measurement are wide, and these are not kept in the catalogue" in text
        assert "nothing was measured here yet" in invoke("forecast", "softmax", "busy.cpp").stdout


class TestForecast:
    def test_for_people(self, bench: FakeBench, invoke: Invoke, kernel: Path) -> None:
        result = invoke("forecast", "softmax", kernel)
        assert result.exit_code == 0
        assert "1x to 1.41x" in result.stdout and "█" in result.stdout and "chance that it fails" in result.stdout
        assert "nothing was measured here yet" in result.stdout

    def test_it_learns_from_what_was_measured(self, bench: FakeBench, invoke: Invoke, kernel: Path) -> None:
        invoke("measure", "softmax", kernel)
        assert "learnt from 1 measurement made here" in invoke("forecast", "softmax", kernel).stdout

    def test_a_device_unlike_those_learnt_from_is_cautioned_about(
        self, bench: FakeBench, invoke: Invoke, kernel: Path
    ) -> None:
        text = invoke("forecast", "softmax", kernel).stdout
        assert "caution: the model has learnt from kernels on Intel(R) Xeon(R) Processor x2" in text
        assert "Example CPU x8" in json.loads(invoke("forecast", "softmax", kernel, "--json").stdout)["caution"]
        assert "caution" not in invoke("forecast", "softmax", kernel, "--forecaster", "roofline").stdout
        bench.device = replace(bench.device, name="Intel(R) Xeon(R) Processor x2")
        assert "caution" not in invoke("forecast", "softmax", kernel).stdout

    def test_a_measurement_of_the_same_source_is_told(
        self, bench: FakeBench, invoke: Invoke, kernel: Path, own_place: Path
    ) -> None:
        [row] = json.loads(invoke("measure", "softmax", kernel, "--json").stdout)["results"]
        (own_place / "other.cpp").write_text(kernel.read_text() + "void other() {}\n")
        text = invoke("forecast", "softmax", kernel, "other.cpp").stdout
        assert text.count("this very source was measured before") == 1
        assert f"measured before: {times(row['speedup'], sign='x')} (95 % interval" in text
        assert text.index("this very source was measured before") < text.index("if it works"), "what is known leads"
        assert "foretell measure softmax other.cpp" in text
        results = json.loads(invoke("forecast", "softmax", kernel, "other.cpp", "--json").stdout)["results"]
        assert [each["measured"] and each["measured"]["speedup"] for each in results] == [row["speedup"], None]

    def test_json(self, bench: FakeBench, invoke: Invoke, kernel: Path) -> None:
        data = json.loads(invoke("forecast", "softmax", kernel, "--json").stdout)
        [row] = data["results"]
        assert sum(one["probability"] for one in row["bins"]) == pytest.approx(1.0)
        assert row["low"] <= row["speedup"] <= row["high"] and 0 <= row["p_fail"] <= 1

    def test_what_does_not_build_is_a_failure(self, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "bad.cpp").write_text("BROKEN")
        result = invoke("forecast", "softmax", "bad.cpp")
        assert result.exit_code == 1 and "does not build" in result.stdout
        document = json.loads(invoke("forecast", "softmax", "bad.cpp", "--json").stdout)
        assert document["results"][0]["builds"] is False

    def test_only_what_builds_has_a_forecast_to_be_warned_about(
        self, bench: FakeBench, invoke: Invoke, kernel: Path, own_place: Path
    ) -> None:
        (own_place / "bad.cpp").write_text("BROKEN")
        warnings = invoke("forecast", "softmax", "bad.cpp", kernel, "--forecaster", "program").stderr
        assert f"no answer about {kernel}" in warnings and "no answer about bad.cpp" not in warnings


class TestSearch:
    def test_for_people(self, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        result = invoke("search", "softmax", *SMALL)
        assert result.exit_code == 0
        assert "times as fast as the reference" in result.stdout and "verified" in result.stdout
        assert "measured 12 of" in result.stdout
        assert "runs/softmax-1/report.html" in result.stdout
        assert "foretell measure softmax runs/softmax-1/best.cpp" in result.stdout
        assert "round 1:" in result.stderr and "fastest so far" in result.stderr
        state = load_run(own_place / "runs" / "softmax-1")
        assert state.best is not None
        assert (own_place / "runs/softmax-1/best.cpp").read_text() == state.best.candidate.source
        assert "</html>" in (own_place / "runs/softmax-1/report.html").read_text()

    def test_json_is_one_document(self, bench: FakeBench, invoke: Invoke) -> None:
        result = invoke("search", "softmax", *SMALL, "--json", "--run", "here", "--seed", "3")
        data = json.loads(result.stdout)
        assert (data["task"], data["run"], data["measured"], data["config"]["seed"]) == ("softmax", "here", 12, 3)
        assert data["best"]["verified"] is True and Path(data["report"]).exists()

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_every_strategy_can_be_asked_for(self, strategy: str, bench: FakeBench, invoke: Invoke) -> None:
        result = invoke("search", "softmax", *SMALL, "--json", "--no-report", "--strategy", strategy)
        assert json.loads(result.stdout)["config"]["strategy"] == strategy

    def test_runs_are_numbered(self, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        for _ in range(2):
            invoke("search", "softmax", *SMALL, "--no-report", "--no-catalogue")
        assert sorted(path.name for path in (own_place / "runs").iterdir()) == ["softmax-1", "softmax-2"]
        assert not list((own_place / "runs").glob("*/report.html"))

    def test_the_catalogue_is_used_unless_refused(self, bench: FakeBench, invoke: Invoke) -> None:
        first = json.loads(invoke("search", "softmax", *SMALL, "--policy", "all", "--json").stdout)
        again = invoke("search", "softmax", *SMALL, "--policy", "all", "--json")
        second = json.loads(again.stdout)
        third = json.loads(invoke("search", "softmax", *SMALL, "--policy", "all", "--json", "--no-catalogue").stdout)
        assert (first["reused"], second["reused"], third["reused"]) == (0, 12, 0)
        assert "reused from an earlier run; 1 measured" in again.stderr
        assert "of wall time" in invoke("search", "softmax", *SMALL, "--policy", "all").stdout

    def test_ctrl_c_keeps_everything_and_tells_how_to_go_on(self, bench: FakeBench, invoke: Invoke) -> None:
        bench.interrupt_at = 5
        result = invoke("search", "softmax", *SMALL)
        assert result.exit_code == 130
        assert "foretell search --resume runs/softmax-1" in result.stdout
        assert "measured 5 of" in result.stdout
        bench.interrupt_at = None
        again = invoke("search", "softmax", "--resume", "runs/softmax-1")
        assert again.exit_code == 0 and "measured 12 of" in again.stdout
        finished = invoke("search", "softmax", "--resume", "softmax-1")
        assert finished.exit_code == 0 and "measured 12 of" in finished.stdout

    def test_nothing_that_works_is_a_failure(
        self, bench: FakeBench, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from foretell.kernels.measurement import Measurement, Status

        wrong = Measurement(Status.WRONG, "all values are wrong")
        monkeypatch.setattr(FakeBench, "_judge", lambda *_: wrong)
        result = invoke("search", "softmax", *SMALL)
        assert result.exit_code == 1 and "no candidate that was measured works" in result.stdout
        assert "report.html" in result.stdout


class TestReport:
    def test_default_place_and_a_chosen_one(self, invoke: Invoke, own_place: Path) -> None:
        write_run(own_place / "runs" / "softmax-1", events_of_a_run(rounds=2))
        for given in ("softmax-1", "runs/softmax-1", "runs/softmax-1/journal.jsonl"):
            assert invoke("report", given).stdout.strip() == "runs/softmax-1/report.html"
        assert invoke("report", "softmax-1", "-o", "out/r.html").stdout.strip() == "out/r.html"
        assert (own_place / "out/r.html").read_bytes() == (own_place / "runs/softmax-1/report.html").read_bytes()


class TestDoctor:
    @pytest.mark.parametrize(("worst", "code"), [(True, 0), (None, 0), (False, 1)])
    def test_exit_code_follows_the_worst(
        self, worst: bool | None, code: int, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = [doctor.Check("python", True, "3.11"), doctor.Check("walls", worst, "thin [here]")]
        monkeypatch.setattr(doctor, "checks", lambda: found)
        result = invoke("doctor")
        assert result.exit_code == code and "thin [here]" in result.stdout
        document = json.loads(invoke("doctor", "--json").stdout)
        assert document["ok"] is (code == 0) and document["checks"][1]["ok"] is worst

    def test_every_verdict_has_a_word(self) -> None:
        assert set(doctor_verb._SIGNS) == {True, False, None}
