"""Stored files with odd values and valid checksums: a message or a skipped row, never a traceback.

A small sample of `benchmarks/robustness.py`, which tries 2,000.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from foretell.kernels.bench import cpu
from tests.cli.conftest import FakeBench
from tests.fuzzing import FILES, Fuzz, prepare

SAMPLES = 8
# Mutations that once ended in a traceback.
FOUND = (("journal", 738), ("catalogue", 1735), ("catalogue", 1903), ("journal", 22), ("journal", 262), ("corpus", 11),
         ("corpus", 27), ("corpus", 89), ("corpus", 107), ("corpus", 257))  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_no_odd_value_ends_in_a_traceback(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cpu, "CpuBench", FakeBench)
    source = prepare(tmp_path / "base")
    fuzz = Fuzz(tmp_path / "base", tmp_path / "work", source)
    for seed in range(SAMPLES):
        fuzz.once(file, seed)
    for known, seed in FOUND:
        if known == file:
            fuzz.once(file, seed)
    assert not fuzz.traces, "\n".join(fuzz.traces.values())
