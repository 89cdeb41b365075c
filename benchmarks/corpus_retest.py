"""Candidates of the corpus measured a second time, compared: a part of `benchmarks.corpus_numbers`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foretell.belief import spearman
from foretell.kernels.corpus import table

OUTLIER = 0.05
Row = Mapping[str, Any]


def retest(second: Path, cards: int, data: Path = table.FOLDER) -> dict[str, Any]:
    """How far apart the speedups of the corpus and of a later catalogue are, and what moved where they are."""
    known = {r["key"]: r for r in table.read(data)}
    again = [table.row(record) for record in table.records(second)]
    both = [(known[r["key"]], r) for r in again if r["key"] in known]
    good = [(p, q) for p, q in both if p["speedup"] and q["speedup"]]
    speedups = np.array([[r["speedup"] for r in pair] for pair in good])
    apart = np.abs(speedups[:, 0] / speedups[:, 1] - 1)
    graphs = np.array([q["method"].startswith("CUDA graph") for _, q in good])
    order = [int(i) for i in np.argsort(-apart) if apart[i] > OUTLIER]
    minutes = np.median([q["measured_at"] - p["measured_at"] for p, q in both]) / 60
    return {
        "candidates": len(both),
        "cards": cards,
        "operations": len({p["task"] for p, _ in both}),
        "same_status": sum(p["status"] == q["status"] for p, q in both),
        "ok_in_both": len(good),
        "minutes_apart": float(minutes),
        "median": float(np.median(apart)),
        "p90": float(np.quantile(apart, 0.9)),
        "p99": float(np.quantile(apart, 0.99)),
        "worst": float(apart.max()),
        "spearman": spearman(speedups[:, 0], speedups[:, 1]),
        "intervals_overlap": sum(max(p["low"], q["low"]) <= min(p["high"], q["high"]) for p, q in good),
        "reference_moved": float(np.median([_moved(p, q, "reference") for p, q in good])),
        "candidate_moved": float(np.median([_moved(p, q, "candidate") for p, q in good])),
        "by_events": {
            "candidates": int((~graphs).sum()),
            "median": float(np.median(apart[~graphs])),
            "operations": sorted({p["task"] for (p, _), graph in zip(good, graphs, strict=True) if not graph}),
        },
        "worst_by_graphs": float(apart[graphs].max()),
        "outliers": [_outlier(*good[i], float(apart[i])) for i in order],
    }


def _moved(first: Row, second: Row, who: str) -> float:
    """Second time over first, over workloads."""
    pairs = zip(first["workloads"], second["workloads"], strict=True)
    return float(np.exp(np.mean([np.log(q[f"{who}_us"] / p[f"{who}_us"]) for p, q in pairs])))


def _outlier(first: Row, second: Row, apart: float) -> dict[str, Any]:
    return {
        "id": first["id"],
        "task": first["task"],
        "language": first["language"],
        "origin": first["origin"],
        "method": second["method"],
        "speedups": [first["speedup"], second["speedup"]],
        "apart": apart,
        "reference_moved": _moved(first, second, "reference"),
        "candidate_moved": _moved(first, second, "candidate"),
        "atomics": dict(second["features"]).get("atomic_share", 0.0) > 0.0,
        "candidate_us": [r["workloads"][0]["candidate_us"] for r in (first, second)],
    }
