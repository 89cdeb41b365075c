"""Whether the guard helps: scripted agents on real pages, with it and without, and with parts of it taken away.

    python -m benchmarks.gui_endtoend                                  # writes results/gui_endtoend.json
    python -m benchmarks.gui_endtoend --critic rules --tasks login-user click-tab --seeds 1
    python -m benchmarks.gui_endtoend --fit runs/gui                    # its critics, once: training tasks alone

Episodes are kept in a folder as they are played, and those that are there are not played again. The agents know the
right step and go wrong at fixed rates in known ways; the same episode has the same first error in every variant, so
variants are compared episode by episode. Intervals resample tasks.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe as machine
from foretell.belief import cluster_bootstrap
from foretell.gui.actions import Action
from foretell.gui.bench.episodes import play
from foretell.gui.bench.oracles import HELD_OUT, TASKS, TRAIN
from foretell.gui.bench.pages import Page
from foretell.gui.bench.policies import ALL_WAYS, IMPERFECT, PERFECT, SWAYED, WEAK, Habits, rehearse
from foretell.gui.bench.truth import Tally, Watched
from foretell.gui.critic import EmbeddedCritic, RulesCritic
from foretell.gui.critic_model import CriticModel
from foretell.gui.dataset import read_rows
from foretell.gui.guard import Guard, Limits
from foretell.gui.history import History
from foretell.gui.judgement import Critic
from foretell.gui.observation import Pixels
from foretell.gui.ocr import Ocr
from foretell.gui.sight import Eyes
from foretell.gui.threshold import Threshold

FOLDER = Path("runs/gui_endtoend")
RESULTS = Path(__file__).parent / "results" / "gui_endtoend.json"
EPISODES = "episodes.jsonl"
CRITIC, POINTLESS = "critic.npz", "without_point.npz"
FIRST_SEED = 1000
TRAIN_TASKS = 20  # beside all held-out ones
BOUND = 0.02
PLAIN_THRESHOLD = 0.5
POINT_FEATURES = (
    "at.", "to.", "past.same_", "past.fresh", "past.repeats", "value.here", "value.said", "intent.miss", "intent.other",
    "intent.here", "intent.elsewhere", "intent.side", "crisp.", "against.", "order.", "clause.", "plan.label_",
    "done_here", "to_any_click", "to_last_click", "rule.against_intent", "check.grounding", "check.misalignment",
    "check.semantic", "check.suboptimal", "check.most", "check.hallucination",
)  # fmt: skip
PATIENT = Limits(judgement_s=60.0, history_s=60.0)


class NoHistory:
    """Keeps nothing: the agent is told nothing of what was done, and the critic knows nothing of it."""

    def update(self, history: History, before: Pixels, after: Pixels, action: Action, intent: str | None) -> History:
        return History()


@dataclass(frozen=True)
class Variant:
    """An agent and what watches over it: no guard, or one with parts taken away."""

    habits: Habits
    guard: bool = True
    history: bool = True
    critique: bool = True
    point: bool = True
    selective: bool = True
    truth: bool = False
    bound: float | None = None  # on false interruptions, where it is not the run's


VARIANTS: Mapping[str, Variant] = {
    "alone": Variant(IMPERFECT, guard=False),
    "guarded": Variant(IMPERFECT, truth=True),
    "all ways alone": Variant(ALL_WAYS, guard=False),
    "all ways guarded": Variant(ALL_WAYS),
    "weak alone": Variant(WEAK, guard=False),
    "weak guarded": Variant(WEAK),
    "perfect alone": Variant(PERFECT, guard=False),
    "perfect guarded": Variant(PERFECT, truth=True),
    "swayed guarded": Variant(SWAYED),
    "guarded, 5 %": Variant(IMPERFECT, bound=0.05),
    "swayed guarded, 5 %": Variant(SWAYED, bound=0.05),
    "no history": Variant(IMPERFECT, history=False),
    "no critique": Variant(IMPERFECT, critique=False),
    "no point": Variant(IMPERFECT, point=False),
    "no selectivity": Variant(IMPERFECT, selective=False),
    "swayed, no selectivity": Variant(SWAYED, selective=False),
}
COMPARED = (
    ("guarded", "alone"),
    ("all ways guarded", "all ways alone"),
    ("weak guarded", "weak alone"),
    ("perfect guarded", "perfect alone"),
    ("swayed guarded", "perfect alone"),
    ("guarded, 5 %", "alone"),
    ("swayed guarded, 5 %", "perfect alone"),
    ("no history", "alone"),
    ("no critique", "alone"),
    ("no point", "alone"),
    ("no selectivity", "alone"),
    ("swayed, no selectivity", "perfect alone"),
    ("guarded", "no history"),
    ("guarded", "no critique"),
    ("guarded", "no point"),
    ("guarded", "no selectivity"),
)


@dataclass
class Parts:
    """What guards are made of, loaded once."""

    critic: str
    folder: Path
    bound: float

    def __post_init__(self) -> None:
        self.reader = Ocr()
        self.eyes = Eyes(self.reader)
        self.model = CriticModel.load(self.folder / CRITIC) if self.critic == "embedded" else None

    def guard(self, variant: Variant, historian: Watched) -> Guard:
        critic, threshold = self._critic(variant.point, variant.bound or self.bound)
        if not variant.critique:
            threshold = math.inf
        elif not variant.selective:
            threshold = PLAIN_THRESHOLD
        keeper = historian if variant.history else NoHistory()
        return Guard(critic, keeper, threshold, limits=PATIENT)

    def _critic(self, point: bool, bound: float) -> tuple[Critic, Threshold | float]:
        if self.model is None:
            return RulesCritic(pictures=False), PLAIN_THRESHOLD
        model = self.model if point else CriticModel.load(self.folder / POINTLESS)
        return EmbeddedCritic(model, self.eyes, pictures=False), model.threshold(bound)


def chosen_tasks() -> list[str]:
    """Every held-out task and an even choice of the others."""
    return sorted((*HELD_OUT, *TRAIN[:: max(1, len(TRAIN) // TRAIN_TASKS)][:TRAIN_TASKS]))


def run(
    folder: Path, critic: str, tasks: Sequence[str], seeds: Iterable[int], names: Sequence[str], bound: float
) -> None:
    """Play what the folder does not hold yet."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {(one["variant"], one["task"], one["seed"]) for one in played(folder)}
    parts = Parts(critic, folder, bound)
    historian = Watched(parts.reader)
    guards = {name: parts.guard(VARIANTS[name], historian) for name in names if VARIANTS[name].guard}
    with Page() as page, (folder / EPISODES).open("a", encoding="utf-8") as file:
        for seed in seeds:
            for task in tasks:
                left = [name for name in names if (name, task, seed) not in known]
                course = rehearse(page, task, seed) if left else ()
                if left and not course:
                    print(f"{task} {seed}: not solved by the oracle, left out", flush=True)
                for name in left if course else ():
                    variant = VARIANTS[name]
                    tally = Tally() if variant.truth else None
                    outcome = play(page, task, seed, course, variant.habits, guards.get(name), historian, tally)
                    row = {"variant": name, **outcome.to_dict(), "critic": critic if variant.guard else None}
                    file.write(json.dumps({**row, "truth": tally.to_dict() if tally else None}) + "\n")
                    file.flush()
                if left and course:
                    print(f"{task} {seed}", flush=True)


def played(folder: Path) -> list[dict[str, Any]]:
    path = folder / EPISODES
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def of_variant(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The numbers of one variant."""
    total = {name: sum(row[name] for row in rows) for name in ("steps", "proposals", "wrong", "stopped", "interrupted")}
    right = total["proposals"] - total["wrong"]
    caught, missed, where = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        where[row["task"]] += row["interrupted"]
        caught.update(row["caught"])
        missed.update(row["missed"])
    return {
        "episodes": len(rows),
        "tasks": len({row["task"] for row in rows}),
        "success": round(float(np.mean([row["solved"] for row in rows])), 4),
        "steps": round(total["steps"] / len(rows), 3),
        "wrong_share": round(total["wrong"] / max(1, total["proposals"]), 4),
        "stopped_of_wrong": round(total["stopped"] / max(1, total["wrong"]), 4),
        "interrupted_of_right": round(total["interrupted"] / max(1, right), 4),
        "interrupted": total["interrupted"],
        "interrupted_most": {task: count for task, count in where.most_common(3) if count},
        "faults": sum(row["faults"] for row in rows),
        "classes": {
            kind: {"wrong": caught[kind] + missed[kind], "stopped": caught[kind]} for kind in sorted(caught | missed)
        },
    }


def difference(rows: Sequence[Mapping[str, Any]], name: str, base: str) -> dict[str, Any] | None:
    """How much more often a variant succeeds than another on the same episodes, with an interval over tasks."""
    solved = {(row["variant"], row["task"], row["seed"]): float(row["solved"]) for row in rows}
    both = [(key[1], key[2]) for key in solved if key[0] == name and (base, key[1], key[2]) in solved]
    pairs = [(task, solved[name, task, seed] - solved[base, task, seed]) for task, seed in both]
    if not pairs:
        return None
    found = cluster_bootstrap(
        lambda gains: float(np.mean(gains)), np.array([gain for _, gain in pairs]), groups=[task for task, _ in pairs]
    )
    points = [round(100 * value, 2) for value in (found.value, found.low, found.high)]
    return {"episodes": len(pairs), "points": points[0], "interval": points[1:]}


def of_history(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many claims of the history are true in the page's state, and how many true achievements it claims."""
    total: dict[str, Counter[str]] = {}
    for row in rows:
        for name, counts in (row["truth"] or {}).items():
            total.setdefault(name, Counter()).update(counts)
    found: dict[str, Any] = {}
    for name, of, part in (
        ("true", "made", "true"),
        ("still_true", "held", "still"),
        ("claimed", "achieved", "claimed"),
    ):
        all_of, part_of = total.get(of, Counter()), total.get(part, Counter())
        sorts = {sort: {"count": all_of[sort], "share": round(part_of[sort] / all_of[sort], 4)} for sort in all_of}
        count = sum(all_of.values())
        found[name] = {"count": count, "share": round(sum(part_of.values()) / max(1, count), 4), "sorts": sorts}
    return found


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Everything that is reported: of all tasks, and of those that the critic was not trained on."""
    found: dict[str, Any] = {}
    for split, chosen in (("all", set(TASKS)), ("held_out", set(HELD_OUT))):
        own = [row for row in rows if row["task"] in chosen]
        names = [name for name in VARIANTS if any(row["variant"] == name for row in own)]
        found[split] = {
            "variants": {name: of_variant([row for row in own if row["variant"] == name]) for name in names},
            "differences": {
                f"{name} - {base}": difference(own, name, base)
                for name, base in COMPARED
                if name in names and base in names
            },
        }
    found["history"] = of_history(rows)
    return found


def fit(data: Path, folder: Path) -> None:
    """Train the critics on the training tasks alone: one as it is shipped, and one that does not see the point."""
    from foretell.gui.described import describe
    from foretell.gui.train_critic import train

    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for row in read_rows(data) if row.split == "train"]
    shown = describe(data, rows, print, os.cpu_count() or 1, vary=True)
    train(shown, say=print).save(folder / CRITIC)
    kept = [not name.startswith(POINT_FEATURES) for name in shown.names]
    names = tuple(name for name, keep in zip(shown.names, kept, strict=True) if keep)
    train(replace(shown, names=names, table=shown.table[:, kept]), say=print).save(folder / POINTLESS)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--critic", choices=("embedded", "rules"), default="embedded")
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--variants", nargs="*", choices=tuple(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--bound", type=float, default=BOUND, help="false interruptions at most")
    parser.add_argument("--count", action="store_true", help="play nothing, only sum up what is there")
    parser.add_argument("--fit", type=Path, metavar="DATA", help="train the critics on recorded proposals and stop")
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if options.fit is not None:
        fit(options.fit, options.folder)
        return
    tasks, seeds = options.tasks or chosen_tasks(), range(options.first, options.first + options.seeds)
    if not options.count:
        run(options.folder, options.critic, tasks, seeds, options.variants, options.bound)
    rows = played(options.folder)
    result = {
        "machine": machine(),
        "critic": sorted({str(row["critic"]) for row in rows if row["critic"]}),
        "bound": options.bound,
        "first_seed": options.first,
        "errs": IMPERFECT.errs,
        "forgets": IMPERFECT.forgets,
        "weak_errs": WEAK.errs,
        "weak_forgets": WEAK.forgets,
        "stubborn": IMPERFECT.stubborn,
        "reads": IMPERFECT.reads,
        "revises": IMPERFECT.revises,
        "mix": {kind.value: share for kind, share in IMPERFECT.ways.items()},
        **summary(rows),
    }
    options.into.parent.mkdir(parents=True, exist_ok=True)
    options.into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, numbers in result["all"]["variants"].items():
        told = ("success", "steps", "wrong_share", "stopped_of_wrong", "interrupted_of_right")
        print(f"{name:24} { ({key: numbers[key] for key in told}) }")
    print(json.dumps(result["all"]["differences"], indent=1))
    print(json.dumps({name: result["history"][name]["share"] for name in result["history"]}))


if __name__ == "__main__":
    main()
