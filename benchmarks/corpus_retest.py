"""Two measurements of the same candidates, compared: a part of `benchmarks.corpus_numbers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from foretell.belief import spearman
from foretell.kernels.corpus import table

OUTLIER = 0.05


def retest(first: Path, second: Path) -> dict[str, Any]:
    """The same candidates measured twice: how far apart the speedups are, and what moved where they are."""
    a, b = ({r["candidate"]["id"]: r for r in table.records(path)} for path in (first, second))
    both = [(a[i], b[i]) for i in b if i in a]
    results = [(p["measurement"], q["measurement"]) for p, q in both]
    good = [(p, q) for p, q in both if p["measurement"]["speedup"] and q["measurement"]["speedup"]]
    speedups = np.array([[r["measurement"]["speedup"] for r in pair] for pair in good])
    apart = np.abs(speedups[:, 0] / speedups[:, 1] - 1)
    rest = [d for d, (p, _) in zip(apart, good, strict=True) if p["task"] != "histogram"]
    atomics = [
        d
        for d, (p, _) in zip(apart, good, strict=True)
        if p["task"] != "histogram" and p["build"]["features"].get("atomic_share", 0) > 0
    ]
    order = [int(i) for i in np.argsort(-apart) if apart[i] > OUTLIER]
    return {
        "candidates": len(both),
        "operations": len({p["task"] for p, _ in both}),
        "same_status": sum(p["status"] == q["status"] for p, q in results),
        "ok_in_both": len(good),
        "minutes_apart": (min(q["t"] for _, q in both) - min(p["t"] for p, _ in both)) / 60,
        "median": float(np.median(apart)),
        "p90": float(np.quantile(apart, 0.9)),
        "p99": float(np.quantile(apart, 0.99)),
        "worst": float(apart.max()),
        "spearman": spearman(speedups[:, 0], speedups[:, 1]),
        "intervals_overlap": sum(max(p["low"], q["low"]) <= min(p["high"], q["high"]) for p, q in results if p["low"]),
        "worst_but_histograms": max(rest),
        "atomics_elsewhere": {"candidates": len(atomics), "median": float(np.median(atomics)), "worst": max(atomics)},
        "outliers": [outlier(*good[i], float(apart[i])) for i in order],
    }


def outlier(first: dict[str, Any], second: dict[str, Any], apart: float) -> dict[str, Any]:
    """Where the two differ: by how much the reference's and the candidate's median times moved, in each workload."""
    moved = {
        f"{who}_moved": [
            float(np.median(q[f"{who}_us"]) / np.median(p[f"{who}_us"]))
            for p, q in zip(first["measurement"]["timings"], second["measurement"]["timings"], strict=True)
        ]
        for who in ("reference", "candidate")
    }
    noise = [float(np.subtract(*np.quantile(np.log2(t["candidate_us"]), (0.75, 0.25))))
             for r in (first, second) for t in r["measurement"]["timings"]]  # fmt: skip
    candidate = first["candidate"]
    return {
        "id": candidate["id"],
        "task": first["task"],
        "language": candidate["language"],
        "origin": candidate["origin"]["kind"],
        "speedups": [r["measurement"]["speedup"] for r in (first, second)],
        "apart": apart,
        **moved,
        "quartiles_apart": 2 ** float(np.median(noise)),
    }
