"""What a corpus holds, in numbers: counts, failures, spreads and costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts by device, language, origin, status and split; each operation's size, best speedup and spread."""
    by_task: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for r in rows:
        by_task[f"{r['kind']} {r['task']}"].append(r)
    return {
        "candidates": len(rows),
        "operations": len(by_task),
        "families": len({r["family"] for r in rows}),
        "devices": dict(Counter(r["device"] for r in rows)),
        "languages": dict(Counter(r["language"] for r in rows)),
        "origins": dict(Counter(r["origin"] for r in rows)),
        "statuses": dict(Counter(r["status"] for r in rows)),
        "splits": dict(Counter(r["split"] for r in rows)),
        "device_s": float(sum(r["device_s"] for r in rows)),
        "build_s": float(sum(r["build_s"] for r in rows)),
        "by_operation": {name: operation(group) for name, group in sorted(by_task.items())},
    }


def operation(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One operation: how many, how many failed, the best, and the 90th over the 10th percentile of runtime."""
    good = [r for r in rows if r["speedup"] is not None]
    speedups = np.array([r["speedup"] for r in good], dtype=float)
    return {
        "candidates": len(rows),
        "failed": len(rows) - len(good),
        "best": float(speedups.max()) if len(good) else None,
        "median": float(np.median(speedups)) if len(good) else None,
        "spread": float(np.quantile(speedups, 0.9) / np.quantile(speedups, 0.1)) if len(good) else None,
    }
