"""The table of kernels that language models wrote: packing loose files, proofs, splits, and labels from a bench."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("torch")

from benchmarks.real import measure, pack, table
from benchmarks.real.listing import FOLDER, FORMS, problem_files, tiny_sizes
from benchmarks.real.turns import TimedAlone, Turns
from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.handle import WorkerHandle
from foretell.kernels.corpus import labels, real
from foretell.kernels.record.refusal import Reason, Recording, Refusal
from foretell.kernels.tasks import load
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.sizes import resized
from foretell.kernels.tasks.trees import leaves
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import DEVICE, EFFORT

PROBLEM = "logsumexp_rows"
KERNEL = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        largest = x.amax(dim=1, keepdim=True)
        shifted = (x - largest).exp().sum(dim=1)
        return shifted.log() + largest[:, 0] * 1.0
"""
OTHER = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.sum()\n"


def _loose(folder: Path, texts: dict[str, str], problem: str = PROBLEM) -> Path:
    (folder / problem).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / problem / name).write_text(text)
    return folder


def _packed(tmp_path: Path) -> list[dict[str, Any]]:
    texts = {
        "101_first.py": KERNEL,
        "102_improvement.py": f"# parent: 101\n{KERNEL.replace('1.0', '1.000')}",
        "103_first.py": OTHER,
        "104_repair.py": f"# parent: 103\n{OTHER.replace('x.sum()', 'torch.logsumexp(x, dim=1)')}",
    }
    rows: list[dict[str, Any]] = []
    assert pack.add(_loose(tmp_path / "loose", texts), rows) == []
    real.write(tmp_path, rows)
    return real.read(tmp_path)


def test_files_become_rows_once_with_parents_and_near_duplicates(tmp_path: Path) -> None:
    rows = _packed(tmp_path)
    first, improved, other, repaired = rows
    assert [row["number"] for row in rows] == [101, 102, 103, 104]
    assert improved["parent"] == improved["near"] == first["near"] == first["id"]
    assert repaired["parent"] == other["id"] and repaired["near"] == repaired["id"]
    assert {row["split"] for row in rows} == {real.split_of(PROBLEM)}
    assert list(real.problems(rows)) == []
    before = len(rows)
    assert pack.add(tmp_path / "loose", rows) == [] and len(rows) == before


def test_a_changed_file_replaces_its_kernel_and_equal_texts_count_once(tmp_path: Path) -> None:
    rows = _packed(tmp_path)
    old = rows[0]["id"]
    _loose(tmp_path / "loose", {"101_first.py": KERNEL.replace("amax", "max"), "105_first.py": OTHER})
    [repeated] = pack.add(tmp_path / "loose", rows)
    assert repeated.number == 105 and "same text" in repeated.fault
    assert len(rows) == 4 and old not in {row["id"] for row in rows}
    real.write(tmp_path, rows)
    first, improved = real.read(tmp_path)[:2]
    assert improved["parent"] == first["id"] and list(real.problems(real.read(tmp_path))) == []


def test_files_that_are_no_kernels_are_left_out_with_the_reason(tmp_path: Path) -> None:
    texts = {
        "kernel.py": KERNEL,
        "101_first.py": "def broken(:\n",
        "102_first.py": "x = 1\n",
        "103_improvement.py": KERNEL,
        "104_repair.py": f"# parent: 99\n{KERNEL}",
        "105_first.py": f"# parent: 103\n{KERNEL}",
    }
    folder = _loose(_loose(tmp_path, texts), {"101_first.py": KERNEL}, "no_such_problem")
    rows: list[dict[str, Any]] = []
    faults = {f"{item.problem}/{item.path.name}": item.fault for item in pack.add(folder, rows)}
    assert rows == [] and len(faults) == len(texts) + 1
    assert "does not parse" in faults[f"{PROBLEM}/101_first.py"] and "no such" in faults["no_such_problem/101_first.py"]
    assert "no parent 99" in faults[f"{PROBLEM}/104_repair.py"] and "ModelNew" in faults[f"{PROBLEM}/102_first.py"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"source": KERNEL + "\nextra = 1\n"}, "its id is not that of its source"),
        ({"stripped": "x"}, "its stripped source"),
        ({"kind": "draft"}, "its kind is 'draft'"),
        ({"kind": "improvement"}, "a improvement with parent None"),
        ({"kind": "repair", "parent": "0" * 16}, "is not a kernel of the same problem"),
        ({"language": "triton"}, "its source's torch"),
        ({"recorded": False}, "with the refusal ''"),
        ({"number": 103}, "has 2 kernels with the number 103"),
        ({"split": "nowhere"}, "it is in nowhere"),
        ({"near": "0" * 16}, "it is near 0000000000000000"),
        ({"task": "0" * 32}, "its task is not that of its text"),
        ({"reference": "x = 1\n"}, "does not define Model"),
    ],
)
def test_verification_finds_what_is_wrong(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    rows = _packed(tmp_path)
    rows[0] |= change
    assert any(says in fault for fault in real.problems(rows))


@pytest.mark.full
def test_the_committed_kernels_are_verified() -> None:
    rows = real.read()
    assert len(rows) >= 500 and list(real.problems(rows)) == []
    assert list(labels.problems(labels.read(), labels.read_steps(), rows)) == []


@pytest.mark.full
def test_a_kernel_is_recorded_or_the_reason_is_kept(tmp_path: Path) -> None:
    rows = _packed(tmp_path)[:1]
    broken = real.new_row(PROBLEM, rows[0]["reference"], OTHER.replace("x.sum()", "x.item()"), "first", 105, None)
    rows.append(broken)
    pack.check_all(rows, tmp_path, 600.0, 1)
    assert [row["recorded"] for row in rows] == [True, False]
    assert rows[0]["library_calls"] > 0 and rows[0]["launches"] == 0 and rows[1]["refusal"]
    assert "1 of 2 recorded (50%)" in pack.status(real.read(tmp_path), [])


def test_a_recorder_without_an_answer_leaves_a_kernel_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    row = real.new_row(PROBLEM, problem_files()[PROBLEM].read_text(), KERNEL, "first", 101, None)
    silent = Recording(refusal=Refusal(Reason.FAILED, "it did not finish"))
    monkeypatch.setattr(pack, "record_apart", lambda *_: silent)
    assert pack.checks(row) == {}
    monkeypatch.setattr(pack, "record_apart", lambda *_: replace(silent, cpu_seconds=1.0))
    assert pack.checks(row)["recorded"] is False


SMALL_PROBLEM = """
import torch

count = 4096
TINY = {"count": 40}


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1


def get_inputs():
    return [torch.randn(count)]
"""
TRITON = """
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"])
@triton.jit
def body(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2 + 1, mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda and torch.cuda.get_device_properties(x.device).multi_processor_count > 0
        out = torch.empty(x.shape, device="cuda")
        body[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, out, x.numel())
        return out
"""


@pytest.mark.parametrize(
    ("change", "verdict", "says"),
    [
        (("", ""), "agrees", ""),
        (("* 2 + 1, mask", "* 2 + 2, mask"), "differs", "40 of 40 values are wrong"),
        (("return out", "return out.flatten()[:3]"), "differs", "shapes (3,)"),
        (("        return out", "        raise ValueError('no')"), "not run", "ValueError: no"),
    ],
)
def test_kernels_are_executed_at_small_sizes_without_a_gpu(change: tuple[str, str], verdict: str, says: str) -> None:
    pytest.importorskip("triton")
    row = real.new_row("doubles", SMALL_PROBLEM, TRITON.replace(*change), "first", 101, None)
    assert pack.is_to_be_emulated(row)
    row |= pack.emulated(row)
    assert (row["interpreter"], says in row["difference"]) == (verdict, True), row["difference"]
    assert not pack.is_to_be_emulated(row)


def test_languages_are_read_off_the_text() -> None:
    texts = {
        "triton": "@triton.jit",
        "cuda": "load_inline(",
        "foretell_cuda": "from foretell import cuda",
        "mixed": "@triton.jit load_inline(",
        "torch": "x",
    }
    assert {name: real.kernel_language(text) for name, text in texts.items()} == {name: name for name in texts}


def test_about_a_third_of_the_problems_is_held_out_and_none_that_test_forms_are_there() -> None:
    names = problem_files()
    held = sum(real.split_of(name) == "held_out" for name in names)
    assert 0.2 < held / len(names) < 0.45
    assert not any(name.startswith(FORMS) for name in names) and "gumbel_sample" not in names
    assert real.split_of("logsumexp_rows") == "development"  # fixed: a change would move rows across the split


def test_the_table_of_problems_is_up_to_date_and_the_page_is_made_from_it() -> None:
    rows, files = table.read(), problem_files()
    assert set(rows) == set(files) and len(files) >= 180
    for name, path in files.items():
        assert rows[name]["hash"] == table.text_hash(path.read_text(encoding="utf-8")), name
        assert rows[name]["split"] == real.split_of(name) and "refusal" not in rows[name]
    assert table.PAGE.read_text() == table.page(rows)


NEW = sorted(path.stem for path in FOLDER.glob("*.py"))
QUICK = NEW[:: len(NEW) // 8]


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.full) for name in NEW if name not in QUICK)]
)
def test_problems_run_at_their_small_sizes(name: str) -> None:
    path = problem_files()[name]
    sizes = tiny_sizes(path.read_text(encoding="utf-8"))
    task = resized(load(path), sizes)
    runtime = runtime_of(task)
    inputs = runtime.inputs(task.workloads[0], 0, "cpu")
    outputs = runtime.expected(inputs, "cpu")
    assert sizes and outputs and max(each.numel() for each in (*leaves(inputs), *outputs)) < 100_000
    assert all(bool(each.isfinite().all()) for each in outputs if each.is_floating_point())


def test_a_bench_is_alone_from_loading_a_candidate_until_its_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(tmp_path / "lock")
    other = os.open(tmp_path / "lock", os.O_RDWR)

    def is_free(mode: int) -> bool:
        try:
            fcntl.flock(other, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(other, fcntl.LOCK_UN)
        return True

    def asked(_: WorkerHandle, timeout_s: float, **command: Any) -> dict[str, Any]:
        return {"shared": is_free(fcntl.LOCK_SH), "alone": is_free(fcntl.LOCK_EX)}

    monkeypatch.setattr(WorkerHandle, "ask", asked)
    worker = TimedAlone(turns)
    with turns.together():
        assert worker.ask(1.0, do="task") == {"shared": True, "alone": False}
        assert worker.ask(1.0, do="load") == {"shared": False, "alone": False}
        assert worker.ask(1.0, do="pairs") == {"shared": False, "alone": False}
    assert is_free(fcntl.LOCK_EX)
    os.close(other)


def test_whoever_waits_to_be_alone_comes_before_those_who_come_later(tmp_path: Path) -> None:
    """Benches that open one problem after the other, each with others, kept a candidate waiting for minutes."""
    first, waiting, later = (Turns(tmp_path / "turns.lock") for _ in range(3))
    order: list[str] = []

    def alone() -> None:
        with waiting.together():
            entered.set()
            waiting.alone()
            order.append("alone")

    def afterwards() -> None:
        with later.together():
            order.append("later")

    entered = threading.Event()
    with first.together():
        threads = [threading.Thread(target=each) for each in (alone, afterwards)]
        threads[0].start()
        entered.wait(60)
        while not _is_locked(tmp_path / "turns.gate"):
            time.sleep(0.01)
        threads[1].start()
        time.sleep(0.2)
        assert order == []
    for thread in threads:
        thread.join(60)
    assert order == ["alone", "later"]


def _is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_benches_begin_with_different_problems_and_each_plans_all(tmp_path: Path) -> None:
    kernels = [
        real.new_row(name, SMALL_PROBLEM.replace("4096", str(4096 + place)), KERNEL, "first", 101, None)
        for place, name in enumerate("abcdef")
    ]
    plans = [[item.task for item in measure.plan(kernels, number, 3)] for number in range(3)]
    assert {task for each in plans for task in each[:2]} == {kernel["task"] for kernel in kernels}
    assert all(sorted(each) == sorted(plans[0]) and len(set(each)) == 6 for each in plans)


def _on_host(turns: Turns, benches: int) -> GpuBench:
    return GpuBench(EFFORT, 1, DEVICE, TimedAlone(turns, "foretell.testing.host:Host"), Host())


def test_kernels_are_measured_once_and_become_labels(tmp_path: Path) -> None:
    rows = _packed(tmp_path)
    small = rows[0]["reference"].replace(_sizes(rows[0]["reference"]), "(8, 64)")
    task = real.task_of(PROBLEM, small)
    rows = [row | {"reference": small, "task": task} for row in (rows[0], rows[2])]
    rows = [row | {"id": real.candidate_of(row).likeness} for row in rows]
    real.write(tmp_path, rows)
    tally = measure.measure(tmp_path, real.read(tmp_path), [], 600.0, make=_on_host)
    assert tally.measured == 2 and dict(tally.statuses) == {"ok": 1, "wrong": 1}
    steps = {"program": PROBLEM, "device": DEVICE.name, "toolchain": "", "steps": [["aten::amax", 2.0], ["b", 3.0]]}
    (tmp_path / measure.STEPS).write_text(json.dumps(steps) + "\n")
    assert measure.add(tmp_path, tmp_path) == (2, 2) == measure.add(tmp_path, tmp_path)
    outcomes, timed = labels.read(tmp_path), labels.read_steps(tmp_path)
    assert [step["us"] for step in timed] == [2.0, 3.0]
    # On this stand-in, which times a few microseconds by a clock, medians of times may not give the median ratio.
    assert [fault for fault in labels.problems(outcomes, timed, rows) if "its times give" not in fault] == []
    ok = next(label for label in outcomes if label["status"] == "ok")
    assert ok["id"] == rows[0]["id"] and ok["low"] <= ok["speedup"] <= ok["high"] and ok["device_us"] > 0
    assert measure.labelled(outcomes, DEVICE) == {row["id"] for row in rows}  # not measured again
    assert measure.labelled(outcomes, replace(DEVICE, toolchain="newer")) == set()


def _sizes(text: str) -> str:
    return text[text.index("torch.randn(") + len("torch.randn") : text.index(")", text.index("torch.randn(")) + 1]


GOOD = {"id": "k", "device": "d", "toolchain": "t", "status": "ok", "speedup": 2.0, "low": 1.9, "high": 2.1}
GOOD |= {"device_us": 5.0, "reference_us": 10.0}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": "x"}, "is of no kernel"),
        ({"status": "infrastructure"}, "status infrastructure"),
        ({"speedup": None}, "with the figures"),
        ({"low": 2.05}, "misses"),
        ({"device_us": 1.0}, "its times give 10.0"),
        ({"device_us": -5.0}, "not all positive"),
    ],
)
def test_verification_of_labels_finds_what_is_wrong(change: dict[str, Any], says: str) -> None:
    kernels = [{"id": "k", "problem": "p"}]
    assert list(labels.problems([GOOD], [], kernels)) == []
    assert any(says in fault for fault in labels.problems([GOOD | change], [], kernels))
    assert any("occurs 2 times" in fault for fault in labels.problems([GOOD, GOOD], [], kernels))
    step = {"program": "p", "step": 0, "us": 1.0}
    assert list(labels.problems([], [step], kernels)) == []
    assert list(labels.problems([], [step | {"program": "q"}], kernels))
