"""The recorded right steps, repeated on live pages and judged by the guard with the evidence that its adapter gathers.

    python -m benchmarks.apps.live FOLDER DATA/dev [NAME ...]
    python -m benchmarks.apps.live FOLDER DATA/heldout --held-out       # logged

Recorded evidence comes from the same reading of a page as the labels; here the page is asked as a guard asks it. Every
step is executed, whatever the guard says of it; a walk ends where its next target is not found. Writes
results/apps_live.json, a part for each half.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.apps.browser import BrowserStage, browser
from benchmarks.apps.episode_figures import share
from benchmarks.apps.episode_truth import Task, is_right, recorded_step, tasks
from benchmarks.apps.episode_watch import Watch
from benchmarks.apps.episodes import applications, running
from benchmarks.apps.evaluate import LOG
from benchmarks.apps.server import NotStarted
from benchmarks.apps.split import RESULTS
from benchmarks.apps.walk import settled
from foretell.gui.adapters.screen import ScreenError
from foretell.gui.observation import Observation

FILE = RESULTS / "apps_live.json"


def judged(task: Task, stage: BrowserStage, watch: Watch) -> Iterator[dict[str, Any]]:
    """What the guard says of the steps of a walk, as far as it can be repeated."""
    stage.reset(task.path)
    for number in range(len(task.plan)):
        todo = task.plan[number:]
        observation = Observation(task.goal, settled(stage), number)
        seen = stage.see()
        proposal = recorded_step(seen, todo)
        if proposal is None or not is_right(proposal, seen, todo):
            return
        watch.before_action(observation)
        verdict = watch.judge(observation, proposal, stage)
        yield {
            "application": task.application.name,
            "episode": task.episode,
            "step": number,
            "kind": proposal.actions[0].kind.value,
            "interrupted": verdict.intervene,
            "by_pixels": verdict.by_pixels,
            "p_bad": verdict.p_bad,
        }
        stage.perform(proposal.actions[0])
        watch.executed(observation, proposal)


def summary(steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Shares of right steps that are interrupted, with evidence and by pixels, with intervals by application."""
    names = sorted({one["application"] for one in steps})
    return {
        "applications": len(names),
        "with_evidence": share(steps, lambda one: one["interrupted"], lambda one: 1),
        "by_pixels": share(steps, lambda one: one["by_pixels"], lambda one: 1),
        "by_application": {
            name: {
                "right": sum(one["application"] == name for one in steps),
                "interrupted": sum(one["application"] == name and one["interrupted"] for one in steps),
                "by_pixels": sum(one["application"] == name and one["by_pixels"] for one in steps),
            }
            for name in names
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    from playwright.sync_api import Error

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--log", type=Path, help="append the steps here, and go on where it stops")
    options = parser.parse_args(arguments)
    known = options.log is not None and options.log.is_file()
    steps = [json.loads(line) for line in options.log.read_text("utf-8").splitlines()] if known else []
    done = {(one["application"], one["episode"]) for one in steps}
    with browser() as chromium:
        for application in applications(options):
            for task in (
                one for one in tasks(options.data, application) if (application.name, one.episode) not in done
            ):
                try:
                    with running(task, options.folder, chromium) as stage:
                        own = list(judged(task, stage, Watch()))
                except (NotStarted, ScreenError, Error) as error:
                    print(f"  {task.name}: {str(error)[:200]}", flush=True)
                    continue
                steps += own
                if options.log is not None:
                    with options.log.open("a", encoding="utf-8") as file:
                        file.writelines(json.dumps(one) + "\n" for one in own)
                print(
                    task.name,
                    len(own),
                    "right steps,",
                    sum(one["interrupted"] for one in own),
                    "interrupted",
                    flush=True,
                )
    half = "held_out" if options.held_out else "development"
    found = {"when": datetime.now(UTC).isoformat(timespec="seconds"), **summary(steps)}
    results = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    FILE.write_text(json.dumps(results | {half: found}, indent=1) + "\n", encoding="utf-8")
    line = {"name": "right steps on live pages", "half": half} | {
        k: v for k, v in found.items() if k != "by_application"
    }
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


if __name__ == "__main__":
    main()
