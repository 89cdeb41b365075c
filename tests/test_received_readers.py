"""Received files are read in one place: nothing else in the package takes JSON, tables or arrays apart by itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import foretell

ROOT = Path(foretell.__file__).parent

# What may be read otherwise, and why.
ALLOWED = {
    "json": {
        "received.py": "the reader itself",
        "gui/parse/envelopes.py": "an agent's answer, scanned for objects",
        "lm/object.py": "a model's answer, scanned for one object; numbers as in received",
        # Messages between processes of ours; who reads what a confined one says checks each field.
        "kernels/bench/gpu": "messages",
        "kernels/record": "messages",
        "kernels/sandbox": "messages",
        "kernels/tasks/flashinfer_runtime.py": "within a confined process",
        "kernels/tasks/worker.py": "messages",
        "kernels/walls": "messages",
        # Copies of values in memory, and what training wrote for itself.
        "kernels/search/config.py": "a copy",
        "testing/conformance.py": "a copy",
        "train/lm": "its own files",
    },
    "parquet": {"received_table.py": "the reader itself"},
    "numpy": {
        "received_arrays.py": "the reader itself",
        "kernels/cost/calls.py": "a file of the package",
        "train/features.py": "its own files",
    },
    "sqlite3": {"kernels/store/database.py": "the one that checks what it opens"},
}
CALLS = {
    "json": {"load", "loads", "JSONDecoder"},
    "parquet": {"read_table", "ParquetFile", "ParquetDataset", "read_schema", "read_metadata", "read_pandas"},
    "numpy": {"load", "fromfile", "loadtxt", "genfromtxt", "memmap"},
    "sqlite3": {"connect"},
}


def used(source: str, module: str) -> bool:
    """Whether a text mentions one of a module's readers, as `module.reader` or imported by name."""
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    names = {module, *(a.asname for node in imports for a in node.names if a.asname and a.name.endswith(module))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CALLS[module]:
            owner = node.value
            if (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")) in names:
                return True
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[-1] == module
            and CALLS[module].intersection(alias.name for alias in node.names)
        ):
            return True
    return False


@pytest.mark.parametrize("module", CALLS)
def test_files_are_read_in_one_place(module: str) -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.rglob("*.py")}
    found = {name for name, text in texts.items() if module in text and used(text, module)}
    allowed = ALLOWED[module]
    strays = {name for name in found if not any(name == a or name.startswith(f"{a}/") for a in allowed)}
    assert not strays, f"use foretell.received, received_table or received_arrays in {sorted(strays)}"
    idle = {a for a in allowed if not any(name == a or name.startswith(f"{a}/") for name in found)}
    assert not idle, f"no longer needed: {sorted(idle)}"


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import json\njson.loads(a)", "json"),
        ("import json\nmap(json.loads, a)", "json"),
        ("from json import loads", "json"),
        ("import json as j\nj.load(a)", "json"),
        ("arrow().parquet.read_table(p)", "parquet"),
        ("import pyarrow.parquet as pq\npq.ParquetFile(p)", "parquet"),
        ("import numpy as np\nnp.load(p)", "numpy"),
        ("import sqlite3\nsqlite3.connect(p)", "sqlite3"),
    ],
)
def test_readers_are_seen(source: str, module: str) -> None:
    assert used(source, module)
    assert not used("import json\njson.dumps(a)\nreceived_table.read_table(a)", module)
