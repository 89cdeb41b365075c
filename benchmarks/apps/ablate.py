"""The critic for larger screens without history, without stated intents, and without the place pointed at.

    python -m benchmarks.apps.ablate train DATA/dev MODELS
    python -m benchmarks.apps.ablate evaluate DATA/heldout MODELS --held-out     # writes results/apps_ablation.json

Each variant is trained anew on the development applications, nearly as the shipped critics are (typing without a click
is among the rows, `unclicked`), and judges rows that lack the same. Without the place it knows what is to be done but
nothing of what lies under the point: what a critic that is shown no marker and no crop would be left with. All variants
are evaluated together on one of three rows, drawn by hash, and logged as one evaluation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps import train as shipped
from benchmarks.apps.described import described, joined
from benchmarks.apps.evaluate import LOG, MODELS, Figures, digest, read_off
from benchmarks.apps.evidence import read_details
from benchmarks.apps.label import DETAILS
from benchmarks.apps.split import RESULTS
from benchmarks.apps.unclicked import unclicked
from benchmarks.gui_endtoend import POINT_FEATURES
from foretell.gui.critic_model import CriticModel
from foretell.gui.dataset import Row, read_rows
from foretell.gui.described import Shown, without_intent
from foretell.gui.evidence_features import PREFIX
from foretell.gui.experts import LARGE
from foretell.gui.history import History
from foretell.gui.train_critic import fitted, left_out_scores

FILE = RESULTS / "apps_ablation.json"
EFFORT = replace(shipped.EFFORT, error_trees=1, folds=3)  # classes are not asked for
SAMPLE = 3
VARIANTS = ("no history", "no intent", "no point")
SHORT = ("rows", "auroc", "auroc_interval", "recall", "false_interruptions", "recall_at_2_percent", "ece")


def changed(rows: Sequence[Row], variant: str) -> list[Row]:
    """The rows as a variant is shown them."""
    if variant == "no history":
        return [replace(row, history=History()) for row in rows]
    return [without_intent(row) for row in rows] if variant == "no intent" else list(rows)


def table_of(folder: Path, rows: Sequence[Row], variant: str) -> Shown:
    """The features of a variant, by pixels alone; what is learnt from has typing without a click as well."""
    learns = rows[0].split == "train"
    as_recorded = variant in ("", "no point") or (variant == "no intent" and learns)
    asked = list(rows) if as_recorded else changed(rows, variant)
    shown = described(folder, asked, variant="" if as_recorded else variant)
    if learns and variant != "no history":
        shown = joined((shown, unclicked(folder, rows)))
    shown = shown.without(PREFIX)
    if variant == "no intent" and learns:
        return shown.where(np.arange(len(shown.bad)) % 2 == 1)
    if variant == "no point":
        for prefix in POINT_FEATURES:
            shown = shown.without(prefix)
    return shown


def train(folder: Path, models: Path) -> None:
    """Train the variants that are not there yet."""
    rows = list({row.id: row for row in read_rows(folder)}.values())
    if any(row.split != "train" for row in rows):
        raise SystemExit("the folder holds held-out applications: nothing is learnt from them")
    models.mkdir(parents=True, exist_ok=True)
    for variant in VARIANTS:
        path = models / f"{variant.replace(' ', '_')}.npz"
        if path.exists():
            continue
        shown = table_of(folder, rows, variant)
        scores = left_out_scores(shown, 0, EFFORT, print)
        fitted(shown, scores, 0, EFFORT, print, each=True).save(path)
        print(f"{path} written", flush=True)


def drawn(row: Row) -> bool:
    """Whether a row is in the sample that is evaluated: one of three, by hash."""
    return int(hashlib.sha256(row.id.encode()).hexdigest(), 16) % SAMPLE == 0


def figures(folder: Path, path: Path, variant: str) -> dict[str, Any]:
    """What a model says of the sampled rows of a folder, shown as its variant shows them."""
    every = {row.id: row for row in read_rows(folder)}
    sampled = {name: row for name, row in every.items() if drawn(row)}
    known = variant in ("", "no point")  # tables of all rows are kept already
    shown = table_of(folder, list((every if known else sampled).values()), variant)
    shown = shown.where(np.isin(shown.ids, list(sampled)))
    ids = shown.ids
    shown = shown.where(np.concatenate(([True], ids[1:] != ids[:-1])))
    if "against.strength" not in shown.names:  # read_off asks for it; these critics do not see what lies there
        column = np.zeros((len(shown.bad), 1))
        shown = replace(
            shown, names=(*shown.names, "against.strength"), table=np.concatenate((shown.table, column), axis=1)
        )
    rows = changed([every[name] for name in shown.ids.tolist()], variant)
    details = read_details(folder, DETAILS)
    model = CriticModel.load(path)
    if not model.stated.thresholds:  # it saw no intents
        model = replace(model, stated=model.unstated)
    found = Figures(rows, read_off(rows, shown, model, None), [details[row.id] for row in rows])
    summary = found.summary()
    by_class = {name: one.get("recall") for name, one in summary["by_class"].items()}
    return {name: summary[name] for name in SHORT} | {"recall_by_class": by_class, "model_sha256": digest(path)}


def evaluate(folder: Path, models: Path, held_out: bool) -> None:
    """Evaluate the shipped critic and the variants, and log it as one evaluation."""
    if not held_out and any(row.split == "held_out" for row in read_rows(folder)):
        raise SystemExit("the folder holds held-out applications: judge them with --held-out, which is logged")
    result = {"all": figures(folder, MODELS[LARGE], "")}
    result |= {one: figures(folder, models / f"{one.replace(' ', '_')}.npz", one) for one in VARIANTS}
    half = "held_out" if held_out else "development"
    FILE.write_text(json.dumps({"half": half, **result}, indent=1) + "\n", encoding="utf-8")
    head = {"name": "ablations", "when": datetime.now(UTC).isoformat(timespec="seconds"), "half": half}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(head | {name: one["auroc"] for name, one in result.items()}) + "\n")
    for name, one in result.items():
        print(name, {key: one[key] for key in SHORT}, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("train", "evaluate"):
        verb = verbs.add_parser(name)
        verb.add_argument("folder", type=Path)
        verb.add_argument("models", type=Path)
        if name == "evaluate":
            verb.add_argument("--held-out", action="store_true")
    options = parser.parse_args(arguments)
    if options.verb == "train":
        train(options.folder, options.models)
    else:
        evaluate(options.folder, options.models, options.held_out)


if __name__ == "__main__":
    main()
