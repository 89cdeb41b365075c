"""A critic on the proposals of real applications: how well P(bad) tells wrong from right, by application and class.

    python -m benchmarks.apps.evaluate DATA/dev         # the shipped critic; writes results/apps_evaluation.json
    python -m benchmarks.apps.evaluate DATA/dev --model NEW.npz --name "new features"
    python -m benchmarks.apps.evaluate DATA/heldout --held-out --name "final"

Every run adds a line to results/apps_evaluations.jsonl. Held-out applications are judged only with `--held-out`, so
that the log says how often that was done. P(bad) of each row is kept beside the data (`judged-*.jsonl`, by the model's
hash), so that a run that was interrupted resumes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import foretell.gui
from benchmarks.apps.label import DETAILS
from benchmarks.apps.split import RESULTS
from benchmarks.gui_critic import at_best, auroc, auroc_of
from benchmarks.machine import describe as machine
from foretell.belief import cluster_bootstrap, ece
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import SHIPPED, CriticModel
from foretell.gui.dataset import Row, read_rows
from foretell.gui.judgement import Critic, ErrorClass
from foretell.gui.observation import Observation
from foretell.gui.threshold import Threshold

LOG = RESULTS / "apps_evaluations.jsonl"
MODEL = Path(foretell.gui.__file__).parent / "models" / SHIPPED
BOUND = 0.02
REPLICATES = 500
Z95 = 1.645


def judged(folder: Path, rows: Sequence[Row], critic: Critic, limit: Threshold, path: Path) -> list[dict[str, Any]]:
    """What the critic says of each row, in the order of the rows; what `path` holds already is not asked again."""
    known = {}
    if path.is_file():
        known = {one["key"]: one for one in map(json.loads, path.read_text("utf-8").splitlines())}
    keys = [key(row) for row in rows]
    picture, observation = "", None
    began_s = time.monotonic()
    with path.open("a", encoding="utf-8") as file:
        for number, row in enumerate(rows):
            if keys[number] in known:
                continue
            fresh = row.image != picture or observation is None
            if fresh or observation is None:
                picture, observation = row.image, row.observation(folder)
            seen = Observation(row.goal, observation.image, row.step)
            start_s = time.perf_counter()
            found = critic.judge(seen, row.proposal, row.history)
            told = {
                "key": keys[number],
                "id": row.id,
                "p_bad": found.p_bad,
                "error": None if found.error is None else found.error.value,
                "interrupts": limit.cleared_by(found.p_bad, row.proposal.sort, bool(row.proposal.intent)),
                "ms": round(1000.0 * (time.perf_counter() - start_s), 1),
                "fresh": fresh,
            }
            known[keys[number]] = told
            file.write(json.dumps(told) + "\n")
            if number % 100 == 99:
                file.flush()
                print(f"{number + 1} of {len(rows)} rows, {time.monotonic() - began_s:.0f} s", flush=True)
    return [known[key] for key in keys]


def key(row: Row) -> str:
    """A short hash of everything that a row says."""
    return hashlib.sha256(json.dumps(row.to_dict()).encode()).hexdigest()[:16]


def lower_bound(count: int, total: int) -> float:
    """The lower 95 % bound of a share (Wilson, one-sided)."""
    if not total:
        return 0.0
    share, spread = count / total, Z95**2 / total
    middle = share + spread / 2
    return max(0.0, (middle - Z95 * np.sqrt(share * (1 - share) / total + spread / (4 * total))) / (1 + spread))


def sample(rows: Sequence[Row], pictures: int) -> list[Row]:
    """The rows of that many pictures of each application, drawn by the hash of their names; all if it is 0."""
    if not pictures:
        return list(rows)
    drawn: set[str] = set()
    for name in {row.task for row in rows}:
        images = {row.image for row in rows if row.task == name}
        drawn |= set(sorted(images, key=lambda one: hashlib.sha256(one.encode()).hexdigest())[:pictures])
    return [row for row in rows if row.image in drawn]


class Figures:
    """Rows with what was said of them, as arrays."""

    def __init__(self, rows: Sequence[Row], said: Sequence[dict[str, Any]], details: Sequence[dict[str, Any]]) -> None:
        self.p = np.array([one["p_bad"] for one in said])
        self.bad = np.array([row.bad for row in rows])
        self.stops = np.array([one["interrupts"] for one in said])
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
        p, bad, stops = self.p[own], self.bad[own], self.stops[own]
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


def latency(rows: Sequence[Row], said: Sequence[dict[str, Any]], details: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Milliseconds of a critique on a screen not seen before, by size, on the machine as it was."""
    found = {}
    for size in sorted({tuple(one["size"]) for one in details}):
        ms = [
            one["ms"] for one, more in zip(said, details, strict=True) if one["fresh"] and tuple(more["size"]) == size
        ]
        if ms:
            quantiles = np.quantile(ms, (0.5, 0.95))
            found[f"{size[0]}x{size[1]}"] = {
                "median_ms": round(quantiles[0]),
                "p95_ms": round(quantiles[1]),
                "pictures": len(ms),
            }
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, default=MODEL, help="a critic's model (.npz)")
    parser.add_argument("--name", default="shipped")
    parser.add_argument("--held-out", action="store_true", help="judge held-out applications; the run is logged")
    parser.add_argument("--only", nargs="*", help="these applications alone")
    parser.add_argument("--pictures", type=int, default=0, help="judge that many pictures of each application, not all")
    parser.add_argument("--into", type=Path, default=RESULTS / "apps_evaluation.json")
    options = parser.parse_args(arguments)
    every = {row.id: row for row in read_rows(options.folder)}
    details = {one["id"]: one for one in map(json.loads, (options.folder / DETAILS).read_text("utf-8").splitlines())}
    rows = sample([row for row in every.values() if not options.only or row.task in options.only], options.pictures)
    if not options.held_out and any(row.split == "held_out" for row in rows):
        parser.error("the folder holds held-out applications: judge them with --held-out, which is logged")
    critic = EmbeddedCritic(CriticModel.load(options.model), pictures=False)
    limit = critic.model.threshold(BOUND)
    path = options.folder / f"judged-{digest(options.model)[:8]}.jsonl"
    said = judged(options.folder, rows, critic, limit, path)
    more = [details[row.id] for row in rows]
    summary = Figures(rows, said, more).summary()
    head = {
        "name": options.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "half": "held_out" if options.held_out else "development",
        "model_sha256": digest(options.model),
        "rows_sha256": hashlib.sha256("".join(key(row) for row in rows).encode()).hexdigest(),
        "pictures_per_application": options.pictures or "all",
    }
    result = head | {"machine": machine(), "bound": BOUND, "latency": latency(rows, said, more), **summary}
    options.into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    short = ("rows", "applications", "auroc", "recall", "false_interruptions", "recall_at_2_percent", "ece")
    line = head | {name: summary[name] for name in short}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
