"""`foretell forecast` for a GPU that is not there costs little more than importing what it needs.

Times are compared with that of the imports on the same machine: of the processor where one process does it all, by the
clock where builders share the work. Once is enough: a machine's hiccups make nothing faster.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import command, environment

pytestmark = pytest.mark.timing

KERNEL = Path(__file__).parents[2] / "data" / "written" / "softmax" / "triton_1.py"
WORDS = ("forecast", "softmax", str(KERNEL), "--device", "h200")
# A command of Typer's that does nothing: what it imports to run one depends on what is installed (pydantic, if it is).
NOTHING = """
import numpy, rich.console, typer
app = typer.Typer()
@app.command()
def nothing() -> None: ...
app([], standalone_mode=False)
"""
SOURCE_ONLY = 3.5  # times what every command needs (2 to 2.8 seen)
COLD_BUILD = 3.0  # times the import of torch and Triton


def _times_s(cache: Path, *words: str, says: str = "") -> tuple[float, float]:
    """Seconds of the processor and of the clock that a command takes, as installed: byte code may be written."""
    changes = {"TRITON_CACHE_DIR": str(cache / "triton"), "PYTHONDONTWRITEBYTECODE": ""}
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, env=environment(cache, **changes), check=False)
    after, ended_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    assert done.returncode == 0, done.stdout + done.stderr
    assert says in done.stdout
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended_s - began_s


def test_from_the_source_alone(tmp_path: Path) -> None:
    ratios = []
    for _ in range(3):
        imports, _ = _times_s(tmp_path, sys.executable, "-c", NOTHING)
        forecast, _ = _times_s(tmp_path, *command(*WORDS, "--source-only"), says="from the source alone")
        ratios.append(forecast / imports)
        if ratios[-1] < SOURCE_ONLY:
            return
    pytest.fail(f"{ratios} times as long as the imports")


def test_after_a_cold_build(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    ratios = []
    for attempt in ("first", "second"):
        _, imports = _times_s(tmp_path, sys.executable, "-c", "import foretell.kernels.bench.gpu.preload")
        _, forecast = _times_s(tmp_path / attempt, *command(*WORDS), says="chance that it fails")
        ratios.append(forecast / imports)
        if ratios[-1] < COLD_BUILD:
            return
    pytest.fail(f"{ratios} times as long as the imports")
