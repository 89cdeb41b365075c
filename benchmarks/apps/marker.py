"""The vision-language critic with and without the mark and the magnified part, asked by files and blind to the labels.

    python -m benchmarks.apps.marker draw DATA/heldout FOLDER --count 60
    python -m benchmarks.apps.vlm read FOLDER/marked                     # and FOLDER/bare: answers.txt of two readers
    python -m benchmarks.apps.marker score DATA/heldout FOLDER --held-out        # writes results/apps_marker.json

The same proposals that point at something, on screens that a reader sees in their own pixels. Without the mark a reader
is shown the screen alone, and the point's pixels stand in the text, as they do in both.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps.evaluate import BOUND, LOG, REPLICATES
from benchmarks.apps.evidence import read_details
from benchmarks.apps.label import DETAILS
from benchmarks.apps.split import RESULTS
from benchmarks.apps.vlm import SHEET_PX, asked, index_of, page, sample, write
from benchmarks.gui_critic import at_best, auroc, auroc_of
from foretell.belief import cluster_bootstrap, ece
from foretell.gui.cascade import Bounds
from foretell.gui.dataset import Row, read_rows
from foretell.gui.vision import VisionCritic
from foretell.gui.vision_answer import Answer, read
from foretell.lm.files import FileModel
from foretell.lm.model import Reply, Request

FILE = RESULTS / "apps_marker.json"
VARIANTS = ("marked", "bare")
RIGHT_SHARE = 0.5
_TEXTS = (
    (", with the place of the action marked, and a magnified part of it", ""),
    ("the whole screen, without a mark: the proposal has no point", "the whole screen; nothing is marked on it"),
)  # what is said of the pictures, and what is true of them without the mark


def pointing(data: Path) -> list[Row]:
    """Proposals that point at something, on screens no wider than a reader's sheet."""
    details = read_details(data, DETAILS)
    return [
        row
        for row in read_rows(data)
        if details[row.id]["size"][0] <= SHEET_PX and any(one.point is not None for one in row.proposal.actions)
    ]


def question(data: Path, row: Row, model: FileModel, variant: str) -> Request:
    """The request about a row."""
    if variant == "marked":
        return asked(data, row, VisionCritic(model))
    request = asked(data, row, VisionCritic(model, evidence=lambda image, proposal: {}))
    messages = []
    for message in request.messages:
        content = message.content
        for told, true in _TEXTS:
            content = content.replace(told, true)
        messages.append(replace(message, content=content))
    return replace(request, messages=tuple(messages))


def draw(data: Path, folder: Path, count: int) -> None:
    """Write both sets of questions."""
    rows = sample(pointing(data), count, RIGHT_SHARE)
    for variant in VARIANTS:
        model = FileModel(folder / variant, pictures=True)
        write(folder / variant, model, [(row.id, question(data, row, model, variant)) for row in rows], page)


def answers(data: Path, rows: Sequence[Row], folder: Path, variant: str) -> dict[str, float]:
    """P(bad) of the rows that a reader answered."""
    model = FileModel(folder / variant, pictures=True)
    found = {}
    for row in rows:
        (reply,) = model.ask([question(data, row, model, variant)])
        answer = read(reply.text) if isinstance(reply, Reply) else None
        if isinstance(answer, Answer):
            found[row.id] = answer.p_bad
    return found


def figures(p: Any, rows: Sequence[Row], threshold: float) -> dict[str, Any]:
    """The figures of one variant."""
    bad, stops = np.array([row.bad for row in rows]), p > threshold
    classes = sorted({row.error.value for row in rows if row.error is not None})
    own = {name: np.array([row.error is not None and row.error.value == name for row in rows]) for name in classes}
    return {
        "auroc": round(auroc(p, bad), 4),
        "ece": round(ece(p, bad), 4),
        "recall": round(float(stops[bad].mean()), 4),
        "interrupted": int(stops[~bad].sum()),
        "recall_at_2_percent": round(at_best(p, bad, BOUND)[0], 4),
        "by_class": {name: {"wrong": int(of.sum()), "caught": int(stops[of].sum())} for name, of in own.items()},
    }


def score(data: Path, folder: Path, held_out: bool) -> None:
    """Compare the variants on the rows that both readers answered, and log it."""
    known = {row.id: row for row in read_rows(data)}
    rows = [known[one["row"]] for one in json.loads(index_of(folder / VARIANTS[0]).read_text("utf-8"))]
    if not held_out and any(row.split == "held_out" for row in rows):
        raise SystemExit("these are held-out applications: use --held-out, which is logged")
    said = {variant: answers(data, rows, folder, variant) for variant in VARIANTS}
    drawn, rows = len(rows), [row for row in rows if all(row.id in one for one in said.values())]
    p = {variant: np.array([one[row.id] for row in rows]) for variant, one in said.items()}
    bad = np.array([float(row.bad) for row in rows])

    def gain(marked: Any, bare: Any, wrong: Any) -> float:
        return auroc_of(marked, wrong) - auroc_of(bare, wrong)

    groups = np.array([row.task for row in rows])
    spread = cluster_bootstrap(gain, p["marked"], p["bare"], bad, groups=groups, replicates=REPLICATES)
    threshold = Bounds.load().threshold
    head = {
        "name": "vision-language critic without the mark",
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "half": "held_out" if held_out else "development",
        "drawn": drawn,
        "rows": len(rows),
        "wrong": int(bad.sum()),
    }
    found = {variant: figures(p[variant], rows, threshold) for variant in VARIANTS}
    difference = {
        "auroc_gain": round(gain(p["marked"], p["bare"], bad), 4),
        "interval": [round(spread.low, 4), round(spread.high, 4)],
    }
    result = head | {"applications": len(set(groups.tolist())), "threshold": threshold, **found, **difference}
    FILE.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    short = {name: {key: one[key] for key in ("auroc", "recall", "interrupted")} for name, one in found.items()}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(head | short) + "\n")
    print(json.dumps(result, indent=1))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("draw", "score"):
        verb = verbs.add_parser(name)
        verb.add_argument("data", type=Path)
        verb.add_argument("folder", type=Path)
        if name == "draw":
            verb.add_argument("--count", type=int, default=60)
        else:
            verb.add_argument("--held-out", action="store_true")
    options = parser.parse_args(arguments)
    if options.verb == "draw":
        draw(options.data, options.folder, options.count)
    else:
        score(options.data, options.folder, options.held_out)


if __name__ == "__main__":
    main()
