"""Walks through the applications and labels what could be done there.

    python -m benchmarks.apps.collect FOLDER DATA [NAME ...]      # goes on where it stopped
    python -m benchmarks.apps.collect FOLDER DATA --label         # only makes the proposals again, from the walks

FOLDER holds the installed applications; DATA/dev and DATA/heldout are written in the form of foretell.gui.dataset, with
`moments/` (elements of every screen, by application) and `details.jsonl` (size, theme, rule and target of every row).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.apps.application import Application
from benchmarks.apps.browser import browser
from benchmarks.apps.browser import stage as in_browser
from benchmarks.apps.install import MARK, by_name
from benchmarks.apps.label import AMOUNTS, Labeller, drawn, write_details
from benchmarks.apps.moment import FOLDER, Moment, read_moments, write_moments
from benchmarks.apps.server import NotStarted, started
from benchmarks.apps.split import is_held_out
from benchmarks.apps.walk import Walker
from foretell.gui.adapters.screen import ScreenError
from foretell.gui.dataset import write_rows
from foretell.gui.history import Historian
from foretell.gui.ocr import Ocr

WALKS = (
    (((1280, 720), "light"), ((1920, 1080), "dark"), ((1024, 768), "light")),
    (((1280, 720), "dark"), ((1920, 1080), "light"), ((1024, 768), "dark")),
)  # size and theme of each walk; applications take turns
STEPS = 3
LEAST_RIGHT = 100  # of each held-out application: fewer say little of its false interruptions
LOG = "applications.jsonl"

say = partial(print, flush=True)


def half(data: Path, name: str) -> Path:
    """Where the application's rows lie."""
    return data / ("heldout" if is_held_out(name) else "dev")


def walks(application: Application) -> tuple[tuple[tuple[int, int], str], ...]:
    """Size and theme of the application's walks."""
    return WALKS[len(application.name) % 2]


def walk_names(application: Application, round_: int = 1) -> dict[str, tuple[tuple[int, int], str, str]]:
    """Size, theme and starting path of the walks of a round, by name; each round starts elsewhere."""
    found = {}
    for number, (size, theme) in enumerate(walks(application), round_ - 1):
        name = f"{size[0]}-{theme}" + (f"-{round_}" if round_ > 1 else "")
        found[name] = size, theme, application.paths[number % len(application.paths)]
    return found


def start_of(application: Application, name: str) -> str | None:
    """The path that the walk of a name starts at; None for a walk that the rounds do not make."""
    round_ = int(name.split("-")[2]) if name.count("-") > 1 else 1
    found = walk_names(application, round_).get(name)
    return None if found is None else found[2]


def walked(application: Application, folder: Path, into: Path, steps: int, round_: int = 1) -> list[Moment]:
    """The moments of walks at three sizes and two themes. A walk that fails is told and left out."""
    from playwright.sync_api import Error

    walker = Walker(into, application.name, application.title, Historian(Ocr(threads=1)), say)
    found: list[Moment] = []
    with started(application, folder) as root, browser() as chromium:
        for name, (size, theme, path) in walk_names(application, round_).items():
            try:
                with in_browser(chromium, root, application, size, theme) as stage:
                    found += walker.episode(stage, name, path, size, theme, steps)
            except (Error, ScreenError) as error:
                say(f"  {application.name} {name}: {str(error)[:200]}")
    return found


def collect(application: Application, folder: Path, data: Path, steps: int, round_: int = 1) -> None:
    """Walk through one application, write its moments, and note how it went."""
    lock = (folder / application.name / ".lock").open("w")  # held until it is closed
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"{application.name} is being walked through by another process")
        return
    with lock:
        _collect(application, folder, data, steps, round_)


def _collect(application: Application, folder: Path, data: Path, steps: int, round_: int) -> None:
    into, began_s = half(data, application.name), time.monotonic()
    into.mkdir(parents=True, exist_ok=True)
    entry: dict[str, object] = {"application": application.name}
    try:
        if application.desktop:
            from benchmarks.apps.desktop import walked as walked_desktop

            moments = walked_desktop(application, folder, into, steps, walks(application))
        else:
            moments = walked(application, folder, into, steps, round_)
        recorded = into / FOLDER / f"{application.name}.jsonl"
        earlier = read_moments(into, application.name) if round_ > 1 and recorded.exists() else []
        own = {one.episode for one in moments}
        write_moments(into, application.name, [one for one in earlier if one.episode not in own] + moments)
        entry |= {"moments": len(moments), "episodes": len({one.episode for one in moments})}
    except NotStarted as error:
        entry |= {"fault": str(error)}
    entry["seconds"] = round(time.monotonic() - began_s, 1)
    say(json.dumps(entry))
    with (into / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def label(into: Path, least_right: int = 0) -> int:
    """Make all proposals of a half from its walks, with at least so many right ones of each application if its screens
    allow it; how many."""
    count, details = 0, []
    write_rows(into, [])
    for path in sorted((into / FOLDER).glob("*.jsonl")):
        moments = [drawn(into, one) for one in read_moments(into, path.stem)]
        for amount in AMOUNTS:
            labeller = Labeller(path.stem, amount)
            rows = sorted(labeller.rows(moments), key=lambda row: row.image)
            if sum(not row.bad for row in rows) >= least_right:
                break
        write_rows(into, rows, append=True)
        details += labeller.details
        count += len(rows)
    write_details(into, details)
    return count


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of a walk")
    parser.add_argument("--round", type=int, default=1, help="walk again from elsewhere and keep earlier rounds (web)")
    parser.add_argument("--label", action="store_true", help="walk nowhere")
    parser.add_argument("--walk-only", action="store_true", help="make no proposals of the walks")
    parser.add_argument("--again", action="store_true", help="walk through what was walked through before")
    options = parser.parse_args(arguments)
    folder, data = options.folder.resolve(), options.data.resolve()
    for application in [] if options.label else by_name(options.names):
        known = half(data, application.name) / FOLDER / f"{application.name}.jsonl"
        if not (folder / application.name / MARK).exists():
            say(f"{application.name} is not installed")
        elif options.again or options.round > 1 or not known.exists():
            collect(application, folder, data, options.steps, options.round)
    for name in () if options.walk_only else ("dev", "heldout"):
        if (data / name / FOLDER).is_dir():
            least = LEAST_RIGHT if name == "heldout" else 0
            say(f"{name}: {label(data / name, least)} proposals")


if __name__ == "__main__":
    main()
