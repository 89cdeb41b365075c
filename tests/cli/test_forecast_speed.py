"""`foretell forecast` for a GPU that is not there answers at once, and soon after a build from nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import command, environment

KERNEL = Path(__file__).parents[2] / "data" / "written" / "softmax" / "triton_1.py"
WORDS = ("forecast", "softmax", str(KERNEL), "--device", "h200")
SOURCE_ONLY_S = 1.0
SLOW = 3.5  # times the import of what every command needs (2.2 to 2.8 seen): more than a second on slow machines
COLD_BUILD_S = 5.0
IMPORTS = 2.0  # where the import of torch and Triton alone takes most of this, the whole may take twice as long as that


def _run(cache: Path, *words: str) -> str:
    # As installed: with byte code that the first run may write.
    changes = {"TRITON_CACHE_DIR": str(cache / "triton"), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(words, capture_output=True, text=True, env=environment(cache, **changes), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_from_the_source_alone_in_a_second(tmp_path: Path) -> None:
    """One process does it all, so its CPU time is how long it takes where nothing else runs."""
    over = []
    for _ in range(3):
        before = _cpu_s()
        _run(tmp_path, sys.executable, "-c", "import numpy, typer, rich.console")
        imported = _cpu_s()
        assert "from the source alone" in _run(tmp_path, *command(*WORDS, "--source-only"))
        over.append(_cpu_s() - imported - max(SOURCE_ONLY_S, SLOW * (imported - before)))
    assert min(over) < 0.0, over


def test_after_a_cold_build_in_five_seconds(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    over = []
    for attempt in ("first", "second"):
        began = time.perf_counter()
        _run(tmp_path, sys.executable, "-c", "import foretell.kernels.bench.gpu.preload")
        imported = time.perf_counter()
        assert "chance that it fails" in _run(tmp_path / attempt, *command(*WORDS))
        over.append(time.perf_counter() - imported - max(COLD_BUILD_S, IMPORTS * (imported - began)))
    assert min(over) < 0.0, over
