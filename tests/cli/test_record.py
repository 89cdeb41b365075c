"""`foretell record`: steps of a reference and a candidate, refusals, and what is bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.program_check import check
from foretell.kernels.program_codec import from_bytes
from tests.cli.conftest import Invoke

CANDIDATE = "import torch\n\n\ndef kernel(x):\n    return torch.softmax(x, dim=1)\n"


def test_a_reference_and_a_candidate(invoke: Invoke, own_place: Path) -> None:
    shown = invoke("record", "softmax")
    assert shown.exit_code == 0, shown.stderr
    assert "_softmax" in shown.stdout and "float32[8192 4096]" in shown.stdout and "1 library calls" in shown.stdout
    (own_place / "mine.py").write_text(CANDIDATE)
    told = invoke("record", "softmax", "mine.py", "--workload", "2", "--device", "l40s", "-o", "mine.program", "--json")
    data = json.loads(told.stdout)
    assert data["recorded"] and data["run"][0]["step"] == "_softmax" and data["work"]["flops"] == 5.0 * 65536 * 512
    program = check(from_bytes((own_place / "mine.program").read_bytes()))
    assert program.workload == "rows=65536 cols=512"


def test_what_cannot_be_recorded_says_why(invoke: Invoke, own_place: Path) -> None:
    (own_place / "mine.py").write_text(CANDIDATE.replace("torch.softmax(x, dim=1)", "x / x.sum().item()"))
    told = invoke("record", "softmax", "mine.py")
    assert told.exit_code == 1 and "depends on data" in told.stdout
    data = json.loads(invoke("record", "softmax", "mine.py", "--json").stdout)
    assert data["refusal"]["reason"] == "depends on data" and not data["recorded"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("softmax", "absent.py"),
        ("no_such_task",),
        ("softmax", "--device", "abacus"),
        ("softmax", "--workload", "9"),
        ("softmax", "--workload", "0"),
    ],
)
def test_bad_input(invoke: Invoke, own_place: Path, arguments: tuple[str, ...]) -> None:
    assert invoke("record", *arguments).exit_code == 2
