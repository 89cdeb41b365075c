"""What an oracle looks at and what it says: the elements of the page now, and the next step with its target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.pages import AREA_HEIGHT, SCALE, Element

SCROLL_MARGIN = 0.8  # share of the view that one scroll moves at most


@dataclass(frozen=True)
class Planned:
    """The next right step: what to do, what an agent would say it does, and the element that it acts on.

    `also_right` are elements that would serve the goal as well, now (alike buttons, other boxes still to be ticked).
    """

    action: Action
    intent: str
    target: int | None = None
    also_right: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scene:
    """The goal and the elements of the page at one moment, with what oracles ask of them."""

    task: str
    goal: str
    elements: tuple[Element, ...]

    @cached_property
    def by_ref(self) -> dict[int, Element]:
        return {element.ref: element for element in self.elements}

    @cached_property
    def quoted(self) -> list[str]:
        """What stands in double quotes in the goal."""
        return re.findall(r'"([^"]*)"', self.goal)

    def said(self, pattern: str) -> str:
        """The first group of a pattern in the goal; empty where it does not match."""
        match = re.search(pattern, self.goal)
        return match.group(1).strip() if match else ""

    def all(
        self,
        tag: str | None = None,
        cls: str | None = None,
        text: str | None = None,
        type: str | None = None,
        inside: Element | None = None,
        visible: bool = True,
    ) -> list[Element]:
        """Elements that fit everything asked for, in the order of the document. `text` is compared as a whole."""
        return [
            element
            for element in self.elements
            if (tag is None or element.tag == tag)
            and (cls is None or cls in element.classes)
            and (text is None or element.text == text)
            and (type is None or element.type == type)
            and (not visible or element.visible)
            and (inside is None or self.within(element, inside))
        ]

    def one(self, tag: str | None = None, cls: str | None = None, text: str | None = None) -> Element | None:
        """The first visible element that fits."""
        return next(iter(self.all(tag, cls, text)), None)

    def id(self, name: str) -> Element | None:
        """The element of that id, visible or not."""
        return next((element for element in self.elements if element.id == name), None)

    def ancestors(self, element: Element) -> Iterator[Element]:
        at = element.parent
        while at is not None:
            yield self.by_ref[at]
            at = self.by_ref[at].parent

    def within(self, element: Element, outer: Element) -> bool:
        return any(above.ref == outer.ref for above in self.ancestors(element))

    def children(self, element: Element) -> list[Element]:
        return [other for other in self.elements if other.parent == element.ref]


Oracle = Callable[[Scene], Planned | None]


def click(element: Element | None, what: str, also: Iterable[Element] = ()) -> Planned | None:
    """A click on the middle of an element; `what` completes the sentence "click …"."""
    if element is None:
        return None
    also_right = tuple(other.ref for other in also if other.ref != element.ref)
    return Planned(Action(Kind.CLICK, point=element.centre), f"click {what}", element.ref, also_right)


def press(button: Element | None, also: Iterable[Element] = ()) -> Planned | None:
    """A click on a button that is named by its text."""
    return click(button, f"the button '{button.text or button.value}'", also) if button else None


def key(keys: tuple[str, ...], intent: str, target: Element | None = None) -> Planned:
    return Planned(Action(Kind.KEY, keys=keys), intent, target.ref if target else None)


def fill(field: Element | None, text: str, name: str) -> Planned | None:
    """The next step to make a text field hold a text: focus it, mark what is wrong in it, type. None once it does."""
    if field is None or field.value == text:
        return None
    if not field.focused:
        return click(field, f"the {name}")
    if field.value and field.attributes.get("selection", "") != field.value:
        return key(("ctrl", "a"), f"select what is in the {name}", field)
    if not text:
        return key(("delete",), f"delete what is in the {name}", field)
    return Planned(Action(Kind.TYPE, text=text), f"type '{text}' into the {name}", field.ref)


def scroll_to(scene: Scene, element: Element, what: str) -> Planned | None:
    """The next scroll that brings an element into view inside what scrolls around it; None where nothing does."""
    around = next((above for above in scene.ancestors(element) if "scroll-top" in above.attributes), None)
    if around is None:
        return None
    _, top, _, height = around.box
    height = min(height, AREA_HEIGHT * SCALE - top)
    away = element.middle.y - (top + height / 2)
    most = height * SCROLL_MARGIN
    dy = max(-most, min(most, away))
    way = "down" if dy > 0 else "up"
    action = Action(Kind.SCROLL, point=Point(around.box[0] + around.box[2] / 2, top + height / 2), dy=dy)
    return Planned(action, f"scroll {way} to {what}", around.ref)


def reach(scene: Scene, element: Element | None, what: str, also: Iterable[Element] = ()) -> Planned | None:
    """A click on an element, or the scroll that it takes before."""
    if element is None:
        return None
    return click(element, what, also) if element.visible else scroll_to(scene, element, what)


def wait(seconds: float, why: str) -> Planned:
    return Planned(Action(Kind.WAIT, seconds=seconds), f"wait until {why}")


def drag(start: Point, to: Point, intent: str, target: Element | None = None) -> Planned:
    return Planned(Action(Kind.DRAG, point=start, to=to), intent, target.ref if target else None)
