"""Whether the oracles of the real-page bench solve their tasks: every task on a number of seeds.

python -m benchmarks.gui_oracles --seeds 20 --out benchmarks/results/gui_oracles.json
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.oracles import HELD_OUT, SOLVED_AT, TASKS, next_step
from foretell.gui.bench.pages import HEIGHT, WIDTH, Page

MAX_STEPS = 60
ENOUGH = 0.95  # share of seeds that a task has to be solved on to stay in the bench


def stumble(page: Page, rng: random.Random) -> Action:
    """Something that nobody asked for: a click on whatever, a scroll, a key, a word."""
    seen = [e for e in page.elements() if e.visible]
    at = rng.choice(seen).centre if seen else Point(240, 400)
    return rng.choice(
        (
            Action(Kind.CLICK, point=at),
            Action(Kind.CLICK, point=Point(rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT))),
            Action(Kind.SCROLL, point=at, dy=rng.choice((-90.0, 90.0))),
            Action(Kind.TYPE, text="oops"),
            Action(Kind.KEY, keys=("tab",)),
        )
    )


def episode(page: Page, task: str, seed: int, stumbles: float, tell: bool = False) -> dict[str, Any]:
    """One episode with the oracle, which is disturbed before a share `stumbles` of its steps."""
    rng = random.Random(f"{task} {seed}")
    begun = time.perf_counter()
    goal = page.start(task, seed)
    if tell:
        print(f"{task} {seed}: {goal}")
    steps = 0
    spoilt = False
    while steps < MAX_STEPS and not page.done:
        if rng.random() < stumbles:
            wrong = stumble(page, rng)
            if tell:
                print("    !", wrong.to_dict())
            page.perform(wrong)
            spoilt = page.done
            if spoilt:
                break
        planned = next_step(task, goal, page)
        if planned is None:
            break
        if tell:
            print("   ", planned.intent, planned.action.to_dict())
        page.perform(planned.action)
        steps += 1
    took_s = time.perf_counter() - begun
    return {"seed": seed, "solved": page.reward >= SOLVED_AT, "spoilt": spoilt, "steps": steps, "seconds": took_s}


def run(tasks: list[str], seeds: range, stumbles: float, tell: bool = False) -> list[dict[str, Any]]:
    """One row a task: share solved of the episodes that no stumble ended, mean steps, mean seconds, failed seeds."""
    rows = []
    with Page() as page:
        for task in tasks:
            found = []
            for seed in seeds:
                try:
                    found.append(episode(page, task, seed, stumbles, tell))
                except (IndexError, ValueError, KeyError, StopIteration) as error:
                    print(f"{task} {seed}: {type(error).__name__}: {error}")
                    found.append({"seed": seed, "solved": False, "spoilt": False, "steps": 0, "seconds": 0.0})
            played = [one for one in found if not one["spoilt"]]
            failed = [one["seed"] for one in played if not one["solved"]]
            row = {
                "task": task,
                "held_out": task in HELD_OUT,
                "episodes": len(played),
                "solved": 1 - len(failed) / len(played) if played else None,
                "steps": round(sum(one["steps"] for one in played) / max(1, len(played)), 2),
                "seconds": round(sum(one["seconds"] for one in found) / len(found), 3),
                "failed_seeds": failed,
            }
            print(
                f"{task:32} solved {row['solved']} of {len(played)}, {row['steps']} steps, {row['seconds']} s {failed}"
            )
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--stumbles", type=float, default=0.0, help="share of steps that something wrong precedes")
    parser.add_argument("--tell", action="store_true", help="print every step")
    parser.add_argument("--out", type=Path)
    parser.add_argument("tasks", nargs="*", default=[])
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    rows = run(asked.tasks or list(TASKS), seeds, asked.stumbles, asked.tell)
    below = [row["task"] for row in rows if row["solved"] is not None and row["solved"] < ENOUGH]
    print(f"{len(rows)} tasks, {len(below)} below {ENOUGH:.0%}: {', '.join(below)}")
    if asked.out:
        asked.out.write_text(json.dumps(written(rows, asked.out, seeds, asked.stumbles), indent=1) + "\n")


def written(rows: list[dict[str, Any]], out: Path, seeds: range, stumbles: float) -> dict[str, Any]:
    """What goes into the file. Rows of tasks that were not run now are kept if they are of the same seeds."""
    known = {row["task"]: row for row in rows}
    settings = {"seeds": [seeds.start, seeds.stop], "stumbles": stumbles, "solved_at": SOLVED_AT}
    if out.exists():
        before = json.loads(out.read_text())
        if all(before.get(name) == value for name, value in settings.items()):
            known = {row["task"]: row for row in before["rows"] if row["task"] in TASKS} | known
    every = [known[task] for task in sorted(known)]
    enough = sum(row["solved"] is not None and row["solved"] >= ENOUGH for row in every)
    return settings | {"tasks": len(every), "tasks_solved": enough, "rows": every}


if __name__ == "__main__":
    main()
