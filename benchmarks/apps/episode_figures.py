"""Figures of played episodes, with the guard and without: results/apps_episodes.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.apps.evaluate import LOG, REPLICATES
from benchmarks.apps.split import RESULTS
from foretell.belief import cluster_bootstrap

FILE = RESULTS / "apps_episodes.json"
COUNTS = (
    *("steps", "right", "interrupted", "slips", "caught", "other", "other_stopped", "wrong_done"),
    *("pixels_caught", "pixels_interrupted"),
)
WAYS = ("beside", "another element")  # kinds of injected mistakes

Outcome = Mapping[str, Any]


def share(outcomes: Sequence[Outcome], part: Callable[[Outcome], float], whole: Callable[[Outcome], float]) -> Any:
    """A share of all episodes with its 95 % interval, by application."""
    parts, wholes = (np.array([count(one) for one in outcomes], float) for count in (part, whole))
    if not wholes.sum():
        return None

    def ratio(p: Any, w: Any) -> float:
        return float(p.sum() / w.sum()) if w.sum() else 0.0

    groups = np.array([one["application"] for one in outcomes])
    found = cluster_bootstrap(ratio, parts, wholes, groups=groups, replicates=REPLICATES)
    return {
        "share": round(ratio(parts, wholes), 4),
        "interval": [round(found.low, 4), round(found.high, 4)],
        "of": int(wholes.sum()),
    }


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Figures of the episodes of one variant."""
    return {
        "episodes": len(outcomes),
        "applications": len({one["application"] for one in outcomes}),
        "solved": share(outcomes, lambda one: one["solved"], lambda one: 1),
        "solved_without_wrong": share(outcomes, lambda one: one["solved"] and not one["wrong_done"], lambda one: 1),
        "slips_caught": share(outcomes, lambda one: one["caught"], lambda one: one["slips"]),
        "right_interrupted": share(outcomes, lambda one: one["interrupted"], lambda one: one["right"]),
        "pixels_slips_caught": share(outcomes, lambda one: one["pixels_caught"], lambda one: one["slips"]),
        "pixels_right_interrupted": share(outcomes, lambda one: one["pixels_interrupted"], lambda one: one["right"]),
        "slips_by_kind": {way: by_kind(outcomes, way) for way in WAYS},
        "counts": {name: sum(one[name] for one in outcomes) for name in COUNTS},
    }


def by_kind(outcomes: Sequence[Outcome], way: str) -> dict[str, int]:
    """Injected mistakes of a kind that the guard saw, and those that it and pixels alone objected to."""
    entries = [entry for one in outcomes for entry in one["log"] if entry["slip"] == way and entry["verdict"]]
    return {
        "slips": len(entries),
        "caught": sum(entry["verdict"]["intervene"] for entry in entries),
        "pixels_caught": sum(entry["verdict"]["by_pixels"] for entry in entries),
    }


def success_difference(pairs: Sequence[tuple[bool, Outcome]]) -> Any:
    """Success with the guard less success without it, on the same tasks, with its 95 % interval by application."""
    if not pairs:
        return None
    gains = np.array([float(one["solved"]) - float(before) for before, one in pairs])
    groups = np.array([one["application"] for _, one in pairs])
    found = cluster_bootstrap(lambda g: float(g.mean()), gains, groups=groups, replicates=REPLICATES)
    return {"difference": round(float(gains.mean()), 4), "interval": [round(found.low, 4), round(found.high, 4)]}


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Both variants, and the pairs of the same task."""
    alone, guarded = ([one for one in outcomes if one["guarded"] is which] for which in (False, True))
    solved = {(one["application"], one["episode"]): one["solved"] for one in alone}
    pairs = [(solved[key], one) for one in guarded if (key := (one["application"], one["episode"])) in solved]
    return {
        "rate": sorted({one["rate"] for one in outcomes}),
        "alone": figures(alone) if alone else None,
        "guarded": figures(guarded) if guarded else None,
        "pairs": len(pairs),
        "parted": sum(one["parted"] is not None for _, one in pairs),
        "success_difference": success_difference(pairs),
        "gained": sum(one["solved"] and not before for before, one in pairs),
        "lost": sum(before and not one["solved"] for before, one in pairs),
        "lost_with_an_interruption": sum(
            before and not one["solved"] and one["interrupted"] > 0 for before, one in pairs
        ),
    }


def write(outcomes: Sequence[Outcome]) -> None:
    """Write the figures, log what there is of held-out applications, and print them."""
    halves = {}
    for held_out in (False, True):
        some = [one for one in outcomes if bool(one["held_out"]) is held_out]
        if some:
            halves["held_out" if held_out else "development"] = summary(some)
    known = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    FILE.write_text(json.dumps(known | halves, indent=1) + "\n", encoding="utf-8")
    for half, found in halves.items():
        head = {"name": "episodes", "when": datetime.now(UTC).isoformat(timespec="seconds"), "half": half}
        short = {name: found[name] for name in ("pairs", "parted", "gained", "lost")}
        with LOG.open("a", encoding="utf-8") as file:
            file.write(json.dumps(head | short) + "\n")
    print(json.dumps(halves, indent=1))
