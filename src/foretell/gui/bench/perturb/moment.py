"""A moment of an episode as labels know it: the page's elements, the right step, what comes later, what lies where."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.bench.oracles import Planned
from foretell.gui.bench.pages import HEIGHT, SCALE, WIDTH, Element, Page
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal

GROUND_SHARE = 0.2  # of the screen: what is larger is ground, not a thing to click
FIELDS = frozenset(("text", "password", "number", "date", "time", "email", "search", "tel"))
SHAPES = {"rect": "rectangle", "polygon": "triangle", "circle": "circle", "ellipse": "ellipse", "path": "line"}
_NAME_CHARACTERS = 40
_ACTED_ON = frozenset(("button", "a", "input", "textarea", "select", "option", "label"))

# Refs of what lies under a point, from the top element outwards; what a label stands for counts as under it.
UNDER = """([x, y]) => {
  const found = [], refs = window.__refs;
  const add = (e) => { if (e && refs && refs.has(e)) found.push(refs.get(e)); };
  for (let e = document.elementFromPoint(x, y); e; e = e.parentElement) {
    add(e);
    if (e.tagName === 'LABEL') add(e.control);
  }
  return found;
}"""

Hit = Callable[[Point], tuple[int, ...]]


@dataclass(frozen=True)
class Wrong:
    """A wrong proposal and the way in which it is wrong.

    `exact` says that the page's state alone makes it wrong; else it has to be carried out on a copy to be sure. `busy`
    names the cover under which the page has to be shown for it to be wrong.
    """

    proposal: Proposal
    error: ErrorClass
    exact: bool = True
    busy: str | None = None

    @property
    def action(self) -> Action | None:
        return self.proposal.actions[0] if self.proposal.actions else None


@dataclass(frozen=True, eq=False)
class Moment:
    """The page before a step. `planned` is the right step, None once nothing is left to do.

    `future` are the right steps after it, as far as they are known, and `earlier` the elements of earlier screens.
    `hit` gives the refs of what lies under a point, from the top element outwards.
    """

    task: str
    goal: str
    elements: tuple[Element, ...]
    planned: Planned | None
    hit: Hit
    history: History = field(default_factory=History)
    future: tuple[Planned, ...] = ()
    earlier: tuple[tuple[Element, ...], ...] = ()

    @cached_property
    def by_ref(self) -> dict[int, Element]:
        return {element.ref: element for element in self.elements}

    @cached_property
    def right(self) -> frozenset[int]:
        """Refs of what would be right to act on now."""
        if self.planned is None or self.planned.target is None:
            return frozenset()
        return frozenset((self.planned.target, *self.planned.also_right))

    @cached_property
    def later(self) -> frozenset[int]:
        """Refs of what has to be acted on later: acting on it now is often no error but another order."""
        return frozenset(ref for step in self.future for ref in (step.target, *step.also_right) if ref is not None)

    @property
    def target(self) -> Element | None:
        ref = None if self.planned is None else self.planned.target
        return None if ref is None else self.by_ref.get(ref)

    @cached_property
    def things(self) -> list[Element]:
        """What can be seen and told apart on the page: controls, and what has no visible part of its own."""
        seen = [e for e in self.elements if e.visible]
        parents = {e.parent for e in seen}
        limit = GROUND_SHARE * WIDTH * HEIGHT
        return [
            e
            for e in seen
            if e.enabled and e.box[2] * e.box[3] < limit and (e.tag in _ACTED_ON or e.ref not in parents)
        ]

    @cached_property
    def focused(self) -> Element | None:
        return next((e for e in self.elements if e.focused), None)

    def above(self, element: Element) -> Iterator[Element]:
        at = element.parent
        while at is not None and at in self.by_ref:
            yield self.by_ref[at]
            at = self.by_ref[at].parent

    def related(self, element: Element, refs: Iterable[int]) -> bool:
        """Whether an element is one of these, lies in one, or holds one."""
        wanted = set(refs)
        if element.ref in wanted or any(e.ref in wanted for e in self.above(element)):
            return True
        return any(element.ref == e.ref for ref in wanted if ref in self.by_ref for e in self.above(self.by_ref[ref]))

    def dead(self, point: Point, margin: float = 3.0) -> bool:
        """Whether nothing that can be told apart lies at a point, or closer to it than the margin."""
        if not point.inside(WIDTH, HEIGHT):
            return False
        for e in self.things:
            x, y, width, height = e.box
            if x - margin <= point.x < x + width + margin and y - margin <= point.y < y + height + margin:
                return False
        under = self.hit(point)
        return not under or all(thing.ref != under[0] for thing in self.things)

    @property
    def by_place(self) -> bool:
        """Whether the exact place in the target matters, as in pictures."""
        target, planned = self.target, self.planned
        if target is None or planned is None or planned.action.point is None:
            return False
        far = max(abs(planned.action.point.x - target.centre.x), abs(planned.action.point.y - target.centre.y))
        return target.tag in ("svg", "canvas") or planned.action.kind is Kind.DRAG or far > SCALE


def moment_of(
    page: Page,
    task: str,
    planned: Planned | None,
    history: History,
    future: tuple[Planned, ...] = (),
    earlier: tuple[tuple[Element, ...], ...] = (),
) -> Moment:
    """The moment that a page shows now."""

    def hit(point: Point) -> tuple[int, ...]:
        return tuple(page.evaluate(UNDER, [point.x / SCALE, point.y / SCALE]))

    return Moment(task, page.goal, tuple(page.elements()), planned, hit, history, future, earlier)


def is_field(element: Element | None) -> bool:
    return element is not None and (element.tag == "textarea" or element.type in FIELDS)


def name_of(moment: Moment, element: Element) -> str:
    """What a person would call it: its text, its label, its colour; empty where it has no name."""
    if element.type in ("checkbox", "radio"):
        label = next((above.text for above in moment.above(element) if above.tag == "label"), "")
        return label[:_NAME_CHARACTERS]
    said = element.own or element.text or (element.value if element.tag == "input" and not is_field(element) else "")
    for attribute in ("data-color", "data-item", "data-type", "alt", "title", "placeholder", "aria-label", "fill"):
        said = said or element.attributes.get(attribute, "")
    return " ".join(said.split())[:_NAME_CHARACTERS]


def words_for(moment: Moment, element: Element) -> str:
    """An element in words that complete "click …"."""
    name = name_of(moment, element)
    if element.tag in SHAPES:
        return f"the {element.attributes.get('fill', '')} {SHAPES[element.tag]}".replace("  ", " ")
    kind = {
        "button": "button",
        "a": "link",
        "textarea": "text area",
        "select": "drop-down list",
        "h3": "heading",
        "option": "list item",
        "li": "list item",
        "img": "picture",
    }.get(element.tag, "")
    if element.tag == "input":
        kind = {"checkbox": "checkbox", "radio": "option", "submit": "button", "button": "button"}.get(
            element.type, "text field"
        )
    if "alink" in element.classes:
        kind = "link"
    if not name:
        where = "upper" if element.middle.y < HEIGHT / 2 else "lower"
        side = "left" if element.middle.x < WIDTH / 2 else "right"
        return f"the {kind or 'icon'} in the {where} {side} part"
    return f"the {kind} '{name}'" if kind else f"'{name}'"


def said_of(moment: Moment, element: Element) -> str:
    """An intent for acting on another element, in the words in which the right step is said where that can be."""
    planned, target = moment.planned, moment.target
    verb = "click"
    if planned is not None and target is not None:
        mine, other = name_of(moment, target), name_of(moment, element)
        if (
            mine
            and other
            and element.tag == target.tag
            and re.search(rf"(?<!\w){re.escape(mine)}(?!\w)", planned.intent)
        ):
            return re.sub(rf"(?<!\w){re.escape(mine)}(?!\w)", lambda _: other, planned.intent)
        if planned.action.kind is Kind.MOVE:
            verb = "hover over"
        elif planned.action.kind is Kind.DRAG:
            verb = "drag"
    return f"{verb} {words_for(moment, element)}"


_CLICKED = ("click on {}", "press {}", "select {}", "tap {}", "choose {}", "left-click {}")
_VERBS = frozenset(("click", "type", "press", "drag", "scroll", "hover", "select", "delete", "copy", "paste", "draw"))
_OPENINGS = ("I will {}", "Now {}.", "Next, {}", "{} as the next step", "{}.")


def reworded(intent: str | None, action: Action | None, rng: random.Random) -> str | None:
    """The same said in other words, at times: agents differ in how they speak."""
    if not intent or rng.random() < 0.55 or intent.split()[0] not in _VERBS:
        return intent
    plain = intent.startswith("click ") and not intent.startswith("click on ")
    plain = plain and action is not None and action.kind in CLICKS
    if plain and rng.random() < 0.6:
        return rng.choice(_CLICKED).format(intent.removeprefix("click "))
    return rng.choice(_OPENINGS).format(intent)


def respoken(wrong: Wrong, rng: random.Random) -> Wrong:
    """A wrong proposal whose intent is said in other words at times."""
    said = reworded(wrong.proposal.intent, wrong.action, rng)
    return replace(wrong, proposal=replace(wrong.proposal, intent=said))
