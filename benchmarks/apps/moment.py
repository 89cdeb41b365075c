"""A moment of a walk through an application as labels know it: elements, picture, history, next step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from foretell.gui.actions import Action, Point
from foretell.gui.dataset import action_to_dict, history_from_dict, history_to_dict
from foretell.gui.history import History

FOLDER = "moments"
FIELDS = frozenset(("textbox", "searchbox", "spinbutton"))
TOGGLES = frozenset(("checkbox", "switch", "menuitemcheckbox"))
CHOICES = frozenset(("radio", "option", "menuitemradio"))


@dataclass(frozen=True)
class Element:
    """Something that can be acted on, as the DOM or the accessibility tree has it.

    Attributes:
        box: Left, top, width and height of the part that is on the screen, in pixels.
        aim: A point at which the element itself lies on top; None if there is none.
        named_by: Where the name comes from: text, label, placeholder, title, aria attribute, or a neighbour.
        covered: Something else lies on top of all of it.
        below: It can be reached by scrolling the page down.
        group: The kind of its surroundings (row, dialog, section), and what they are called.
        parent: The ref of the nearest element around it; -1 if there is none.
    """

    ref: int
    tag: str
    role: str
    name: str
    box: tuple[float, float, float, float]
    aim: tuple[float, float] | None = None
    named_by: str = "text"
    type: str = ""
    disabled: bool = False
    covered: bool = False
    visible: bool = True
    below: bool = False
    focused: bool = False
    checked: bool = False
    value: str = ""
    editable: bool = False
    multiline: bool = False
    href: str = ""
    target: str = ""
    download: bool = False
    popup: bool = False
    group: str = ""
    group_name: str = ""
    submit: bool = False
    bold: bool = False
    parent: int = -1

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Element:
        known = {one.name for one in fields(Element)}
        values = {name: value for name, value in data.items() if name in known}
        values["box"] = tuple(values["box"])
        values["aim"] = None if values.get("aim") is None else tuple(values["aim"])
        return Element(**values)

    @property
    def point(self) -> Point:
        """Where to click it: the point at which it lies on top, else its middle."""
        x, y, width, height = self.box
        return Point(*self.aim) if self.aim else Point(x + width / 2, y + height / 2)

    @property
    def usable(self) -> bool:
        """Whether it can be acted on here and now."""
        return self.visible and self.aim is not None and not self.disabled and not self.covered

    def distance(self, point: Point) -> float:
        """Pixels from the box to a point; 0 inside."""
        x, y, width, height = self.box
        across = max(x - point.x, 0.0, point.x - x - width)
        down = max(y - point.y, 0.0, point.y - y - height)
        return float((across**2 + down**2) ** 0.5)


@dataclass(frozen=True)
class Planned:
    """The right step at a moment: what is done, to what, the part of the goal that asks for it, and the intent."""

    action: Action
    clause: str
    intent: str
    ref: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"action": action_to_dict(self.action), "clause": self.clause, "intent": self.intent, "ref": self.ref}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Planned:
        return Planned(Action.from_dict(data["action"]), data["clause"], data["intent"], data["ref"])


@dataclass(frozen=True, eq=False)
class Moment:
    """The screen before a step. `planned` is None at the end of the walk.

    Attributes:
        grid: Refs of what lies on top at points `step` pixels apart, row by row; -1 where nothing can be acted on.
        scroll: How far the page is scrolled down, and how far it can be, in pixels.
        busy: The same screen while the application is busy, if a picture of it was taken.
    """

    application: str
    title: str
    episode: str
    number: int
    size: tuple[int, int]
    theme: str
    image: str
    elements: tuple[Element, ...]
    grid: tuple[tuple[int, ...], ...]
    step: int
    scroll: tuple[float, float]
    dialog: bool
    text: str
    history: History
    planned: Planned | None
    busy: str | None = None

    @property
    def target(self) -> Element | None:
        ref = None if self.planned is None else self.planned.ref
        return None if ref is None else self.elements[ref]

    def at(self, point: Point) -> int:
        """The ref of what lies on top near a point; -1 for nothing."""
        row, column = int(point.y // self.step), int(point.x // self.step)
        return self.grid[row][column] if 0 <= row < len(self.grid) and 0 <= column < len(self.grid[0]) else -1

    def above(self, ref: int) -> Iterator[int]:
        """The ref and those of the elements around it."""
        while ref >= 0:
            yield ref
            ref = self.elements[ref].parent

    def points(self) -> Iterator[tuple[Point, int]]:
        """Every point of the grid with what lies there."""
        for row, line in enumerate(self.grid):
            for column, ref in enumerate(line):
                yield Point((column + 0.5) * self.step, (row + 0.5) * self.step), ref

    def to_dict(self) -> dict[str, Any]:
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {
            "elements": [asdict(one) for one in self.elements],
            "history": history_to_dict(self.history),
            "planned": None if self.planned is None else self.planned.to_dict(),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Moment:
        return Moment(
            **dict(data)
            | {
                "size": tuple(data["size"]),
                "scroll": tuple(data["scroll"]),
                "grid": tuple(tuple(row) for row in data["grid"]),
                "elements": tuple(Element.from_dict(one) for one in data["elements"]),
                "history": history_from_dict(data["history"]),
                "planned": None if data["planned"] is None else Planned.from_dict(data["planned"]),
            }
        )


def write_moments(folder: Path, application: str, moments: Sequence[Moment]) -> None:
    """Write the moments of one application."""
    path = folder / FOLDER / f"{application}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in moments), encoding="utf-8")


def read_moments(folder: Path, application: str) -> list[Moment]:
    """The moments of one application, in order."""
    lines = (folder / FOLDER / f"{application}.jsonl").read_text("utf-8").splitlines()
    return [Moment.from_dict(json.loads(line)) for line in lines]
