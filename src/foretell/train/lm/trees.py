"""What the trees of `features` say of the rows that a language model learns from, each by trees that were not shown it.

A question can tell what the trees expect. In use they have not seen the operation asked about, so in training they must
not have either: otherwise a model would learn to trust them more than they deserve.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from foretell.belief import Forecast
from foretell.kernels.devices import named
from foretell.kernels.evaluate.data import Data
from foretell.kernels.forecast.model import REGIMES
from foretell.kernels.library import get
from foretell.kernels.store.locations import cache_dir
from foretell.received import replacing
from foretell.train import features
from foretell.train.lm.errors import TrainingTrouble

NEW_OPERATION, NEW_FAMILY = REGIMES[1:]
LeftOut = Mapping[str, Mapping[tuple[str, str], Forecast]]  # by regime, then by device and id
EFFORT = features.Effort()
MANY = 2000  # rows from which on processes that share the work are worth their start
_DIGITS = 6


def left_out(data: Data, say: Callable[[str], None], path: Path | None = None, kind: str = "gpu") -> LeftOut:
    """Worked out once for a corpus (minutes, and needs scikit-learn) and kept: in `path`, by default in the cache.
    Work that is cut goes on where it was.

    TrainingTrouble where there are too few operations to leave any out.
    """
    kept = path or cache_dir() / "trees" / f"{kind}-{data.mark()}.jsonl.gz"
    if not kept.exists():
        rows = [{**row, "family": get(row["task"], row["kind"]).family} for row in data.rows]
        learnt = {row["task"] for row in rows if row["split"] == "train" and row["kind"] == kind}
        families = {get(task, kind).family for task in learnt}
        jobs = len(os.sched_getaffinity(0)) if len(rows) > MANY else 1
        effort = replace(EFFORT, folds=min(EFFORT.folds, len(families)), jobs=jobs)
        if effort.folds < 2:
            raise TrainingTrouble(f"trees cannot be asked about families they were not shown: there is {len(families)}")
        devices = {name: named(name) for name in {row["device"] for row in rows if row["kind"] == kind}}
        say("asking trees about rows that they were not shown: minutes, once for a corpus (--alone does without)")
        told = zlib.crc32(repr(replace(effort, jobs=1)).encode())
        parts = kept.with_name(f"{kept.name}.{data.mark()}-{told:08x}.parts")
        write(kept, features.left_out(rows, devices, kind, 0, effort, say, parts))
        shutil.rmtree(parts, ignore_errors=True)
    return read(kept)


def write(path: Path, found: LeftOut) -> None:
    """One line a forecast, compressed; all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial, gzip.open(partial, "wt", compresslevel=6) as file:
        for regime, forecasts in found.items():
            for (device, identity), one in forecasts.items():
                knots = [round(knot, _DIGITS) for knot in one.knots]
                levels = [round(level, _DIGITS) for level in one.levels]
                file.write(json.dumps([regime, device, identity, round(one.p_fail, _DIGITS), knots, levels]) + "\n")


def read(path: Path) -> LeftOut:
    found: dict[str, dict[tuple[str, str], Forecast]] = {}
    with gzip.open(path, "rt") as file:
        for line in file:
            regime, device, identity, p_fail, knots, levels = json.loads(line)
            found.setdefault(regime, {})[device, identity] = Forecast(p_fail, tuple(knots), tuple(levels))
    return found
