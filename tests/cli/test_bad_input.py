"""Every way to get it wrong ends in one clear message and exit code 2."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import Result

from foretell.kernels.bench import cpu
from foretell.kernels.languages.cpp import NoCompiler
from foretell.kernels.search import BenchBroken
from foretell.kernels.store import Journal, StorageFull
from foretell.lm.local import LocalModel
from tests.cli.conftest import FakeBench, Invoke
from tests.report.synthetic import events_of_a_run, write_run

GOOD = 'extern "C" void kernel() {}'


def refused(result: Result, *words: str, code: int = 2) -> None:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert re.search("^error: ", result.stderr, re.MULTILINE)
    for word in words:
        assert word in result.stderr, result.stderr


@pytest.fixture
def run(own_place: Path) -> Path:
    return write_run(own_place / "runs" / "softmax-1", events_of_a_run(rounds=2, verify=False))


@pytest.mark.parametrize("verb", ["search", "measure", "forecast", "tasks"])
def test_unknown_task_suggests_the_nearest(verb: str, bench: FakeBench, invoke: Invoke) -> None:
    files = ["mine.cpp"] if verb in ("measure", "forecast") else []
    refused(invoke(verb, "sofmax", *files), "no task 'sofmax'", "did you mean softmax", "foretell tasks")


@pytest.mark.parametrize("name", ["my kernel.cpp", "./absent.cu"])
@pytest.mark.parametrize("verb", ["search", "measure", "tasks"])
def test_a_kernel_in_the_place_of_a_task(verb: str, name: str, invoke: Invoke, own_place: Path) -> None:
    (own_place / "my kernel.cpp").write_text(GOOD)
    files = [name] if verb == "measure" else []
    refused(invoke(verb, name, *files), "is a kernel, not a task", "foretell measure TASK FILE")


def test_a_value_that_is_no_number_is_named(invoke: Invoke) -> None:
    refused(invoke("search", "softmax", "--measurements", "many"), "'--measurements': 'many' is not a valid integer")
    refused(invoke("search", "softmax", "--seconds", "1,5"), "'--seconds': '1,5' is not a valid")


@pytest.mark.parametrize("verb", ["measure", "forecast"])
class TestFiles:
    def test_missing(self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "there.cpp").write_text(GOOD)
        refused(invoke(verb, "softmax", "absent.cpp"), "no file absent.cpp", ".cpp", "there.cpp")

    def test_directory(self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        refused(invoke(verb, "softmax", own_place), "is a directory")

    @pytest.mark.parametrize("data", [b"\x7fELF\x00\x01", b"int a;\xff\xfe"])
    def test_binary(self, data: bytes, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "a.cpp").write_bytes(data)
        refused(invoke(verb, "softmax", "a.cpp"), "a.cpp", "source text in UTF-8")

    def test_empty(self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "a.cpp").write_text(" \n")
        refused(invoke(verb, "softmax", "a.cpp"), "a.cpp is empty", "entry point")

    def test_huge(self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "a.cpp").write_text("x" * (2 << 20))
        refused(invoke(verb, "softmax", "a.cpp"), "at most")

    def test_language_of_another_device(self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "a.cu").write_text("x = 1")
        words = ("CUDA GPU",) if verb == "measure" else ("cuda", "this device runs cpp", ".cpp")
        refused(invoke(verb, "softmax", "a.cu"), *words)

    def test_python_needs_a_gpu(self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "a.py").write_text("x = 1")
        refused(invoke(verb, "softmax", "a.py"), "GPU")

    def test_unknown_ending(self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
        (own_place / "a.txt").write_text(GOOD)
        refused(invoke(verb, "softmax", "a.txt"), "cannot tell the language of a.txt", ".cpp")

    def test_unreadable(
        self, verb: str, bench: FakeBench, invoke: Invoke, own_place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (own_place / "a.cpp").write_text(GOOD)

        def deny(path: Path, most_bytes: int) -> bytes:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("foretell.inputs.read_plain", deny)
        refused(invoke(verb, "softmax", "a.cpp"), "permission denied: a.cpp")


def test_interrupted_before_anything_is_loaded() -> None:
    program = """
import sys
class Interrupt:
    def find_spec(self, name, *rest):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from foretell.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("below", ["", "below/it"])
def test_a_cache_that_cannot_be_made(
    below: str, bench: FakeBench, invoke: Invoke, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_place / "file").write_text("")
    monkeypatch.setenv("FORETELL_CACHE", str(own_place / "file" / below))
    (own_place / "a.cpp").write_text(GOOD)
    refused(invoke("forecast", "softmax", "a.cpp"), "the cache folder cannot be used", "file", "set FORETELL_CACHE")


def test_a_report_below_a_file(invoke: Invoke, run: Path) -> None:
    refused(invoke("report", run, "-o", run / "journal.jsonl" / "x.html"), "Not a directory", "journal.jsonl")


def test_a_report_that_cannot_be_written_is_named(invoke: Invoke, run: Path) -> None:
    refused(invoke("report", run, "-o", "/proc/x.html"), "/proc/x.html")


@pytest.mark.parametrize("arguments", [("search", "softmax"), ("measure", "softmax", "a.cpp")])
def test_no_compiler(
    arguments: tuple[str, ...], invoke: Invoke, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise NoCompiler("no C++ compiler was found: install g++ or clang++, or name one in the variable CXX")

    monkeypatch.setattr(cpu, "CpuBench", none)
    (own_place / "a.cpp").write_text(GOOD)
    refused(invoke(*arguments), "no C++ compiler", "install g++")
    assert not (own_place / "runs").exists()


def test_full_disk_while_searching(bench: FakeBench, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(journal: Journal, event: str, *payload: object) -> None:
        raise StorageFull(journal.path, "No space left on device")

    monkeypatch.setattr(Journal, "append", full)
    refused(invoke("search", "softmax", "--profile", "quick"), "no room left", "journal.jsonl", "free some space")


def test_full_disk_elsewhere(
    bench: FakeBench, invoke: Invoke, own_place: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(run))

    monkeypatch.setattr(os, "fdopen", full)
    refused(invoke("report", run), "no room left on the disk", "free some space")


@pytest.mark.parametrize("verb", ["report", "search"])
def test_corrupt_journal_names_the_line(verb: str, bench: FakeBench, invoke: Invoke, run: Path) -> None:
    journal = run / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"event"', b'"EVENT"')
    journal.write_bytes(b"\n".join(lines))
    arguments = ["report", str(run)] if verb == "report" else ["search", "softmax", "--resume", str(run)]
    refused(invoke(*arguments), "line 3 of", "is damaged")


def test_run_of_another_task(bench: FakeBench, invoke: Invoke, run: Path) -> None:
    result = invoke("search", "log_softmax", "--resume", "softmax-1")
    refused(result, "is of the task softmax, not log_softmax", "foretell search --resume")


def test_run_of_another_device(bench: FakeBench, invoke: Invoke, run: Path) -> None:
    from dataclasses import replace

    bench.device = replace(bench.device, name="Another CPU")
    refused(invoke("search", "softmax", "--resume", run, "--no-catalogue"), "its device is", "another directory")


def test_run_with_other_settings(bench: FakeBench, invoke: Invoke, run: Path) -> None:
    refused(invoke("search", "softmax", "--resume", run, "--seed", "7"), "was started with --seed 0, not 7")


def test_busy_run(bench: FakeBench, invoke: Invoke, run: Path) -> None:
    with Journal.open(run):
        refused(invoke("search", "softmax", "--resume", run), "another process", "wait for it")


def test_run_that_exists(bench: FakeBench, invoke: Invoke, run: Path) -> None:
    refused(invoke("search", "softmax", "--run", run), "already holds a run", "resume it")


@pytest.mark.parametrize("arguments", [("report", "nowhere"), ("search", "softmax", "--resume", "nowhere")])
def test_run_that_is_not_there(arguments: tuple[str, ...], bench: FakeBench, invoke: Invoke, run: Path) -> None:
    refused(invoke(*arguments), "no run nowhere", "runs/softmax-1")


def test_directory_without_a_run(invoke: Invoke, own_place: Path) -> None:
    refused(invoke("report", own_place), "holds no run", "check the path")


def test_report_into_a_directory(invoke: Invoke, run: Path, own_place: Path) -> None:
    refused(invoke("report", run, "-o", own_place), "is a directory", "report.html")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--profile", "hasty", "quick, standard, thorough"),
        ("--policy", "guess", "selective"),
        ("--strategy", "guess", "puct, greedy, beam, islands, random"),
        ("--forecaster", "oracle", "cascade, features, online, program, roofline"),
        ("--forecaster", "online:oracle", "cascade, features, online, program, roofline"),
        ("--forecaster", "local:/nowhere", "no weights at /nowhere"),
        ("--proposer", "local:/nowhere", "no weights at /nowhere"),
        ("--measurements", "0", "above zero"),
        ("--seconds", "-1", "above zero"),
        ("--seed", "-1", "must not be negative"),
    ],
)
def test_settings_that_make_no_sense(option: str, value: str, words: str, bench: FakeBench, invoke: Invoke) -> None:
    refused(invoke("search", "softmax", option, value), words)


def test_weights_that_cannot_be_read_end_the_search(
    bench: FakeBench, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: LocalModel) -> None:
        raise OSError("no file named model.safetensors")

    monkeypatch.setattr(LocalModel, "load", unreadable)
    result = invoke("search", "softmax", "--profile", "quick", "--forecaster", "local:weights")
    refused(result, "cannot load the weights weights", "no file named model.safetensors", "another model")


def test_run_and_resume_exclude_each_other(bench: FakeBench, invoke: Invoke) -> None:
    refused(invoke("search", "softmax", "--run", "a", "--resume", "b"), "one of the two")


def test_broken_bench_is_a_failure_and_no_bad_input(
    bench: FakeBench, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BenchBroken("8 candidates in a row could not be measured (no memory): check the device, then resume")

    monkeypatch.setattr(FakeBench, "measure", broken)
    refused(invoke("search", "softmax", "--profile", "quick"), "8 candidates in a row", "foretell doctor", code=1)


def test_reference_needs_a_task(invoke: Invoke) -> None:
    refused(invoke("tasks", "--reference"), "needs the name of a task")


def test_a_problem_is_also_one_json_document(bench: FakeBench, invoke: Invoke) -> None:
    import json

    result = invoke("search", "sofmax", "--json")
    assert result.exit_code == 2
    assert "no task 'sofmax'" in json.loads(result.stdout)["error"]["what"]


def test_search_in_a_language_that_nothing_runs(bench: FakeBench, invoke: Invoke) -> None:
    refused(invoke("search", "softmax", "--language", "fortran"), "no language 'fortran'", "triton")


def test_search_on_a_gpu_that_is_not_there(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    from foretell.kernels.bench.gpu import bench, device

    def none() -> None:
        raise device.NoGpu("there is no GPU here")

    monkeypatch.setattr(bench, "detect_gpu", none)
    refused(invoke("search", "softmax", "--language", "triton"), "there is no GPU here", "--language cpp")


def test_a_run_goes_on_in_its_own_language(bench: FakeBench, invoke: Invoke, run: Path) -> None:
    refused(invoke("search", "softmax", "--resume", run, "--language", "triton"), "--language cpp, not triton")
