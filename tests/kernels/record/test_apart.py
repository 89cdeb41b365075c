"""Recordings in the sandbox: the same as here, unharmed by what others did, and quick once everything is built."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.bench.gpu import builders
from foretell.kernels.devices import described
from foretell.kernels.languages import built
from foretell.kernels.program_codec import to_bytes
from foretell.kernels.record import Reason, record
from foretell.kernels.record.apart import record_apart
from foretell.kernels.sandbox import available
from foretell.kernels.tasks import kernelbench

pytestmark = pytest.mark.skipif(available(server=True) is None, reason="nothing walls foreign code in here")

H200 = described("h200")
TASK = kernelbench.from_text(
    """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.rand(64, 64)]
""",
    "twice",
)
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def twice(x, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 2)


def kernel(x):
    y = torch.empty_like(x)
    twice[(4,)](x, y, B=1024)
    return y
"""


def test_what_is_built_is_used_again_and_gives_the_same_program() -> None:
    pytest.importorskip("triton")
    asked = TASK, TASK.workloads[0], TRITON, "triton", H200
    first = record_apart(*asked)
    assert first.program is not None, first.refusal
    assert list((built.built_dir(TRITON, problem=built.problem_of(TASK.spec)) / "triton").rglob("*.cubin"))
    second, here = record_apart(*asked), record(*asked)
    assert second.program is not None and here.program is not None, second.refusal
    assert to_bytes(first.program) == to_bytes(second.program)
    assert [step.entry for step in here.program.launches()] == [step.entry for step in first.program.launches()]
    assert 0 < second.cpu_seconds < 10


def test_a_problem_leaves_nothing_that_a_candidate_meets_at_another() -> None:
    leave = """
import os, pathlib
place = pathlib.Path(os.environ["FORETELL_CACHE"], "triton", "forged")
place.mkdir(parents=True)
(place / "twice.cubin").write_text("not what the candidate compiles to")
"""
    hostile = kernelbench.from_text(TASK.files[kernelbench.FILE] + leave, "hostile")
    source = "def kernel(x):\n    return x + x\n"
    assert record_apart(hostile, hostile.workloads[0], source, "torch", H200).ok
    assert built.files_of(source, built.problem_of(hostile.spec))
    assert built.files_of(source, built.problem_of(TASK.spec)) == built.files_of(source) == {}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os; os._exit(0)", Reason.FORGED),
        ("import os; os.kill(os.getpid(), 9)", Reason.FAILED),
        ("open('/etc/shadow').read()", Reason.FAILED),
        ("import socket; socket.create_connection(('127.0.0.1', 9), 1)", Reason.FAILED),
        ("open(f'/proc/{os.getppid()}/environ').read()", Reason.FAILED),
        ("open(os.path.join(os.path.dirname(torch.__file__), 'left.py'), 'w')", Reason.FAILED),
        ("torch.mm(x.new_empty(2**30, 2**30), x.new_empty(2**30, 2))", Reason.TOO_LARGE),
    ],
)
def test_what_foreign_code_does_is_a_refusal_and_harms_no_other(body: str, reason: Reason, tmp_path: Path) -> None:
    hostile = f"import os\nimport torch\n\n\ndef kernel(x):\n    {body}\n    return x\n"
    refusal = record_apart(TASK, TASK.workloads[0], hostile, "torch", H200).refusal
    assert refusal is not None and refusal.reason in (reason, Reason.FAILED), refusal
    assert "\n" not in refusal.sentence and "root:" not in refusal.sentence
    honest = record_apart(TASK, TASK.workloads[0], "def kernel(x):\n    return x * 2\n", "torch", H200)
    assert honest.program is not None, honest.refusal


def test_a_copy_of_what_was_built_names_its_own_files(tmp_path: Path) -> None:
    folder = tmp_path / "triton" / "HASH"
    folder.mkdir(parents=True)
    (folder / "__grp__k.json").write_text('{"child_paths": {"k.cubin": "/elsewhere/HASH/k.cubin"}}')
    (folder / "__grp__odd.json").write_text("odd")
    built.settle(tmp_path)
    assert str(folder / "k.cubin") in (folder / "__grp__k.json").read_text()
    assert (folder / "__grp__odd.json").read_text() == "odd"


def test_threads_that_begin_together_share_one_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A second server would replace the first, whose jobs would end as cancelled."""
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    monkeypatch.setattr(builders, "PRELOAD", "json")
    monkeypatch.setattr(builders, "_build_server", cache(builders._build_server.__wrapped__))
    barrier = threading.Barrier(4)

    def server() -> object:
        barrier.wait()
        return builders.build_server()

    with ThreadPoolExecutor(4) as pool:
        found = {id(each) for each in [future.result() for future in [pool.submit(server) for _ in range(4)]]}
    builders.build_server().close()
    assert len(found) == 1
