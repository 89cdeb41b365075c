"""Records labelled proposals on real pages: the oracle's steps as good ones, perturbations of each class as bad ones.

An episode is walked once with the oracle, at times after a stumble so that there is something to recover from. Then
each chosen moment is restored, wrong proposals are made for it, and those that the page's state alone does not settle
are carried out on a copy. Pictures and histories are those that a guard would have had.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.bench.oracles import HELD_OUT
from foretell.gui.bench.pages import Page
from foretell.gui.bench.perturb import Moment, Wrong, moment_of, perturbations, reworded
from foretell.gui.bench.perturb.copies import ORACLE_ERRORS, Copies, State, state_of
from foretell.gui.bench.perturb.course import STOPS
from foretell.gui.bench.perturb.moment import name_of, said_of
from foretell.gui.bench.perturb.timing import covered, waiting
from foretell.gui.bench.walks import Recorded, chosen, walk
from foretell.gui.dataset import FILE, Row, read_rows, save_image, write_rows
from foretell.gui.history import Historian
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal
from foretell.received import parsed

EPISODES = "episodes.jsonl"
EARLY_STOPS = 0.3  # share of the moments before the end at which a stop is proposed
LONG = 10  # steps: of longer episodes, which are slow to restore, fewer moments are taken

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How much is taken from an episode: moments, bad proposals a moment, and the chance of a second good one."""

    moments: int = 6
    bad: int = 2
    more_good: float = 0.75
    tries: int = 3


@dataclass
class Collector:
    """Records episodes into a folder and keeps count, so that rarer classes are taken first."""

    folder: Path
    page: Page
    historian: Historian
    plan: Plan = field(default_factory=Plan)
    counts: Counter[str] = field(default_factory=Counter)

    def episode(self, task: str, seed: int) -> list[Row]:
        """The rows of one episode; their pictures are saved. Empty where the oracle does not solve it."""
        rng = random.Random(f"{task} {seed} collect")
        moments = walk(self.page, task, seed, self.historian, rng)
        if not moments:
            moments = walk(self.page, task, seed, self.historian, rng, stumbles=0.0)
        rows: list[Row] = []
        most = self.plan.moments if len(moments) <= LONG else self.plan.moments // 2
        for at in chosen(moments, most, rng) if moments else ():
            rows.extend(self._moment(task, seed, moments, at, rng))
        stops = early_stops(rows)
        self.counts[ErrorClass.TERMINATION.value] += len(stops)
        return in_order([*rows, *stops])

    def _moment(self, task: str, seed: int, moments: list[Recorded], at: int, rng: random.Random) -> list[Row]:
        here = moments[at]
        after: State | None = state_of(moments[at + 1].elements) if at + 1 < len(moments) else None
        copies = Copies(self.page, task, seed, here.done, len(moments) - 1 - at, after)
        if here.planned is not None and not np.array_equal(self.page.screenshot(), here.image):
            return []
        future = tuple(one.planned for one in moments[at + 1 :] if one.planned is not None)
        earlier = tuple(one.elements for one in moments[max(0, at - 3) : at])
        moment = moment_of(self.page, task, here.planned, here.history, future, earlier)
        name = f"images/{task}-{seed}-{len(here.done)}"
        labelled: list[tuple[str, Proposal, ErrorClass | None]] = [
            (f"{name}.png", good, None) for good in self._good(moment, rng)
        ]
        save_image(self.folder / f"{name}.png", here.image)
        for wrong in self._bad(moment, copies, rng):
            if wrong.busy is not None:
                picture = f"{name}-{wrong.busy}.png"
                labelled.append((picture, waiting(rng), None))
                labelled.append((picture, wrong.proposal, wrong.error))
            else:
                labelled.append((f"{name}.png", wrong.proposal, wrong.error))
        return [
            Row(
                f"{task}-{seed}-{len(here.done)}-{number}",
                task,
                seed,
                here.history.count,
                "held_out" if task in HELD_OUT else "train",
                moment.goal,
                picture,
                here.history,
                proposal,
                error is not None,
                error,
            )
            for number, (picture, proposal, error) in enumerate(labelled)
        ]

    def _good(self, moment: Moment, rng: random.Random) -> Iterator[Proposal]:
        planned = moment.planned
        if planned is None:
            stop = Action(Kind.TERMINATE, success=True)
            yield Proposal((stop,), reworded(rng.choice(STOPS), stop, rng))
            return
        yield Proposal((planned.action,), reworded(planned.intent, planned.action, rng))
        if rng.random() < self.plan.more_good:
            again = also_good(moment, rng)
            if again is not None:
                yield replace(again, intent=reworded(again.intent, again.actions[0], rng))

    def _bad(self, moment: Moment, copies: Copies, rng: random.Random) -> list[Wrong]:
        wrong = perturbations(moment, rng)
        kinds = sorted(wrong, key=lambda error: self.counts[error.value] * rng.uniform(0.7, 1.3))
        found: list[Wrong] = []
        for kind in kinds:
            tried = (
                one
                for one in wrong[kind][: self.plan.tries if len(copies.actions) <= LONG else 1]
                if one.exact or one.action is None or not copies.helps(one.action)
            )
            for one in islice(tried, 2 if kind is ErrorClass.VECTOR else 1):
                self._cover(one, moment, copies)
                found.append(one)
                self.counts[kind.value] += 1
            if len(found) >= self.plan.bad:
                break
        return found

    def _cover(self, wrong: Wrong, moment: Moment, copies: Copies) -> None:
        if wrong.busy is None:
            return
        copies.restore()
        name = f"images/{moment.task}-{copies.seed}-{len(copies.actions)}-{wrong.busy}.png"
        save_image(self.folder / name, covered(self.page, wrong.busy))


def early_stops(rows: Sequence[Row], share: float = EARLY_STOPS) -> list[Row]:
    """Stopping where the oracle still had something to do, at a share of the moments: wrong whatever the page shows.

    What is drawn depends on the moment alone. Rows that are there already are not made again.
    """
    known, seen, found = {row.id for row in rows}, set[str](), list[Row]()
    for row in rows:
        moment = row.id.rpartition("-")[0]
        ended = any(action.kind is Kind.TERMINATE for action in row.proposal.actions)
        if row.bad or ended or moment in seen or f"{moment}-stop" in known:
            continue
        seen.add(moment)
        rng = random.Random(f"{moment} stop")
        if rng.random() < share:
            stop = Action(Kind.TERMINATE, success=True)
            proposal = Proposal((stop,), reworded(rng.choice(STOPS), stop, rng))
            error = ErrorClass.TERMINATION
            found.append(replace(row, id=f"{moment}-stop", proposal=proposal, bad=True, error=error))
    return found


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Rows of one picture side by side, pictures in the order in which they first came."""
    order = {image: number for number, image in reversed(list(enumerate(row.image for row in rows)))}
    return sorted(rows, key=lambda row: order[row.image])


def also_good(moment: Moment, rng: random.Random) -> Proposal | None:
    """Another right proposal: another point of the same thing, or another thing that is as right."""
    planned, target = moment.planned, moment.target
    if planned is None or target is None or planned.action.kind not in CLICKS or planned.action.point is None:
        return None
    others = [moment.by_ref[ref] for ref in planned.also_right if ref in moment.by_ref]
    seen = [e for e in others if e.visible and e.ref in moment.hit(e.centre)]
    if seen and rng.random() < 0.5:
        other = rng.choice(seen)
        said = said_of(moment, other) if name_of(moment, other) else planned.intent
        return Proposal((replace(planned.action, point=other.centre),), said)
    if moment.by_place:
        return None
    x, y, width, height = target.box
    top = moment.hit(planned.action.point)[:1]
    for _ in range(8):
        point = Point(x + width * rng.uniform(0.12, 0.88), y + height * rng.uniform(0.15, 0.85))
        if moment.hit(point)[:1] == top:
            return Proposal((replace(planned.action, point=point),), planned.intent)
    return None


def resumed(folder: Path) -> tuple[set[tuple[str, int]], Counter[str]]:
    """The episodes that a folder holds, and how many rows of each class; half-written episodes are taken out."""
    log = folder / EPISODES
    if not log.is_file():
        return set(), Counter()
    known = {(one["task"], int(one["seed"])) for one in map(parsed, log.read_text("utf-8").splitlines())}
    rows = [row for row in read_rows(folder) if (row.task, row.seed) in known] if (folder / FILE).is_file() else []
    write_rows(folder, rows)
    return known, Counter(row.error.value for row in rows if row.error is not None)


def collect(
    page: Page,
    historian: Historian,
    folder: Path,
    tasks: Sequence[str],
    seeds: Sequence[int],
    plan: Plan | None = None,
    say: Say = print,
) -> None:
    """Records what the folder does not hold yet: one seed of every task after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    known, counts = resumed(folder)
    collector = Collector(folder, page, historian, plan or Plan(), counts)
    for task, seed in ((task, seed) for seed in seeds for task in tasks if (task, seed) not in known):
        began_s = time.monotonic()
        try:
            rows = collector.episode(task, seed)
        except ORACLE_ERRORS as error:
            say(f"{task} {seed}: {type(error).__name__}: {error}")
            rows = []
        write_rows(folder, rows, append=True)
        entry = {"task": task, "seed": seed, "rows": len(rows), "seconds": round(time.monotonic() - began_s, 2)}
        with (folder / EPISODES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        say(f"{task} {seed}: {len(rows)} rows, {entry['seconds']} s; {dict(collector.counts)}")


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Counts by task, class and split, as JSON."""
    tasks = sorted({row.task for row in rows})
    by_task: dict[str, dict[str, Any]] = {}
    for task in tasks:
        own = [row for row in rows if row.task == task]
        by_task[task] = {
            "split": own[0].split,
            "episodes": len({row.seed for row in own}),
            "good": sum(not row.bad for row in own),
            "bad": sum(row.bad for row in own),
        }
    splits = {}
    for split in ("train", "held_out"):
        own = [row for row in rows if row.split == split]
        classes = Counter(row.error.value for row in own if row.error is not None)
        splits[split] = {
            "tasks": len({row.task for row in own}),
            "proposals": len(own),
            "good": sum(not row.bad for row in own),
            "classes": {error.value: classes[error.value] for error in ErrorClass},
        }
    total = Counter(row.error.value for row in rows if row.error is not None)
    return {
        "proposals": len(rows),
        "good_share": round(sum(not row.bad for row in rows) / max(1, len(rows)), 4),
        "pictures": len({row.image for row in rows}),
        "classes": {error.value: total[error.value] for error in ErrorClass},
        "splits": splits,
        "tasks": by_task,
    }
