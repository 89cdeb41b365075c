"""The learned GUI critic on tasks it has never seen: pixels only, no language model.

    python -m benchmarks.gui_critic FOLDER                # writes results/gui_critic.json

FOLDER holds recorded proposals (see foretell.gui.dataset). The critic is trained on the training tasks and judged on
the held-out ones, once with what the agent says it does and once without. The threshold for interrupting is learnt from
good proposals of training tasks by conformal risk control; what the best threshold for the held-out tasks would have
given stands beside it. Controls: one chance for all (`majority`), and the deterministic checks alone (`rules`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import describe as machine
from foretell.belief import cluster_bootstrap, ece
from foretell.gui.checks import check
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import CriticModel
from foretell.gui.dataset import Row, load_image, read_rows
from foretell.gui.described import Shown, describe
from foretell.gui.elements import look
from foretell.gui.explain import explain
from foretell.gui.features import features
from foretell.gui.history import Historian
from foretell.gui.judgement import ErrorClass
from foretell.gui.marker import evidence
from foretell.gui.ocr import Ocr
from foretell.gui.places import places
from foretell.gui.sight import Eyes
from foretell.gui.threshold import Threshold, threshold_for
from foretell.gui.train_critic import train

RESULTS = Path(__file__).parent / "results" / "gui_critic.json"
BOUND = 0.02
TIMED = 80
REPLICATES = 500

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def auroc(p: Floats, bad: Flags) -> float:
    """The chance that a bad proposal gets a higher score than a good one; ties count half."""
    if not bad.any() or bad.all():
        return math.nan
    _, rank, count = np.unique(p, return_inverse=True, return_counts=True)
    places_ = np.cumsum(count) - (count - 1) / 2
    n_bad, n_good = int(bad.sum()), int((~bad).sum())
    return float((places_[rank][bad].sum() - n_bad * (n_bad + 1) / 2) / (n_bad * n_good))


def at_best(p: Floats, bad: Flags, bound: float = BOUND) -> tuple[float, float]:
    """The recall and the false interruptions of the lowest threshold that keeps the latter within the bound."""
    good = np.sort(p[~bad])[::-1]
    value = good[min(len(good) - 1, math.floor(bound * len(good)))]
    return float((p[bad] > value).mean()), float((p[~bad] > value).mean())


def scored(
    p: Floats, shown: Shown, limit: Threshold, ways: Sequence[ErrorClass | None] | None = None
) -> dict[str, Any]:
    """Everything that is reported of one critic on one set of rows."""
    told = zip(shown.sort.tolist(), shown.stated.tolist(), strict=True)
    bad, above = shown.bad, p > np.array([limit.of(sort, stated) for sort, stated in told])
    curve = cluster_bootstrap(auroc_of, p, bad.astype(float), groups=shown.task, replicates=REPLICATES)
    best_recall, best_false = at_best(p, bad)
    found: dict[str, Any] = {
        "rows": len(p),
        "bad": int(bad.sum()),
        "tasks": len(set(shown.task.tolist())),
        "auroc": round(curve.value, 4),
        "auroc_interval": [round(curve.low, 4), round(curve.high, 4)],
        "ece": round(ece(p, bad), 4),
        "threshold": (limit if shown.stated.any() or limit.silent is None else limit.silent).to_dict(),
        "recall": round(float(above[bad].mean()), 4),
        "false_interruptions": round(float(above[~bad].mean()), 4),
        "oracle_recall": round(best_recall, 4),
        "oracle_false_interruptions": round(best_false, 4),
    }
    if ways is not None:
        named = np.array(["" if way is None else way.value for way in ways])
        found["class_accuracy"] = round(float((named == shown.error)[bad].mean()), 4)
        found["classes"] = {kind.value: _of_class(kind, p, shown, above, named) for kind in ErrorClass}
    return found


def auroc_of(p: Floats, bad: Floats) -> float:
    found = auroc(p, bad > 0.5)
    return 0.5 if math.isnan(found) else found


def _of_class(kind: ErrorClass, p: Floats, shown: Shown, above: Flags, named: NDArray[Any]) -> dict[str, Any]:
    own = shown.error == kind.value
    if not own.any():
        return {"rows": 0}
    beside = own | ~shown.bad
    return {
        "rows": int(own.sum()),
        "auroc": round(auroc(p[beside], own[beside]), 4),
        "recall": round(float(above[own].mean()), 4),
        "named_right": round(float((named == kind.value)[own].mean()), 4),
    }


def rules(shown: Shown) -> Floats:
    """P(bad) as the checks alone give it."""
    strongest = shown.table[:, shown.names.index("check.most")]
    return np.clip(np.nan_to_num(strongest), 0.02, 1.0)


def compare(model: CriticModel, train_rows: Shown, held_out: Shown) -> dict[str, Any]:
    """The critic and its controls, with and without stated intent."""
    found: dict[str, Any] = {}
    for name, stated in (("stated", True), ("unstated", False)):
        known, new = train_rows.where(train_rows.stated == stated), held_out.where(held_out.stated == stated)
        p_bad = model.p_bad(new.table, stated)
        share = float(known.bad.mean())
        by_rules = threshold_for(rules(known)[~known.bad], BOUND)
        found[name] = {
            "embedded": scored(p_bad, new, model.threshold(BOUND), model.ways(new.table)),
            "rules": scored(rules(new), new, by_rules),
            "majority": scored(np.full(len(new.bad), share), new, Threshold(share, BOUND, 0)),
        }
    return found


class Stages:
    """Milliseconds by the name of the stage."""

    def __init__(self) -> None:
        self.ms: dict[str, list[float]] = {}

    def clock(self, name: str, work: Callable[..., Any], *given: Any) -> Any:
        began_s = time.perf_counter()
        result = work(*given)
        self.ms.setdefault(name, []).append(1000.0 * (time.perf_counter() - began_s))
        return result

    def table(self) -> dict[str, dict[str, float]]:
        return {
            name: {"median_ms": round(float(np.median(ms)), 2), "p90_ms": round(float(np.quantile(ms, 0.9)), 2)}
            for name, ms in self.ms.items()
        }


def timed(folder: Path, rows: Sequence[Row], model: CriticModel) -> dict[str, dict[str, float]]:
    """What each stage costs on a screen never seen before, and whole critiques of a new and of a known screen."""
    stages, reader = Stages(), Ocr()
    reader.read(rows[0].observation(folder).image)  # the network is loaded once in a process's life
    for row in rows:
        seen, proposal, history = row.observation(folder), row.proposal, row.history
        reader.forget()
        findings = stages.clock("checks", check, seen, proposal, history)
        screen = stages.clock("look", look, seen.image)
        words = stages.clock("read", reader.read_lines, seen.image, screen.lines)
        stages.clock("places", places, seen.image, screen, words, seen.goal)
        sight = Eyes(reader).see(seen)
        told = stages.clock("features", features, seen, proposal, history, sight, findings)
        table = model.table([told])
        stages.clock("model", model.p_bad, table, True)
        stages.clock("error class", model.ways, table)
        stages.clock("explain", explain, seen, proposal, history, sight, told, findings)
        stages.clock("images", evidence, seen.image, proposal)
        reader.forget()
        critic = EmbeddedCritic(model, Eyes(reader))
        stages.clock("critique, new screen", critic.judge, seen, proposal, history)
        stages.clock("critique, same screen", critic.judge, seen, proposal, history)
        after = folder / row.image.replace(f"-{row.step}.png", f"-{row.step + 1}.png")
        if not row.bad and proposal.actions and after.is_file() and after != folder / row.image:
            later, keeper = load_image(after), Historian(reader)
            stages.clock("history update", keeper.update, history, seen.image, later, proposal.actions[0], None)
    return stages.table()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--into", type=Path, default=RESULTS)
    parser.add_argument("--recorded", action="store_true", help="learn from what was recorded alone, without variants")
    parser.add_argument("--save", type=Path, help="keep the trained model there")
    options = parser.parse_args(arguments)
    rows = list(read_rows(options.folder))
    shown = describe(options.folder, rows, print, os.cpu_count() or 1, vary=not options.recorded)
    known, new = shown.where(~shown.held_out), shown.where(shown.held_out)
    model = train(known, options.seed, say=print)
    if options.save is not None:
        model.save(options.save)
    held_out = [row for row in rows if row.split == "held_out"]
    chosen = np.random.default_rng(options.seed).permutation(len(held_out))[:TIMED]
    result = {
        "machine": machine(),
        "seed": options.seed,
        "bound": BOUND,
        "rows": {"train": sum(row.split == "train" for row in rows), "held_out": len(held_out)},
        "tasks": {"train": len(set(known.task.tolist())), "held_out": len(set(new.task.tolist()))},
        "features": len(model.names),
        "variants": int((~known.as_recorded).sum()) // 2,
        "held_out": compare(model, known, new),
        "times": timed(options.folder, [held_out[i] for i in chosen], model),
    }
    options.into.parent.mkdir(parents=True, exist_ok=True)
    options.into.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, critics in result["held_out"].items():
        for critic in ("embedded", "rules", "majority"):
            numbers = critics[critic]
            told = {key: numbers[key] for key in ("auroc", "recall", "false_interruptions", "oracle_recall", "ece")}
            print(f"{name:9} {critic:9} {told}")
    print(json.dumps(result["times"]))


if __name__ == "__main__":
    main()
