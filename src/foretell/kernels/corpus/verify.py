"""Proof that a corpus is what it says: identities, no duplicates, no leaks, stripped sources that tell nothing."""

from __future__ import annotations

import math
import resource
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from foretell.kernels.candidate import TELLING_NAME, Candidate, stripped
from foretell.kernels.corpus.combined import parts_of
from foretell.kernels.corpus.splits import alike, split_of
from foretell.kernels.measurement import Status
from foretell.kernels.store.combine import pool
from foretell.received_limits import MOST_SECONDS, TooMuchWork

_CHUNK = 500  # rows handed to a process at a time
_LOG_ROOM = 0.02  # medians of pairs, each rounded to float32, against the speedup stored beside them


def problems(rows: Sequence[Mapping[str, Any]], most_seconds: float = MOST_SECONDS) -> Iterator[str]:
    """Everything that is wrong with the rows, in words; nothing where all is well.

    TooMuchWork if a process that reads the sources uses more than so many seconds of a core.
    """
    for key, count in Counter(r["key"] for r in rows).items():
        if count > 1:
            yield f"key {key} occurs {count} times"
    try:
        with ProcessPoolExecutor(initializer=_limited, initargs=(math.ceil(most_seconds),)) as pool:
            for r, found in zip(rows, pool.map(_faults, rows, chunksize=_CHUNK), strict=True):
                for words in found:
                    yield f"{r['task']} {r['language']} {r['id']}: {words}"
    except BrokenProcessPool:
        raise TooMuchWork(
            f"the sources take more than {most_seconds:.0f} s, which nothing of their size should"
        ) from None
    yield from leaks(rows)


def _limited(seconds: int) -> None:
    """Have this process ended once it has used so many seconds of a core."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _faults(r: Mapping[str, Any]) -> list[str]:
    return list(_row(r))


def _row(r: Mapping[str, Any]) -> Iterator[str]:
    if Candidate(r["task"], r["language"], r["source"]).likeness != r["id"]:
        yield "its id is not that of its source"
    if r["stripped"] != stripped(r["source"], r["language"]):
        yield "its stripped source is not its source stripped"
    if told := TELLING_NAME.search(r["stripped"]):
        yield f"its stripped source says {told.group()!r}"
    yield from contradictions(r)


def contradictions(r: Mapping[str, Any]) -> Iterator[str]:
    """What a row's status, figures and workloads say against each other, in words."""
    ok = r["status"] == Status.OK
    if ok != (r["speedup"] is not None):
        yield f"status {r['status']} with speedup {r['speedup']}"
    if r["status"] == Status.INFRASTRUCTURE:
        yield "a fault of the machine is no measurement"
    if not ok:
        return
    if not r["workloads"]:
        yield "no workloads"
        return
    mean = math.exp(sum(math.log(w["speedup"]) for w in r["workloads"]) / len(r["workloads"]))
    parts = [(p.speedup, p.low, p.high) for p in parts_of(r) if p.speedup and p.low and p.high]
    if all(abs(math.log(mean / speedup)) > _LOG_ROOM for speedup, _, _ in parts):
        yield f"speedup {r['speedup']:.4f}, but its workloads give {mean:.4f}"
    if len(parts) > 1 and abs(math.log(pool(parts).speedup / r["speedup"])) > _LOG_ROOM:
        yield f"speedup {r['speedup']:.4f}, but its parts give {pool(parts).speedup:.4f}"
    for w in r["workloads"]:
        middle = w["log2_ratio"][2]
        if abs(middle - math.log2(w["speedup"])) * math.log(2.0) > _LOG_ROOM:
            yield f"{w['name']}: speedup {w['speedup']:.4f}, but its pairs give 2 to the power of {middle:.4f}"
    if not r["low"] <= r["speedup"] <= r["high"]:
        yield f"interval {r['low']:.4f} to {r['high']:.4f} misses {r['speedup']:.4f}"


def leaks(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows for training that are, exactly or nearly, rows held out."""
    train = [i for i, r in enumerate(rows) if r["split"] == "train"]
    held = [i for i, r in enumerate(rows) if r["split"].startswith("held")]
    for r in rows:
        expected = split_of(r["family"], r["task"], r["origin"])
        if r["split"] != expected and not (r["split"] == "near" and expected == "train"):
            yield f"{r['task']} {r['id']} is in {r['split']}"
    texts = {rows[i]["stripped"] for i in held}
    for i in train:
        if rows[i]["stripped"] in texts:
            yield f"{rows[i]['task']} {rows[i]['id']}: the same text is held out"
    for i in sorted(alike(rows, train, held)):
        yield f"{rows[i]['task']} {rows[i]['id']}: nearly the same text is held out"
