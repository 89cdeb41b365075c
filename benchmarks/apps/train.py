"""Trains the critics for larger screens on the development applications, one by pixels alone, one with evidence.

    python -m benchmarks.apps.train DATA/dev             # writes the shipped models and results/apps_critic.json

Right typing into a field that was not clicked (`unclicked`) is learnt from beside the recorded rows.
Figures are of applications that were left out, in six parts: how trees that never saw an application judge it.
Chances and thresholds come from the same scores, so that the held-out applications have the last word.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps import unclicked
from benchmarks.apps.described import code_digest, described, joined
from benchmarks.apps.evaluate import BOUND, MODELS, Figures
from benchmarks.apps.evidence import read_details
from benchmarks.apps.label import DETAILS
from benchmarks.apps.split import RESULTS
from benchmarks.machine import describe as machine
from foretell.gui.critic_model import CriticModel
from foretell.gui.dataset import Row, read_rows
from foretell.gui.described import Shown
from foretell.gui.evidence_features import PREFIX
from foretell.gui.experts import EVIDENCE, LARGE
from foretell.gui.train_critic import Effort, fitted, left_out_scores
from foretell.trees import FloatArray

# The weight of typing without a click was chosen among 0.4, 1 and 3 by applications that were left out.
EFFORT = Effort(trees=160, rate=0.08, members=1, error_trees=60, folds=6, variant_weight=3.0)
FILE = RESULTS / "apps_critic.json"


def left_out(model: CriticModel, shown: Shown, scores: FloatArray, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What trees that had not seen a row's application say of it, read as the model reads scores."""
    limit = model.threshold(BOUND)
    found = []
    for number, row in enumerate(rows):
        at = 2 * number
        scale = model.stated if shown.stated[at] else model.unstated
        p_bad = float(scale.chances.apply(scores[at : at + 1])[0])
        if shown.table[at, shown.names.index("check.formulation")] >= 0.9:
            p_bad = max(p_bad, 0.999)
        stops = limit.cleared_by(p_bad, row.proposal.sort, bool(row.proposal.intent))
        found.append({"p_bad": p_bad, "error": None, "interrupts": stops})
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--into", type=Path, help="a folder for the models; the package's own unless told")
    parser.add_argument("--results", type=Path, default=FILE)
    parser.add_argument("--figures", action="store_true", help="keep no models")
    parser.add_argument("--only", choices=(LARGE, EVIDENCE), help="train one of the two, and leave the other as it is")
    options = parser.parse_args(arguments)
    every = {row.id: row for row in read_rows(options.folder)}
    if any(row.split != "train" for row in every.values()):
        parser.error("the folder holds held-out applications: nothing is learnt from them")
    recorded = described(options.folder, list(every.values()))
    rows = [every[name] for name in recorded.ids[::2].tolist()]
    shown = joined((recorded, unclicked.unclicked(options.folder, rows)))
    more = read_details(options.folder, DETAILS)
    kept = options.only and options.results.is_file()
    result: dict[str, Any] = json.loads(options.results.read_text("utf-8")) if kept else {}
    result |= {"machine": machine(), "seed": options.seed, "bound": BOUND, "code": code_digest()}
    for name, part in ((LARGE, shown.without(PREFIX)), (EVIDENCE, shown)):
        if options.only not in (None, name):
            continue
        began_s = time.monotonic()
        scores = left_out_scores(part, options.seed, EFFORT, print)
        model = fitted(part, scores, options.seed, EFFORT, print, each=True)
        if not options.figures:
            path = MODELS[name] if options.into is None else options.into / MODELS[name].name
            model.save(path)
        figures = Figures(rows, left_out(model, part, scores, rows), [more[row.id] for row in rows]).summary()
        figures.pop("named_right_of_caught")  # the trees for classes saw all applications
        result[name] = figures | {"features": len(part.names), "seconds": round(time.monotonic() - began_s)}
        result[name]["unclicked"] = unclicked.left_out(part, scores, model)
        result[name]["threshold"] = model.threshold(BOUND).to_dict()
        told = ("rows", "auroc", "recall_at_2_percent", "recall", "false_interruptions", "ece")
        print(name, {key: figures[key] for key in told}, flush=True)
    result["right_by_sort"] = {
        sort: int(sum(row.proposal.sort == sort and not row.bad for row in rows)) for sort in ("step", "ending", "drag")
    }
    options.results.write_text(json.dumps(_plain(result), indent=1) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Numbers that JSON knows."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return float(value) if isinstance(value, np.floating) else value


if __name__ == "__main__":
    main()
