"""Pools: all recorded candidates of one operation on one device, as a forecaster is asked about them.

A forecaster sees what it may see in a search and no more: the source without remarks (the table's `stripped`), who
wrote it, and at the tier `build` what building it showed. The knobs of a template are left out, since one of them
(`slip`) says outright that the program is wrong. Rows are put in the order of their ids, so that no figure depends on
the order of a file.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from foretell.kernels import devices
from foretell.kernels.candidate import Candidate, Origin, stripped
from foretell.kernels.cost.recordings import can_record
from foretell.kernels.cost.tasks import costed
from foretell.kernels.device import Device
from foretell.kernels.library import UnknownTask, get
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.task import Task
from foretell.kernels.tasks import from_spec
from foretell.received import parsed

Tier = Literal["source", "build"]
TIERS: tuple[Tier, ...] = ("source", "build")
KINDS = ("cpu", "gpu")
REQUIRED = ("task", "kind", "language", "source", "device", "status", "speedup")
OPTIONAL = ("id", "stripped", "origin", "parents", "toolchain", "features", "workloads", "low", "high", "split",
            "spec")  # fmt: skip

# A CPU row names the processor and its cores; the rest is what a server core of the 2020s is like.
_CPU_CLOCK_HZ = 2.5e9
_CPU_BANDWIDTH_BYTES_PER_S = 8e9
_CPU_MEMORY_BYTES = 4 << 30
_CPU_CACHE_BYTES = 32 << 20
_CPU_VECTOR_BYTES = 64


class BadTable(ValueError):
    """A table that cannot be judged on; `expected` says what would do."""

    def __init__(self, what: str, expected: str = "") -> None:
        super().__init__(what)
        self.expected = expected


@dataclass(frozen=True)
class Pool:
    """Candidates of one operation on one device, with what measuring them showed.

    `group` is what the bootstrap draws whole: the operation; `origin` names the data set. `measured[i]` is ok without a
    speedup where only a time within the pool is known. `rank_log2[i]` orders the pool, higher is faster: log2 speedup,
    or less the log2 of a time; -inf for a failure. Only its differences mean anything.
    """

    name: str
    group: str
    task: Task
    device: Device
    ids: tuple[str, ...]
    subjects: tuple[Subject, ...]
    measured: tuple[Measurement, ...]
    rank_log2: tuple[float, ...]
    origin: str = ""

    def __post_init__(self) -> None:
        if len({len(self.ids), len(self.subjects), len(self.measured), len(self.rank_log2)}) > 1:
            raise ValueError(f"pool {self.name}: its columns differ in length")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Iterable[int]) -> Pool:
        """The pool of these rows alone, in their old order."""
        kept = sorted(rows)
        return replace(
            self,
            ids=tuple(self.ids[i] for i in kept),
            subjects=tuple(self.subjects[i] for i in kept),
            measured=tuple(self.measured[i] for i in kept),
            rank_log2=tuple(self.rank_log2[i] for i in kept),
        )

    def drawn(self, count: int, seed: int, salt: str = "") -> list[int]:
        """Up to `count` rows at random; which ones depends on the seed and on the rows' ids, not on their order."""
        order = sorted(range(len(self)), key=lambda i: (zlib.crc32(f"{seed} {salt} {self.ids[i]}".encode()), i))
        return sorted(order[:count])


def own_tasks(specs: Iterable[str | None]) -> dict[str, Task]:
    """The tasks that are not of the library, by the texts of their specs; BadTable if one is not a task's."""
    made: dict[str, Task] = {}
    for text in specs:
        if text and text not in made:
            try:
                made[text] = from_spec(parsed(text))
            except UnknownTask as error:
                raise BadTable(error.what, "rows of tasks that the library knows") from error
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                expected = "a spec as `foretell data import` wrote it"
                raise BadTable(f"the spec of a row is not a task's: {error!r}", expected) from error
    return made


def corpus_pools(
    rows: Sequence[Mapping[str, Any]], tier: Tier, own: Mapping[str, Task] = MappingProxyType({})
) -> list[Pool]:
    """One pool for each (operation, device) among rows of the corpus, by name; BadTable where a row makes no sense.

    `own` are the `own_tasks` of the rows.
    """
    grouped: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["kind"], row["task"], row["device"]].append(row)
    pools = [_pool(key, members, tier, own) for key, members in sorted(grouped.items())]
    return [pool for pool in pools if len(pool)]


def _pool(key: tuple[str, str, str], rows: Sequence[Mapping[str, Any]], tier: Tier, own: Mapping[str, Task]) -> Pool:
    kind, name, device_name = key
    if kind not in KINDS:
        raise BadTable(f"there is no kind of device {kind!r}", " or ".join(KINDS))
    device = device_of(kind, device_name, rows[0].get("toolchain") or "")
    spec = rows[0].get("spec")
    task = _costed(own[spec], kind, device) if spec else _known(name, kind)
    pairs = [(subject_of(row, tier), measurement_of(row)) for row in rows]
    ids = [row.get("id") or subject.candidate.id for row, (subject, _) in zip(rows, pairs, strict=True)]
    return make_pool(f"{task.name} on {device_name}", name, task, device, ids, pairs)


def _known(name: str, kind: str) -> Task:
    try:
        return get(name, kind)
    except UnknownTask as error:
        raise BadTable(error.what, "rows of tasks that the library knows") from error


def _costed(task: Task, kind: str, device: Device) -> Task:
    """The task with the work of its reference if that can be recorded here."""
    return costed(task, device).task if kind == "gpu" and can_record() else task


def make_pool(
    name: str,
    group: str,
    task: Task,
    device: Device,
    ids: Sequence[str],
    pairs: Sequence[tuple[Subject, Measurement]],
    times_ms: Sequence[float | None] | None = None,
    origin: str = "",
) -> Pool:
    """A pool in the order of ids. With `times_ms` it is ranked by time where a candidate that worked has no speedup.

    Faults of the machine, and what worked but cannot be ranked with the others, are left out.
    """
    times = times_ms or [None] * len(ids)
    keyed = sorted(range(len(ids)), key=lambda i: (ids[i], pairs[i][1].status, pairs[i][1].speedup or 0.0))
    by_time = any(m.ok and m.speedup is None for _, m in pairs)

    def rank(i: int) -> float:
        outcome, time = pairs[i][1], times[i]
        if outcome.status is Status.INFRASTRUCTURE:
            return math.nan
        if not outcome.ok:
            return -math.inf
        if not by_time:
            return outcome.log2_speedup
        return -math.log2(time) if time and 0.0 < time < math.inf else math.nan

    placed = [(i, rank(i)) for i in keyed]
    kept = [(i, value) for i, value in placed if not math.isnan(value)]
    return Pool(
        name,
        group,
        task,
        device,
        tuple(ids[i] for i, _ in kept),
        tuple(pairs[i][0] for i, _ in kept),
        tuple(pairs[i][1] for i, _ in kept),
        tuple(value for _, value in kept),
        origin,
    )


def subject_of(row: Mapping[str, Any], tier: Tier) -> Subject:
    """What a forecaster is asked about, from a row of the corpus."""
    parents = tuple(row.get("parents") or ())
    text = row.get("stripped") or stripped(row["source"], row["language"])
    candidate = Candidate(row["task"], row["language"], text, Origin(row.get("origin") or "person"), parents)
    if tier == "source":
        return Subject(candidate, original=row["source"])
    if row["status"] == Status.COMPILE_ERROR:
        return Subject(candidate, Build(Status.COMPILE_ERROR, "does not build"), row["source"])
    features = {name: value for name, value in dict(row.get("features") or ()).items() if value is not None}
    return Subject(candidate, Build(Status.OK, "", features), row["source"])


def measurement_of(row: Mapping[str, Any]) -> Measurement:
    """What measuring it showed, with medians in the place of samples; BadTable where that makes no sense."""
    try:
        status = Status(row["status"])
    except ValueError as error:
        raise BadTable(f"there is no status {row['status']!r}", ", ".join(Status)) from error
    if status is not Status.OK:
        return Measurement(status)
    speedup = row["speedup"]
    if speedup is None or not 0.0 < speedup < math.inf:
        raise BadTable(f"a row that is ok has the speedup {speedup!r}", "a positive number for each row that is ok")
    try:
        timings = tuple(
            Timing(w["name"], (w["reference_us"],), (w["candidate_us"],), w["speedup"], w["low"], w["high"])
            for w in row.get("workloads") or ()
        )
    except (KeyError, TypeError) as error:
        raise BadTable(
            f"workloads are not as in the corpus: {error}", "workloads as docs/corpus.md has them"
        ) from error
    low, high = row.get("low"), row.get("high")
    return Measurement(status, speedup=speedup, low=low or speedup, high=high or speedup, timings=timings)


def device_of(kind: str, name: str, toolchain: str = "") -> Device:
    """The device of that name as described; an undescribed CPU is a typical one with the cores its name says."""
    try:
        described = devices.named(name)
        if described.kind == kind:
            return replace(described, toolchain=toolchain) if toolchain else described
        raise BadTable(f"{name} is not a {kind}", f"rows of kind {described.kind}")
    except devices.UnknownDevice as error:
        if kind == "gpu":
            raise BadTable(str(error), ", ".join(devices.gpus())) from error
    found = re.search(r" x([1-9][0-9]{0,3})$", name)
    cores = int(found.group(1)) if found else 1
    peak = cores * _CPU_CLOCK_HZ * _CPU_VECTOR_BYTES  # lanes of 4 bytes, two units, multiply and add
    return Device(
        name=name,
        kind="cpu",
        cores=cores,
        clock_hz=_CPU_CLOCK_HZ,
        bandwidth_bytes_per_s=cores * _CPU_BANDWIDTH_BYTES_PER_S,
        peak_flops={"float32": peak, "float64": peak / 2, "int32": peak, "int64": peak / 2, "uint8": peak * 4},
        memory_bytes=cores * _CPU_MEMORY_BYTES,
        cache_bytes=_CPU_CACHE_BYTES,
        vector_bytes=_CPU_VECTOR_BYTES,
        languages=("cpp",),
        toolchain=toolchain or "described",
    )
