"""Walks through an application by seeded steps and keeps every moment: the same walker for browser and desktop.

At each moment a thing that can be acted on and has a name is drawn, and the step that a person would take who was asked
for it: a click; a click and a text; a scroll if it lies below. A step without any visible effect is not kept as a right
one. Histories are those that a guard would have had.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from benchmarks.apps import phrases
from benchmarks.apps.moment import CHOICES, FIELDS, TOGGLES, Element, Moment, Planned
from foretell.gui.actions import Action, Kind
from foretell.gui.dataset import save_image
from foretell.gui.history import Historian, History
from foretell.gui.observation import Pixels

AVOID = re.compile(
    r"log ?out|sign ?out|shut ?down|\bquit\b|\bexit\b|reboot|delete|remove|erase|drop|upgrade|"
    r"full ?screen|print|download|upload|\bopen\b.*file|docs|documentation|github|license|report a bug|new window|"
    r"save as|^(un)?checked$|^(mini|maxi)mi[sz]e$|^(true|false)$|\bopen\b\.\.\.|\b(json|csv|xml|rss|raw|yaml)\b",
    re.IGNORECASE,
)
TEXTS = (
    "Repair the fence", "North field", "Apple harvest", "Ask the cooperative", "Quince jam", "Blossom week",
    "Cider press", "Plan for autumn", "Frost in May", "Buy new baskets", "Pear seedlings", "Open day", "Greta Novak",
    "Market stall",
)  # fmt: skip
SEARCHES = re.compile(r"search for '|look for '|^find '")
BELOW = 0.15  # chance of a step to what lies below
ENTER = 0.6  # chance of the enter key after a search text
BUSY = 0.4  # chance of a picture of the busy application
SETTLES_S = 3.0
TRIES = 4


@dataclass(frozen=True)
class Seen:
    """What the truth says of a screen: elements, what lies where, and how far the page is and can be scrolled."""

    elements: tuple[Element, ...]
    grid: tuple[tuple[int, ...], ...]
    step: int
    scroll: tuple[float, float]
    dialog: bool
    text: str


class Stage(Protocol):
    """A running application at one size and theme."""

    def reset(self, path: str) -> None: ...

    def see(self) -> Seen: ...

    def pixels(self) -> Pixels: ...

    def perform(self, action: Action) -> None: ...

    def busy(self, rng: random.Random) -> Pixels | None: ...


def settled(stage: Stage) -> Pixels:
    """The screen once it has come to rest, or after a few seconds."""
    until_s = time.monotonic() + SETTLES_S
    before = stage.pixels()
    while time.monotonic() < until_s:
        time.sleep(0.15)
        after = stage.pixels()
        if before.shape == after.shape and np.array_equal(before, after):
            return after
        before = after
    return before


def is_target(element: Element, seen: Seen) -> bool:
    """Whether a person could be asked to act on it: it has a name and does not lead out of the application."""
    name = phrases.label(element)
    digit = element.role == "button" and re.fullmatch(r"\d", name)  # a key of a calculator, a page of a list
    if not (digit or re.search(r"[^\W\d_]{2}", name)) or len(name) > 48 or AVOID.search(element.name):
        return False
    if re.search(r"restart", element.name, re.IGNORECASE) and element.group != "row":
        return False
    away = (
        element.target == "_blank"
        or element.download
        or re.match(r"(https?:)?//|mailto:|javascript:void", element.href)
    )
    if away or element.role in ("combobox", "slider") or element.type in ("password", "date", "time", "color"):
        return False
    large = element.box[2] * element.box[3] > 0.25 * len(seen.grid) * len(seen.grid[0]) * seen.step**2
    if large and not element.editable:
        return False
    same = [
        one
        for one in seen.elements
        if one.visible and phrases.plain_words(one.name) == phrases.plain_words(element.name)
    ]
    return len(same) <= 1 or (len({one.group_name for one in same}) == len(same) and bool(element.group_name))


def ambiguous(element: Element, seen: Seen) -> bool:
    name = phrases.plain_words(element.name)
    return sum(one.visible and phrases.plain_words(one.name) == name for one in seen.elements) > 1


def sort_of(element: Element) -> str:
    """Groups of roles that are drawn equally often."""
    if element.role in FIELDS:
        return "field"
    if element.role in TOGGLES | CHOICES:
        return "choice"
    return "button" if element.role == "button" else "link" if element.role in ("link", "tab", "treeitem") else "other"


def text_for(element: Element, seen: Seen, rng: random.Random) -> str:
    """A text that fits the field."""
    name = f"{element.name} {element.type}".lower()
    if re.search(r"mail", name):
        return rng.choice(("greta.novak@example.org", "hugo@example.org", "ines.moreau@example.org"))
    if element.type == "number" or re.search(r"number|count|quantity|port|limit|hours|amount|\bsize\b", name):
        return str(rng.randrange(2, 60))
    if re.search(r"phone", name):
        return f"0{rng.randrange(20, 90)} 555 {rng.randrange(100, 999)}"
    if re.search(r"date|day|start|due", name):
        return f"2025-0{rng.randrange(3, 9)}-1{rng.randrange(9)}"
    if re.search(r"url|address|link", name):
        return "http://127.0.0.1/plan"
    if phrases.is_search(element):
        words = re.findall(r"\b[A-Za-z]{4,10}\b", seen.text[:3000])
        return rng.choice(words) if words else "plum"
    if re.search(r"name|author|owner|user", name):
        return rng.choice(("Greta Novak", "Hugo Lopez", "Ines Moreau", "Nils Dahl"))
    return rng.choice(TEXTS)


class Walker:
    """Walks episodes of one application; `say` hears what went wrong."""

    def __init__(
        self, folder: Path, application: str, title: str, historian: Historian, say: Callable[[str], None] = print
    ) -> None:
        self.folder, self.application, self.title = folder, application, title
        self.historian, self.say = historian, say
        self.taken: Counter[str] = Counter()  # sorts and names of targets, so that walks differ
        self.asked: set[str] = set()  # names of what was acted on in this episode
        self.sought: tuple[str, str] | None = None  # the name of what was scrolled to, and the clause that asks for it

    def episode(
        self, stage: Stage, name: str, path: str, size: tuple[int, int], theme: str, steps: int
    ) -> list[Moment]:
        """The moments of one walk, its end included; empty if nothing could be done."""
        rng = random.Random(f"{self.application} {name}")
        self.sought = None
        self.asked = set()
        stage.reset(path)
        image, history = settled(stage), History()
        found: list[Moment] = []
        failures = 0
        while len(found) < steps and failures < TRIES:
            image, seen = self._look(stage, image)
            if self.sought and not any(one.usable and one.name == self.sought[0] for one in seen.elements):
                found.pop()
                self.sought = None
            plans = self._plans(seen, rng, size)
            if not plans:
                break
            for number, planned in enumerate(plans):
                if number:
                    image, seen = self._look(stage, image)
                    planned = self._again(planned, seen, size)
                    if planned is None:
                        break
                moment = self._moment(stage, seen, name, len(found), size, theme, image, history, planned, rng)
                stage.perform(planned.action)
                after = settled(stage)
                if after.shape == image.shape and np.array_equal(after, image):
                    failures += 1
                    break
                self._save(moment, image)
                found.append(moment)
                history = self.historian.update(history, image, after, planned.action, planned.intent)
                image = after
        if found and found[-1].planned is not None and found[-1].planned.action.kind is Kind.SCROLL:
            found.pop()
        if found:
            end = self._moment(stage, stage.see(), name, len(found), size, theme, image, history, None, rng)
            self._save(end, image)
            found.append(end)
        return found

    def _look(self, stage: Stage, image: Pixels) -> tuple[Pixels, Seen]:
        """The picture and the truth of the same moment: what moved on since the picture is looked at again."""
        seen, again = stage.see(), stage.pixels()
        if again.shape == image.shape and np.array_equal(again, image):
            return image, seen
        return again, stage.see()

    def _plans(self, seen: Seen, rng: random.Random, size: tuple[int, int]) -> list[Planned]:
        """The steps to one thing that was drawn; empty if nothing can be drawn."""
        below = [one for one in seen.elements if one.below and not one.visible and is_target(one, seen)]
        if below and self.sought is None and rng.random() < BELOW:
            element = rng.choice(below[:12])
            asked = phrases.clause(element, rng)
            far = float(round(0.7 * size[1]))
            said = phrases.spoken(
                rng.choice(("scroll down to find {}", "scroll further down to {}")).format(phrases.label(element)), rng
            )
            self.sought = element.name, asked
            return [Planned(Action(Kind.SCROLL, dy=far), asked, said)]
        some = [one for one in seen.elements if one.usable and (is_target(one, seen) or self._is_sought(one))]
        things = [one for one in some if phrases.plain_words(one.name) not in self.asked]
        if not things:
            return []
        sorts = sorted({sort_of(one) for one in things}, key=lambda sort: self.taken[sort] * rng.uniform(0.6, 1.4))
        own = [one for one in things if sort_of(one) == sorts[0]]
        element = min(own, key=lambda one: self.taken[f"name {one.name}"] + rng.random())
        sought, self.sought = self.sought, None
        element = next((one for one in things if sought and one.name == sought[0]), element)
        self.asked.add(phrases.plain_words(element.name))
        self.taken[sorts[0]] += 1
        self.taken[f"name {element.name}"] += 1
        place = ambiguous(element, seen)
        click = Action(Kind.CLICK, element.point)
        said = phrases.intent(element, rng, size, place)
        if not element.editable:
            asked = sought[1] if sought and sought[0] == element.name else phrases.clause(element, rng, place=place)
            return [Planned(click, asked, said, element.ref)]
        text = text_for(element, seen, rng)
        search = phrases.is_search(element) and not element.multiline and rng.random() < ENTER
        asked = phrases.clause(element, rng, text, place, search)
        typed = Planned(Action(Kind.TYPE, text=text), asked, phrases.typing(element, text, rng), element.ref)
        plans = [typed] if element.focused else [Planned(click, asked, said, element.ref), typed]
        if search:
            said = phrases.spoken(rng.choice(("press enter", "hit the enter key to search", "confirm with Enter")), rng)
            plans.append(Planned(Action(Kind.KEY, keys=("enter",)), asked, said, element.ref))
        return plans

    def _is_sought(self, element: Element) -> bool:
        return self.sought is not None and element.name == self.sought[0]

    def _again(self, planned: Planned, seen: Seen, size: tuple[int, int]) -> Planned | None:
        """A later step of the same plan on the screen as it is now: it needs the focus in a field."""
        focused = next((one for one in seen.elements if one.focused and one.editable), None)
        return None if focused is None else replace(planned, ref=focused.ref)

    def _moment(
        self,
        stage: Stage,
        seen: Seen,
        episode: str,
        number: int,
        size: tuple[int, int],
        theme: str,
        image: Pixels,
        history: History,
        planned: Planned | None,
        rng: random.Random,
    ) -> Moment:
        name = f"images/{self.application}-{episode}-{number}"
        busy = None
        if planned is not None and planned.action.kind is not Kind.SCROLL and rng.random() < BUSY:
            picture = stage.busy(rng)
            if picture is not None and picture.shape == image.shape:
                busy = f"{name}-busy.png"
                save_image(self.folder / busy, picture)
        return Moment(
            self.application, self.title, episode, number, size, theme, f"{name}.png", seen.elements, seen.grid,
            seen.step, seen.scroll, seen.dialog, seen.text, history, planned, busy,
        )  # fmt: skip

    def _save(self, moment: Moment, image: Pixels) -> None:
        save_image(self.folder / moment.image, image)


def clauses(moments: Sequence[Moment]) -> list[str]:
    """The parts of the goal of a walk, in order."""
    return list(dict.fromkeys(one.planned.clause for one in moments if one.planned is not None))


def completed(moments: Sequence[Moment]) -> list[Moment]:
    """The moments of a walk without those whose part of the goal was begun and not finished.

    A field that was clicked has to be typed into, and what was scrolled to has to be acted on. The end is left out if a
    search was typed and not started.
    """
    kinds: dict[str, list[Kind]] = {}
    for one in moments:
        if one.planned is not None:
            kinds.setdefault(one.planned.clause, []).append(one.planned.action.kind)

    def unfinished(one: Moment) -> bool:
        if one.planned is None:
            last = moments[-2].planned if len(moments) > 1 else None
            return last is None or (
                last.action.kind is Kind.TYPE and "'" in last.clause and bool(SEARCHES.search(last.clause))
            )
        done = kinds[one.planned.clause]
        field = one.target is not None and one.target.editable
        return (field and Kind.TYPE not in done) or done == [Kind.SCROLL]

    kept = [one for one in moments if not unfinished(one)]
    return kept if any(one.planned is not None for one in kept) else []
