"""The GPU part of docs/quickstart.md as it stands there: its files written, its commands run, times and results kept.

python -m benchmarks.quickstart_gpu --out benchmarks/results/quickstart_gpu.json      # about a minute on an H200
python -m benchmarks.quickstart_gpu --foretold --out benchmarks/results/quickstart_foretold.json      # without a GPU
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.page_blocks import steps

PAGE = Path(__file__).parents[1] / "docs/quickstart.md"
HEADING = "On a GPU"
TAIL = 1500
WITHOUT_GPU = ("explain", "forecast")


def run(folder: Path, foretold: bool) -> list[dict[str, Any]]:
    """Every command with its exit code, seconds and the end of what it printed; it goes on after a failure.

    With `foretold`, those alone that need no GPU.
    """
    found = []
    for step in steps(PAGE, HEADING):
        if step.name:
            (folder / step.name).write_text(step.text)
            continue
        if foretold and step.command[1] not in WITHOUT_GPU:
            continue
        started = time.monotonic()
        words = [sys.executable, "-m", "foretell.cli", *step.command[1:]]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
        said = (done.stdout + done.stderr).replace(str(folder), ".")
        found.append({
            "command": " ".join(step.command),
            "exit_code": done.returncode,
            "seconds": round(time.monotonic() - started, 1),
            "printed": said[-TAIL:],
        })  # fmt: skip
        print(json.dumps(found[-1]), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--foretold", action="store_true", help="only what needs no GPU")
    arguments = parser.parse_args()
    out = arguments.out
    with tempfile.TemporaryDirectory() as folder:
        commands = run(Path(folder), arguments.foretold)
    total_s = round(sum(each["seconds"] for each in commands), 1)
    versions = {name: version(name) for name in ("foretell", "torch", "triton")} | {"machine": platform.machine()}
    out.write_text(json.dumps({"versions": versions, "seconds": total_s, "commands": commands}, indent=1) + "\n")
    raise SystemExit(any(each["exit_code"] for each in commands))


if __name__ == "__main__":
    main()
