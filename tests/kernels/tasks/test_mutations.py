"""Damaged sources and specs: each is read or refused, and none crashes the reader."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from foretell.kernels.tasks import BadTask, from_spec, load, of_run
from tests.kernels.tasks.test_flashinfer import DEFINITION, workload
from tests.kernels.tasks.test_module import GPU
from tests.kernels.tasks.test_sources import LISTED, PROBLEM, REFERENCE, write

COUNT = 120
_BITS = (*"[]{}:,'\n -0é\0#", '"', "9" * 30, "null", "true", "&a", "*a", "<<", "1e999")
MODULE = "workloads = [{'n': 1 << 4}]\ntolerance = (1e-3, 0)\n" + GPU
TEXTS = {
    "problem.py": PROBLEM,
    "folder/reference.py": REFERENCE,
    "folder/task.yml": LISTED,
    "definition.json": json.dumps(DEFINITION),
    "definition.jsonl": json.dumps(workload(4)) + "\n" + json.dumps(workload(9)) + "\n",
    "module.py": MODULE,
}
NAMED = {"folder/reference.py": "folder", "folder/task.yml": "folder", "definition.jsonl": "definition.json"}


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few pieces removed, doubled, moved or put in."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.randint(0, 12))
        piece = rng.choice(("", text[start:end] * 2, rng.choice(_BITS), text[::-1][start:end]))
        text = text[:start] + piece + text[end:]
    return text


def tried(path: Path) -> bool:
    try:
        load(path)
    except BadTask as error:
        assert error.what and error.expected
        return False
    return True


@pytest.mark.parametrize("damaged", TEXTS)
def test_damaged_sources_are_read_or_refused(tmp_path: Path, damaged: str) -> None:
    rng = random.Random(damaged)
    for name, text in TEXTS.items():
        write(tmp_path / name, text)
    outcomes = set()
    for _ in range(COUNT):
        write(tmp_path / damaged, mutated(TEXTS[damaged], rng))
        outcomes.add(tried(tmp_path / NAMED.get(damaged, damaged)))
    assert outcomes == {True, False}


def test_damaged_specs_are_rebuilt_or_refused(tmp_path: Path) -> None:
    rng = random.Random(0)
    spec = json.dumps(load(write(tmp_path / "p.py", PROBLEM)).spec)
    assert from_spec(json.loads(spec)).name == "p"
    refused = 0
    for _ in range(10 * COUNT):
        try:
            damaged = json.loads(mutated(spec, rng))
        except ValueError:
            continue
        try:
            of_run({"task": "p", "task_spec": damaged}, "gpu")
        except BadTask:
            refused += 1
    assert refused > 10
