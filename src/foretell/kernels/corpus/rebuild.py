"""Building recorded GPU candidates again, for features that a newer reader of machine code sees. Needs no GPU.

Nothing is measured: times and verdicts stay as they are. The toolchain must be the one that a row was measured with,
since another compiler writes other machine code.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from foretell.kernels.bench.gpu.builders import BuilderPool
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import nvrtc
from foretell.kernels.library import get
from foretell.kernels.protocols import Build
from foretell.kernels.typed import finite
from foretell.received import MOST_JSON_BYTES, BadFile, BadJson, open_plain, parsed, read_plain

CAPABILITY = 90
_UNDER_WAY = 64
_MOST = 3.4028234663852886e38  # of the table's single precision


class OtherToolchain(RuntimeError):
    """What is installed is not what the rows were built with."""


def installed() -> str:
    """Triton's version and the CUDA compiler's, as in a row's `toolchain`."""
    try:
        import triton

        return f"triton {triton.__version__}, {nvrtc.toolchain() or 'no CUDA compiler'}"
    except ImportError:
        return f"no triton, {nvrtc.toolchain() or 'no CUDA compiler'}"


def wanting(rows: Sequence[Mapping[str, Any]], done: set[str]) -> list[Mapping[str, Any]]:
    """GPU rows that built and are not done yet; OtherToolchain where they cannot be built here as they were."""
    found = [r for r in rows if r["kind"] == "gpu" and r["features"] and r["id"] not in done]
    here = installed()
    for r in found:
        triton, _, compiler = r["toolchain"].partition("triton ")[2].partition(", ")
        needed = f"triton {triton}" if r["language"] == "triton" else compiler
        if not r["toolchain"].startswith(f"sm_{CAPABILITY},"):
            raise OtherToolchain(f"a row was built for {r['toolchain'].partition(',')[0]}, not for sm_{CAPABILITY}")
        if needed not in here:
            raise OtherToolchain(f"a row was built with {needed}; here is {here}")
    return found


def rebuild(
    rows: Sequence[Mapping[str, Any]],
    into: Path,
    seconds: float = float("inf"),
    report: Callable[[int], None] = lambda count: None,
    processes: int | None = None,
) -> int:
    """Append the features of each row to a file of JSON lines, within a time; how many were added."""
    pool = BuilderPool(CAPABILITY, processes)
    started, count = time.monotonic(), 0
    waiting: dict[Future[Build], str] = {}
    rest = iter(rows)
    try:
        descriptor = open_plain(into, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            while time.monotonic() - started <= seconds:
                while len(waiting) < _UNDER_WAY and (r := next(rest, None)) is not None:
                    candidate = Candidate(r["task"], r["language"], r["source"])
                    waiting[pool.submit(get(r["task"], "gpu"), candidate)] = r["id"]
                if not waiting:
                    break
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED, timeout=60)
                for future in finished:
                    name, built = waiting.pop(future), future.result()
                    line = {"id": name, "features": dict(built.features), "status": built.status.value}
                    file.write(json.dumps(line) + "\n")
                    count += 1
                file.flush()
                report(count)
    finally:
        pool.close()
    return count


def told(path: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """What a file of features says, whole lines only; builds that failed this time say nothing.

    Raises BadFile, which names the line, if one holds something else than features of a candidate.
    """
    if not path.exists():
        return
    lines = read_plain(path, MOST_JSON_BYTES).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            found = parsed(line)
        except BadJson:
            continue  # torn by a kill
        name, features = (found.get("id"), found.get("features")) if isinstance(found, dict) else (None, None)
        if not (isinstance(name, str) and isinstance(features, dict) and all(map(_fits, features.values()))):
            raise BadFile(f"{path}, line {number}: there are no features of a candidate (numbers by name, and its id)")
        if features:
            yield name, features


def _fits(value: object) -> bool:
    """Whether this is a number that the corpus has room for."""
    return finite(value) and abs(value) <= _MOST  # type: ignore[arg-type]


def applied(rows: Sequence[Mapping[str, Any]], features: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """The rows with their new features, where there are any."""
    return [{**r, "features": sorted(features[r["id"]].items())} if features.get(r["id"]) else dict(r) for r in rows]
