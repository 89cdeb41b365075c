"""A critic on the proposals of real applications: how well P(bad) tells wrong from right, by application and class.

    python -m benchmarks.apps.evaluate DATA/dev --model OTHER.npz --name "before" --into FILE
    python -m benchmarks.apps.evaluate DATA/heldout --held-out --name "pixels"
    python -m benchmarks.apps.evaluate DATA/heldout --held-out --evidence --name "with evidence"
    python -m benchmarks.apps.evaluate DATA/heldout --held-out --guard ANSWERS.jsonl --name "guard, pixels"

Every run adds a line to results/apps_evaluations.jsonl. Held-out applications are judged only with `--held-out`, so
that the log says how often that was done. Features are worked out once (`described`); `--through N` also judges N rows
as a guard would, and stops where the two differ. With `--guard` every row is judged by the critic itself, with all that
weighs what a model says; answers are kept in a file, from which an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import foretell.gui
from benchmarks.apps.described import described
from benchmarks.apps.evidence import Recorded, read_details
from benchmarks.apps.label import DETAILS
from benchmarks.apps.split import RESULTS
from benchmarks.gui_critic import at_best, auroc, auroc_of
from benchmarks.machine import describe as machine
from foretell.belief import cluster_bootstrap, ece
from foretell.gui.contradiction import Contradiction
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import SHIPPED_EVIDENCE, SHIPPED_LARGE, UNUSABLE, CriticModel
from foretell.gui.dataset import Row, read_rows
from foretell.gui.described import Shown
from foretell.gui.evidence import weigh
from foretell.gui.evidence_contradiction import against_page
from foretell.gui.experts import EVIDENCE, LARGE
from foretell.gui.judgement import Critic, ErrorClass
from foretell.gui.threshold import Threshold
from foretell.gui.train_critic import lower_bound

LOG = RESULTS / "apps_evaluations.jsonl"
_FOLDER = Path(foretell.gui.__file__).parent / "models"
MODELS = {LARGE: _FOLDER / SHIPPED_LARGE, EVIDENCE: _FOLDER / SHIPPED_EVIDENCE}
MODEL = MODELS[LARGE]
MOST_APART = 0.02  # of P(bad), by rounding and by lines that are read or not
BOUND = 0.02
REPLICATES = 500


def read_off(rows: Sequence[Row], shown: Shown, model: CriticModel, told: Recorded | None) -> list[dict[str, Any]]:
    """What a model says of each row, in the order of the rows, which is that of the table."""
    table = model.table([dict(zip(shown.names, cells, strict=True)) for cells in shown.table])
    ways, limit = model.ways(table), model.threshold(BOUND)
    stated = np.array([bool(row.proposal.intent) for row in rows])
    chances = np.where(stated, model.p_bad(table, True), model.p_bad(table, False))
    against = shown.table[:, shown.names.index("against.strength")]
    found = []
    for row, p_bad, error, opposed in zip(rows, chances.tolist(), ways, against.tolist(), strict=True):
        if not row.proposal.actions or not row.proposal.placed:
            p_bad, error = max(p_bad, UNUSABLE), ErrorClass.FORMULATION
        else:
            action, intent = row.proposal.actions[0], row.proposal.intent
            page = None if told is None else told.of(row)
            known = Contradiction(opposed, ErrorClass.SEMANTIC) if opposed > 0 else Contradiction()
            confirmed = against_page(page, action, intent, known)
            if confirmed.strength > p_bad:
                p_bad, error = confirmed.strength, confirmed.error
            if page is not None:
                said = weigh(page, action, intent, p_bad, error)
                p_bad, error = said.p_bad, said.error
        found.append(
            {
                "p_bad": float(p_bad),
                "error": None if error is None else error.value,
                "interrupts": limit.cleared_by(p_bad, row.proposal.sort, bool(row.proposal.intent)),
            }
        )
    return found


def judged(
    folder: Path, rows: Sequence[Row], critic: Critic, limit: Threshold, path: Path, pages: Recorded | None = None
) -> list[dict[str, Any]]:
    """What a critic says of each row, in the order of the rows; what `path` holds already is not asked again.

    With `pages` it is shown the evidence of the recorded applications, too.
    """
    known = {}
    if path.is_file():
        known = {one["key"]: one for one in map(json.loads, path.read_text("utf-8").splitlines())}
    with path.open("a", encoding="utf-8") as file:
        for row in rows:
            if key(row) in known:
                continue
            observation = replace(row.observation(folder), evidence=None if pages is None else pages.of(row))
            judgement = critic.judge(observation, row.proposal, row.history)
            stated = bool(row.proposal.intent)
            doubts = limit.cleared_by(judgement.p_bad, row.proposal.sort, stated, judgement.model)
            answer = {
                "key": key(row),
                "id": row.id,
                "p_bad": judgement.p_bad,
                "error": None if judgement.error is None else judgement.error.value,
                "doubts": doubts,  # which is told as advice where it does not interrupt
                "interrupts": doubts and not judgement.advice,
            }
            known[key(row)] = answer
            file.write(json.dumps(answer) + "\n")
    return [known[key(row)] for row in rows]


def through(
    folder: Path, rows: Sequence[Row], said: Sequence[dict[str, Any]], critic: EmbeddedCritic, told: Recorded | None
) -> float:
    """The largest difference between what the critic itself says of some rows and what was said of them here."""
    worst = 0.0
    for row, one in zip(rows, said, strict=True):
        seen = replace(row.observation(folder), evidence=None if told is None else told.of(row))
        worst = max(worst, abs(critic.judge(seen, row.proposal, row.history).p_bad - one["p_bad"]))
    return worst


def key(row: Row) -> str:
    """A short hash of everything that a row says."""
    return hashlib.sha256(json.dumps(row.to_dict()).encode()).hexdigest()[:16]


class Figures:
    """Rows with what was said of them, as arrays."""

    def __init__(self, rows: Sequence[Row], said: Sequence[dict[str, Any]], details: Sequence[dict[str, Any]]) -> None:
        self.p = np.array([one["p_bad"] for one in said])
        self.bad = np.array([row.bad for row in rows])
        self.stops = np.array([one["interrupts"] for one in said])
        self.doubts = np.array([one.get("doubts", one["interrupts"]) for one in said])
        self.named = np.array([one["error"] or "" for one in said])
        self.error = np.array([row.error.value if row.error else "" for row in rows])
        self.application = np.array([row.task for row in rows])
        self.size = np.array(["x".join(map(str, one["size"])) for one in details])
        self.theme = np.array([one["theme"] for one in details])
        self.rule = np.array([one["rule"] for one in details])
        self.kind = np.array([row.proposal.actions[0].kind.value if row.proposal.actions else "none" for row in rows])
        self.stated = np.array([bool(row.proposal.intent) for row in rows])

    def of(self, own: Any) -> dict[str, Any]:
        """The figures of some rows."""
        p, bad, stops, doubts = self.p[own], self.bad[own], self.stops[own], self.doubts[own]
        if not bad.any() or bad.all():
            return {"rows": len(p), "bad": int(bad.sum())}
        recall, false = at_best(p, bad, BOUND)
        return {
            "rows": len(p),
            "bad": int(bad.sum()),
            "auroc": round(auroc(p, bad), 4),
            "ece": round(ece(p, bad), 4),
            "recall": round(float(stops[bad].mean()), 4),
            "false_interruptions": round(float(stops[~bad].mean()), 4),
            "wrong_doubted": round(float(doubts[bad].mean()), 4),
            "right_doubted": round(float(doubts[~bad].mean()), 4),
            "recall_at_2_percent": round(recall, 4),
            "false_interruptions_there": round(false, 4),
        }

    def summary(self) -> dict[str, Any]:
        """Everything: in all, by application, class, rule, size, theme and kind."""
        every = np.ones(len(self.p), dtype=bool)
        groups = self.application
        curve = cluster_bootstrap(auroc_of, self.p, self.bad.astype(float), groups=groups, replicates=REPLICATES)
        best = cluster_bootstrap(_recall_at_bound, self.p, self.bad.astype(float), groups=groups, replicates=REPLICATES)
        found = self.of(every) | {
            "applications": len(set(groups.tolist())),
            "auroc_interval": [round(curve.low, 4), round(curve.high, 4)],
            "recall_at_2_percent_interval": [round(best.low, 4), round(best.high, 4)],
            "named_right_of_caught": round(float((self.named == self.error)[self.bad & self.stops].mean()), 4),
        }
        found["by_application"] = {name: self._application(name) for name in sorted(set(groups.tolist()))}
        found["by_class"] = {kind.value: self._class(self.error == kind.value) for kind in ErrorClass}
        found["by_rule"] = {
            name: self._class(self.rule == name) for name in sorted(set(self.rule.tolist()) - {"right"})
        }
        for name in ("size", "theme", "kind"):
            values = getattr(self, name)
            found[f"by_{name}"] = {one: self.of(values == one) for one in sorted(set(values.tolist()))}
        found["by_intent"] = {"stated": self.of(self.stated), "silent": self.of(~self.stated)}
        return found

    def _application(self, name: str) -> dict[str, Any]:
        own = self.application == name
        good = own & ~self.bad
        count, total = int(self.stops[good].sum()), int(good.sum())
        return self.of(own) | {"interrupted": count, "right": total, "lower_bound": round(lower_bound(count, total), 4)}

    def _class(self, own: Any) -> dict[str, Any]:
        if not own.any():
            return {"rows": 0}
        beside = own | ~self.bad
        return {
            "rows": int(own.sum()),
            "auroc": round(auroc(self.p[beside], own[beside]), 4),
            "recall": round(float(self.stops[own].mean()), 4),
            "named_right": round(float((self.named == self.error)[own].mean()), 4),
        }


def _recall_at_bound(p: Any, bad: Any) -> float:
    wrong = bad > 0.5
    return at_best(p, wrong, BOUND)[0] if wrong.any() and not wrong.all() else 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, help="a critic's model (.npz); the shipped one unless told")
    parser.add_argument("--name", default="shipped")
    parser.add_argument("--evidence", action="store_true", help="with what the applications said of themselves")
    parser.add_argument("--held-out", action="store_true", help="judge held-out applications; the run is logged")
    parser.add_argument("--through", type=int, default=0, help="judge that many rows by the critic itself as well")
    parser.add_argument("--guard", type=Path, help="judge by the critic itself; keep its answers in this file")
    parser.add_argument("--into", type=Path, default=RESULTS / "apps_evaluation.json")
    options = parser.parse_args(arguments)
    every = {row.id: row for row in read_rows(options.folder)}
    if not options.held_out and any(row.split == "held_out" for row in every.values()):
        parser.error("the folder holds held-out applications: judge them with --held-out, which is logged")
    details = read_details(options.folder, DETAILS)
    path = options.model or MODELS[EVIDENCE if options.evidence else LARGE]
    told = Recorded(options.folder, details) if options.evidence else None
    if options.guard:
        if options.model or options.through:
            parser.error("--guard judges by the shipped models: leave out --model and --through")
        rows = sorted(every.values(), key=lambda row: row.image)  # so that each screen is read once
        critic = EmbeddedCritic(pictures=False)
        said = judged(options.folder, rows, critic, critic.threshold(BOUND), options.guard, told)
    else:
        rows, said = _by_model(options.folder, every, CriticModel.load(path), told)
    if options.through:
        chosen = np.random.default_rng(0).permutation(len(rows))[: options.through]
        picked = [rows[i] for i in chosen]
        apart = through(options.folder, picked, [said[i] for i in chosen], EmbeddedCritic(pictures=False), told)
        if apart > MOST_APART:
            raise SystemExit(f"the critic itself says something else: P(bad) differs by up to {apart:.3f}")
    summary = Figures(rows, said, [details[row.id] for row in rows]).summary()
    head = {
        "name": options.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "half": "held_out" if options.held_out else "development",
        "evidence": options.evidence,
        "guard": bool(options.guard),
        "model_sha256": digest(path),
        "rows_sha256": hashlib.sha256("".join(key(row) for row in rows).encode()).hexdigest(),
    }
    result = head | {"machine": machine(), "bound": BOUND, **summary}
    options.into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    short = ("rows", "applications", "auroc", "recall", "false_interruptions", "recall_at_2_percent", "ece")
    line = head | {name: summary[name] for name in short}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


def _by_model(
    folder: Path, every: Mapping[str, Row], model: CriticModel, pages: Recorded | None
) -> tuple[list[Row], list[dict[str, Any]]]:
    """The rows in the order of their table of features, and what a model says of them."""
    shown = described(folder, list(every.values()), say=lambda text: None)
    ids = shown.ids
    shown = shown.where(np.concatenate(([True], ids[1:] != ids[:-1])))  # as recorded, not without intents
    rows = [every[name] for name in shown.ids.tolist()]
    return rows, read_off(rows, shown, model, pages)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
