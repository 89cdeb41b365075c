"""Right typing into a field that has the focus without having been clicked, as on pages that focus one by themselves.

    python -m benchmarks.apps.unclicked DATA/dev --model CRITIC.npz     # writes results/apps_unclicked.json

The walks click into every field before they type, so that a critic trained on them alone takes typing without a click
for wrong. Here the click is taken out of the history: the screen, on which the field has the focus, stays as it is.
The shipped critics learn from such rows (`train`); the script is for others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps.described import described
from benchmarks.apps.evaluate import BOUND
from benchmarks.apps.evidence import read_details
from benchmarks.apps.label import DETAILS
from benchmarks.apps.moment import FOLDER, Moment, read_moments
from benchmarks.apps.split import RESULTS
from foretell.gui.actions import CLICKS, Kind
from foretell.gui.critic_model import CriticModel
from foretell.gui.dataset import Row, read_rows
from foretell.gui.described import Shown
from foretell.gui.evidence_features import PREFIX
from foretell.trees import FloatArray

NAME = "unclicked"
FILE = RESULTS / "apps_unclicked.json"


def unclicked_rows(
    rows: Sequence[Row], details: Mapping[str, Mapping[str, Any]], moments: Mapping[tuple[str, str, int], Moment]
) -> Iterator[Row]:
    """The right typings whose last step is the click into their field, without that step."""
    for row in rows:
        if row.bad or not row.proposal.actions or row.proposal.actions[0].kind is not Kind.TYPE:
            continue
        episode, number = details[row.id]["moment"]
        now, before = (moments.get((row.task, episode, at)) for at in (number, number - 1))
        if now is None or before is None or before.planned is None or not row.history.steps:
            continue
        target = before.target
        if target is None or not target.editable or row.history.steps[-1].action.kind not in CLICKS:
            continue
        if any(one.focused and (one.role, one.name) == (target.role, target.name) for one in now.elements):
            yield replace(row, history=before.history)


def unclicked(folder: Path, rows: Sequence[Row], say: Any = print) -> Shown:
    """Those rows of a folder as models see them, named as variants: they are learnt from and promise nothing."""
    names = {row.task for row in rows if (folder / FOLDER / f"{row.task}.jsonl").is_file()}
    moments = {(name, one.episode, one.number): one for name in names for one in read_moments(folder, name)}
    some = list(unclicked_rows(rows, read_details(folder, DETAILS), moments))
    shown = described(folder, some, say, variant=NAME)
    return replace(shown, ids=np.array([f"{one}, {NAME}" for one in shown.ids.tolist()]))


def interrupted(p_bad: FloatArray, model: CriticModel) -> dict[str, float | int]:
    """How many of these right steps with a stated intent a model interrupts at its threshold, and the median P(bad)."""
    limit = model.threshold(BOUND)
    stops = sum(limit.cleared_by(float(p), "step", True) for p in p_bad)
    return {"right": len(p_bad), "interrupted": stops, "median_p_bad": round(float(np.median(p_bad)), 4)}


def left_out(shown: Shown, scores: FloatArray, model: CriticModel) -> dict[str, float | int]:
    """The same of the variants in a table, by scores of trees that had not seen their applications."""
    return interrupted(model.stated.chances.apply(scores[shown.stated & ~shown.as_recorded]), model)


def _judged(shown: Shown, model: CriticModel) -> FloatArray:
    stated = shown.where(shown.stated)
    table = model.table([dict(zip(stated.names, cells, strict=True)) for cells in stated.table])
    return model.p_bad(table, True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="a critic's model that saw no such rows")
    options = parser.parse_args(arguments)
    rows = list({row.id: row for row in read_rows(options.folder)}.values())
    if any(row.split != "train" for row in rows):
        parser.error("the folder holds held-out applications")
    model = CriticModel.load(options.model)
    without = unclicked(options.folder, rows, lambda text: None)
    ids = {one.rpartition(", ")[0] for one in without.ids.tolist()}
    recorded = described(options.folder, rows, lambda text: None)
    clicked = recorded.where(np.array([one in ids for one in recorded.ids.tolist()]))
    found = {
        name: interrupted(_judged(part.without(PREFIX), model), model)
        for name, part in (("clicked", clicked), (NAME, without))
    }
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
