"""Chooses the measured kernels that a model remembers, and the numbers by which they are compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.kernels.device import Device
from foretell.kernels.evaluate.pools import subject_of
from foretell.kernels.forecast.memory import Memory, Remembered
from foretell.kernels.forecast.model import Model, Tier
from foretell.kernels.forecast.trained import TrainedForecaster
from foretell.kernels.library import get
from foretell.received import parsed

GROUP_ROWS = 20  # kernels of an operation in one language
TIER_COLUMNS = 24  # the columns that a tier's trees ask for most
MOST_WORDS = 120  # characters of what is said about a kernel

Row = Mapping[str, Any]


def remember(model: Model, rows: Sequence[Row], devices: Mapping[str, Device], seed: int) -> dict[str, Memory]:
    """A memory for each kind of device, of rows for training that worked and whose build was read."""
    usable = [r for r in rows if r["split"] == "train" and r["speedup"] and r["features"]]
    found = {}
    for kind in sorted({r["kind"] for r in usable}):
        tiers = [tier for key, tier in sorted(model.tiers.items()) if key.startswith(f"{kind}.")]
        columns = sorted({name for tier in tiers for name in most_asked(tier, TIER_COLUMNS)})
        chosen = spread([r for r in usable if r["kind"] == kind], GROUP_ROWS, seed)
        found[kind] = Memory.of(
            columns,
            _described(model, chosen, devices),
            [float(np.log2(r["speedup"])) for r in chosen],
            [Remembered(r["id"], r["task"], r["family"], r["language"], r["device"], words(r)) for r in chosen],
        )
    return found


def most_asked(tier: Tier, count: int) -> list[str]:
    """The columns that the trees for speed are split on most often."""
    splits = np.zeros(len(tier.names))
    for trees in (tier.trees[part] for part in ("floor", "estimate") if part in tier.trees):
        inner = trees.left != np.arange(trees.left.size)
        splits += np.bincount(trees.column[inner], minlength=len(tier.names))
    order = np.argsort(-splits, kind="stable")[:count]
    return [tier.names[i] for i in order if splits[i]]


def spread(rows: Sequence[Row], most: int, seed: int) -> list[Row]:
    """Up to `most` rows of each operation and language: one drawn from each of so many stretches of its speeds."""
    grouped: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for r in rows:
        grouped[r["task"], r["language"]].append(r)
    rng = np.random.default_rng(seed)
    found = []
    for _, members in sorted(grouped.items()):
        ordered = sorted(members, key=lambda r: (r["speedup"], r["id"]))
        stretches = np.array_split(np.arange(len(ordered)), min(most, len(ordered)))
        found += [ordered[int(rng.choice(stretch))] for stretch in stretches]
    return found


def _described(model: Model, rows: Sequence[Row], devices: Mapping[str, Device]) -> list[Mapping[str, float]]:
    """Each row as the model would be asked about it."""
    forecaster = TrainedForecaster(model)
    found = []
    for r in rows:
        [asked] = forecaster.ask(get(r["task"], r["kind"]), devices[r["device"]], [subject_of(r, "build")])
        found.append(asked.described)
    return found


def words(row: Row) -> str:
    """What a person may want to know of a kernel: the knobs of its template, as many as fit, or who wrote it."""
    if row["origin"] != "template":
        return {"model": "by a language model"}.get(row["origin"], f"by a {row['origin']}")
    knobs = parsed(row["detail"] or "{}").get("knobs", {})
    told = ""
    for name, value in knobs.items():
        more = f"{told}, {name} {value}" if told else f"{name} {value}"
        if name != "slip" and len(more) <= MOST_WORDS:
            told = more
    return told
