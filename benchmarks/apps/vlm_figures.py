"""Figures of the vision-language critic on real applications, alone and behind the embedded critic.

    python -m benchmarks.apps.vlm_figures learn DATA/dev FOLDER          # bounds of the cascade, as data
    python -m benchmarks.apps.vlm_figures score DATA/heldout FOLDER --held-out

FOLDER holds the answers to `benchmarks.apps.vlm draw`. `learn` writes models/cascade.json and
results/apps_vlm_dev.json, `score` writes results/apps_vlm.json; both add a line to results/apps_evaluations.jsonl.
`--first FILE` takes the first critic's P(bad) from a file of lines with `id` and `p_bad` (out-of-fold ones if it was
fitted to these applications). Right proposals of desktop programs whose target lay under an open menu are left out: the
walks that labelled them did not yet count that as covered.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps.desktop import under_menu
from benchmarks.apps.evaluate import BOUND, LOG, MODEL, REPLICATES, digest, judged, key
from benchmarks.apps.install import by_name
from benchmarks.apps.label import DETAILS
from benchmarks.apps.moment import read_moments
from benchmarks.apps.split import RESULTS
from benchmarks.apps.vlm import index_of, observation
from benchmarks.gui_critic import at_best, auroc
from foretell.belief import cluster_bootstrap, ece
from foretell.gui.cascade import SHIPPED, Bounds, learn
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import CriticModel
from foretell.gui.dataset import Row, read_rows
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.train_critic import lower_bound
from foretell.gui.vision import CriticUnavailable, VisionCritic
from foretell.lm.files import FileModel

BOUNDS = MODEL.with_name(SHIPPED)
PIXELS_PER_TOKEN = 750  # of a picture, as vendors of frontier models count them
CHARACTERS_PER_TOKEN = 4


def contradicted(folder: Path, rows: Sequence[Row]) -> set[str]:
    """Ids of right proposals of desktop programs whose target an open menu covers."""
    desktop = {one.name for one in by_name([]) if one.desktop}
    details = {one["id"]: one for one in map(json.loads, (folder / DETAILS).read_text("utf-8").splitlines())}
    found = set()
    for name in sorted({row.task for row in rows} & desktop):
        moments = {(one.episode, one.number): one for one in read_moments(folder, name)}
        for row in (row for row in rows if row.task == name and not row.bad):
            more = details[row.id]
            moment = moments[more["moment"][0], more["moment"][1]]
            if more["ref"] is not None and under_menu(moment.elements[more["ref"]], moment.elements):
                found.add(row.id)
    return found


def answered(data: Path, rows: Sequence[Row], folder: Path) -> dict[str, Judgement]:
    """The judgements that could be read, by row."""
    critic = VisionCritic(FileModel(folder, pictures=True))
    found = {}
    for row in rows:
        try:
            found[row.id] = critic.judge(observation(data, row), row.proposal, row.history)
        except CriticUnavailable as error:
            print(f"{row.id}: {error}")
    return found


def first_of(data: Path, rows: Sequence[Row], options: argparse.Namespace) -> tuple[dict[str, float], str]:
    """The first critic's P(bad) by row, and its name: from a file, or judged now."""
    sha = digest(options.model)
    if options.first:
        lines = [json.loads(line) for line in options.first.read_text("utf-8").splitlines()]
        seen = "as a guard asks it," if options.held_out else "out of fold,"
        return {one["id"]: one["p_bad"] for one in lines}, f"critic {sha[:8]}, {seen}"
    critic = EmbeddedCritic(CriticModel.load(options.model), pictures=False)
    path = data / f"judged-{sha[:8]}.jsonl"
    said = judged(data, rows, critic, critic.model.threshold(BOUND), path)
    return {row.id: one["p_bad"] for row, one in zip(rows, said, strict=True)}, f"critic {sha[:8]}"


class Sample:
    """The answered rows as arrays."""

    def __init__(self, rows: Sequence[Row], said: Mapping[str, Judgement], first: Mapping[str, float]) -> None:
        rows = [row for row in rows if row.id in said]
        self.bad = np.array([row.bad for row in rows])
        self.second = np.array([said[row.id].p_bad for row in rows])
        self.first = np.array([first[row.id] for row in rows])
        self.application = np.array([row.task for row in rows])
        self.error = np.array([row.error.value if row.error else "" for row in rows])
        self.named = np.array([error.value if (error := said[row.id].error) else "" for row in rows])

    def figures(self, p: Any, threshold: float) -> dict[str, Any]:
        """Figures of one critic that interrupts above a threshold."""
        bad, stops = self.bad, p > threshold

        def recall(own_p: Any, own_bad: Any) -> float:
            wrong = own_bad > 0.5
            return float((own_p[wrong] > threshold).mean()) if wrong.any() else 0.0

        spread = cluster_bootstrap(recall, p, bad.astype(float), groups=self.application, replicates=REPLICATES)
        best, false = at_best(p, bad, BOUND)
        count, right, caught = int(stops[~bad].sum()), int((~bad).sum()), int((bad & stops).sum())
        return {
            "threshold": round(threshold, 4),
            "auroc": round(auroc(p, bad), 4),
            "ece": round(ece(p, bad), 4),
            "recall": round(float(stops[bad].mean()), 4),
            "recall_interval": [round(spread.low, 4), round(spread.high, 4)],
            "interrupted": count,
            "right": right,
            "false_interruptions": round(count / right, 4),
            "false_interruptions_lower_bound": round(lower_bound(count, right), 4),
            "recall_at_2_percent": round(best, 4),
            "false_interruptions_there": round(false, 4),
            "named_right_of_caught": round(float((self.named == self.error)[bad & stops].sum() / max(1, caught)), 4),
            "by_application": {name: self._part(p, threshold, self.application == name) for name in self.names},
            "by_class": {
                kind.value: self._part(p, threshold, self.error == kind.value)
                for kind in ErrorClass
                if (self.error == kind.value).any()
            },
        }

    @property
    def names(self) -> list[str]:
        return sorted(set(self.application.tolist()))

    def _part(self, p: Any, threshold: float, own: Any) -> dict[str, int]:
        wrong, right = own & self.bad, own & ~self.bad
        return {
            "wrong": int(wrong.sum()),
            "caught": int((p[wrong] > threshold).sum()),
            "right": int(right.sum()),
            "interrupted": int((p[right] > threshold).sum()),
        }

    def summary(self, bounds: Bounds) -> dict[str, Any]:
        """The second critic alone, the first alone, and the cascade."""
        asked = (self.first >= bounds.low) & (self.first <= bounds.high)
        both = np.where(asked, self.second, self.first)
        return {
            "rows": len(self.bad),
            "wrong": int(self.bad.sum()),
            "applications": len(self.names),
            "alone": self.figures(self.second, bounds.threshold),
            "first_alone": self.figures(self.first, bounds.high),
            "cascade": self.figures(both, bounds.threshold),
            "asked": round(float(asked.mean()), 4),
            "asked_of_right": round(float(asked[~self.bad].mean()), 4),
            "asked_of_wrong": round(float(asked[self.bad].mean()), 4),
        }


def cost(folder: Path) -> dict[str, float]:
    """Tokens of a request in the mean, by the sizes of texts and pictures."""
    from PIL import Image

    pixels: dict[str, int] = {}
    for path in (folder / "pictures").iterdir():
        with Image.open(path) as picture:
            pixels[path.stem] = picture.width * picture.height
    text, seen = [], []
    for line in map(json.loads, (folder / "requests.jsonl").read_text("utf-8").splitlines()):
        text.append(sum(len(one["content"]) for one in line["messages"]) / CHARACTERS_PER_TOKEN)
        images = [one["sha256"] for message in line["messages"] for one in message.get("images", ())]
        seen.append(sum(pixels[one] for one in images) / PIXELS_PER_TOKEN)
    return {"text_tokens": round(float(np.mean(text))), "picture_tokens": round(float(np.mean(seen)))}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("learn", "score"))
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--first", type=Path, help="P(bad) of the first critic, by row")
    parser.add_argument("--model", type=Path, default=MODEL, help="the first critic's model (.npz)")
    parser.add_argument("--name", default="vision-language critic")
    parser.add_argument("--held-out", action="store_true")
    options = parser.parse_args(arguments)
    index = json.loads(index_of(options.folder).read_text("utf-8"))
    known = {row.id: row for row in read_rows(options.data)}
    rows = [known[one["row"]] for one in index]
    if not options.held_out and any(row.split == "held_out" for row in rows):
        parser.error("these are held-out applications: use --held-out, which is logged")
    doubtful = contradicted(options.data, rows)
    rows = [row for row in rows if row.id not in doubtful]
    said = answered(options.data, rows, options.folder)
    first, name = first_of(options.data, rows, options)
    sample = Sample(rows, said, first)
    if options.verb == "learn":
        every = [row for row in known.values() if row.id in first]
        second = [said[row.id].p_bad if row.id in said else np.nan for row in every]
        bounds = learn(
            [first[row.id] for row in every], second, [row.bad for row in every], [row.task for row in every], BOUND
        )
        BOUNDS.write_text(json.dumps(bounds.to_dict(), indent=1) + "\n", encoding="utf-8")
    bounds = Bounds.load(BOUNDS)
    head = {
        "name": options.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "half": "held_out" if options.held_out else "development",
        "first": name,
        "rows_sha256": hashlib.sha256("".join(key(row) for row in rows).encode()).hexdigest(),
        "labels_left_out": len(doubtful),
        "unanswered": len(rows) - len(said),
    }
    summary = sample.summary(bounds)
    result = head | {"bounds": bounds.to_dict(), "cost": cost(options.folder), **summary}
    into = RESULTS / ("apps_vlm_dev.json" if options.verb == "learn" else "apps_vlm.json")
    into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    parts = ("recall", "false_interruptions", "ece", "auroc")
    line = head | {"rows": summary["rows"], "applications": summary["applications"], "asked": summary["asked"]}
    line |= {which: {part: summary[which][part] for part in parts} for which in ("alone", "first_alone", "cascade")}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


if __name__ == "__main__":
    main()
