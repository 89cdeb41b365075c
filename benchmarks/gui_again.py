"""The shipped critic for small pages on held-out tasks of MiniWoB++, recorded anew: what the code of today makes of it.

    python -m benchmarks.gui_collect --folder FOLDER --seeds 1 --first 900
    python -m benchmarks.gui_again FOLDER --name "today"         # adds to results/gui_again.json

The model was trained on the training tasks and is not trained again; the code that makes its features and weighs what
it says goes on. Run in a checkout of the commit that trained it (`--name "as trained"`), it tells how much the code
changed the figures. No seed of these recordings was among those that the critic was trained or measured on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import foretell.gui
from benchmarks.gui_critic import BOUND, REPLICATES, at_best, auroc_of
from foretell.belief import cluster_bootstrap, ece
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import SHIPPED
from foretell.gui.dataset import Row, read_rows

RESULTS = Path(__file__).parent / "results" / "gui_again.json"
MODEL = Path(foretell.gui.__file__).parent / "models" / SHIPPED


def silent(row: Row) -> Row:
    """The row of an agent that never says what it means to do."""
    history = replace(row.history, steps=tuple(replace(step, intent=None) for step in row.history.steps))
    return replace(row, proposal=replace(row.proposal, intent=None), history=history)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    rows = sorted((row for row in read_rows(options.folder) if row.split == "held_out"), key=lambda row: row.image)
    bad, tasks = np.array([row.bad for row in rows]), np.array([row.task for row in rows])
    critic = EmbeddedCritic()
    limit = critic.model.threshold(BOUND)
    found: dict[str, object] = {
        "rows": len(rows),
        "tasks": len(set(tasks.tolist())),
        "model_sha256": hashlib.sha256(MODEL.read_bytes()).hexdigest(),
    }
    for name, shown in (("stated", rows), ("unstated", [silent(row) for row in rows])):
        said = [critic.judge(row.observation(options.folder), row.proposal, row.history).p_bad for row in shown]
        p = np.array(said)
        stops = np.array(
            [x > limit.of(r.proposal.sort, bool(r.proposal.intent)) for x, r in zip(said, shown, strict=True)]
        )
        curve = cluster_bootstrap(auroc_of, p, bad.astype(float), groups=tasks, replicates=REPLICATES)
        found[name] = {
            "auroc": round(curve.value, 4),
            "auroc_interval": [round(curve.low, 4), round(curve.high, 4)],
            "ece": round(ece(p, bad), 4),
            "recall": round(float(stops[bad].mean()), 4),
            "false_interruptions": round(float(stops[~bad].mean()), 4),
            "best_recall": round(at_best(p, bad)[0], 4),
        }
    known = json.loads(options.into.read_text("utf-8")) if options.into.is_file() else {}
    options.into.write_text(json.dumps(known | {options.name: found}, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
