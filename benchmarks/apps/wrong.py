"""Wrong proposals for a moment whose right step is known, of each error class, from the truth alone.

Nothing is carried out. What could be right after all is left out: other things of the same name or address, what lies
in or around the target, what the goal asks for later, points at which the target or its label lies.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.apps import phrases
from benchmarks.apps.moment import FIELDS, Element, Moment
from benchmarks.apps.walk import TEXTS, is_target
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal
from foretell.gui.parse.reader import read
from foretell.gui.parse.write import to_qwen

NEAR_PX = (7.0, 45.0)
STOPS = ("the task is finished", "everything that was asked is done", "stop here: the goal is reached", "done")
ABSENT = (
    "the 'Accept cookies' button", "the 'Share' button", "the 'Export as PDF' link", "the 'Dark mode' switch",
    "the calendar icon", "the 'Continue' button", "the 'Subscribe' button", "the profile picture",
    "the 'Translate' menu", "the chat bubble", "the 'Upgrade plan' banner", "the 'Compare' tab",
    "the microphone icon", "the 'Load more' button", "the 'Skip' link",
)  # fmt: skip


@dataclass(frozen=True)
class Wrong:
    """A wrong proposal, its class, and by which rule it was made. `busy` says that it belongs to the busy picture."""

    proposal: Proposal
    error: ErrorClass
    rule: str
    busy: bool = False


@dataclass(frozen=True, eq=False)
class Case:
    """A goal at a moment: the right action, its target and intent, and the names of what the goal asks for in all.

    `action` is None where nothing is left to do. `text` is what the goal wants typed here, if anything.
    """

    moment: Moment
    goal: str
    action: Action | None
    target: Element | None
    said: str
    names: frozenset[str]
    text: str = ""

    def others(self) -> list[Element]:
        """Things that have nothing to do with the goal."""
        own = set() if self.target is None else set(self.moment.above(self.target.ref))
        address = "" if self.target is None else self.target.href
        found = []
        for one in self.moment.elements:
            if not one.usable or not phrases.label(one) or one.ref in own or (address and one.href == address):
                continue
            if self.target is not None and phrases.is_search(self.target) and phrases.is_search(one):
                continue
            if self.target is not None and (
                self.target.ref in self.moment.above(one.ref) or _overlap(one, self.target)
            ):
                continue
            name = phrases.plain_words(one.name)
            if not any(name == asked or (len(asked) > 3 and asked in name) for asked in self.names):
                found.append(one)
        return found

    def touches(self, point: Point) -> bool:
        """Whether the target, or what lies in it, is at or right beside a point."""
        if self.target is None:
            return False
        return self.target.distance(point) < 4.0 or any(
            self.target.ref in self.moment.above(self.moment.at(Point(point.x + dx, point.y + dy)))
            for dx in (-4, 0, 4)
            for dy in (-4, 0, 4)
        )


def _overlap(one: Element, other: Element) -> bool:
    ax, ay, aw, ah = one.box
    bx, by, bw, bh = other.box
    across = min(ax + aw, bx + bw) - max(ax, bx)
    down = min(ay + ah, by + bh) - max(ay, by)
    return across > 0 and down > 0 and across * down > 0.4 * min(aw * ah, bw * bh)


def _is_click(case: Case) -> bool:
    return case.target is not None and case.action is not None and case.action.kind is Kind.CLICK


def _click(element: Element) -> Action:
    return Action(Kind.CLICK, element.point)


def misses(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """The point beside the target, under the right words."""
    if not _is_click(case) or case.target is None:
        return
    near = [
        (point, ref) for point, ref in case.moment.points() if NEAR_PX[0] <= case.target.distance(point) <= NEAR_PX[1]
    ]
    some = rng.sample(near, min(12, len(near)))
    for point, ref in sorted(some, key=lambda pair: pair[1] >= 0)[:3]:
        place = Point(point.x + rng.uniform(-3, 3), point.y + rng.uniform(-3, 3))
        if not case.touches(place):
            rule = "beside the target" if ref < 0 else "on a neighbour"
            yield Wrong(Proposal((Action(Kind.CLICK, place),), case.said), ErrorClass.GROUNDING, rule)


def elements(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Another thing: one of the same kind, something else, or either under the right words."""
    if case.action is None or case.action.kind in (Kind.TYPE, Kind.KEY):
        return
    others = case.others()
    rng.shuffle(others)
    size = case.moment.size
    alike = [
        one
        for one in others
        if case.target is not None and one.role == case.target.role and _same_size(one, case.target)
    ]
    for one in alike[:2]:
        said = phrases.intent(one, rng, size)
        yield Wrong(Proposal((_click(one),), said), ErrorClass.CONSTRAINT, "another of the same kind")
    different = [one for one in others if one not in alike]
    for one in different[:2]:
        said = phrases.intent(one, rng, size)
        yield Wrong(Proposal((_click(one),), said), ErrorClass.SEMANTIC, "another element")
    if case.target is not None:
        for one in rng.sample(others, min(2, len(others))):
            if one.distance(case.target.point) > 60:
                yield Wrong(
                    Proposal((_click(one),), case.said),
                    ErrorClass.MISALIGNMENT,
                    "another element under the right words",
                )


def twins(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """The same thing in another row, under the words for the right row."""
    if case.target is None or case.action is None or case.action.kind is not Kind.CLICK or not case.target.group_name:
        return
    name = phrases.plain_words(case.target.name)
    same = [
        e for e in case.moment.elements if e.usable and e.ref != case.target.ref and phrases.plain_words(e.name) == name
    ]
    for one in rng.sample(same, min(2, len(same))):
        if (
            one.group_name
            and one.group_name != case.target.group_name
            and (not one.href or one.href != case.target.href)
        ):
            yield Wrong(Proposal((_click(one),), case.said), ErrorClass.CONSTRAINT, "the same in another place")


def _same_size(one: Element, other: Element) -> bool:
    areas = sorted((one.box[2] * one.box[3], other.box[2] * other.box[3]))
    return areas[1] < 6 * areas[0]


def texts(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Another text than the goal asks for, said or not."""
    if case.action is None or case.action.kind is not Kind.TYPE or case.target is None:
        return
    right = case.action.text or ""
    others = [one for one in TEXTS if one != right and one.casefold() not in case.goal.casefold()]
    other = rng.choice(others)
    yield Wrong(
        Proposal((Action(Kind.TYPE, text=other),), phrases.typing(case.target, other, rng)),
        ErrorClass.SEMANTIC,
        "another text",
    )
    yield Wrong(
        Proposal((Action(Kind.TYPE, text=rng.choice(others)),), case.said),
        ErrorClass.MISALIGNMENT,
        "another text, unsaid",
    )
    if len(right) > 3:
        at = rng.randrange(1, len(right) - 1)
        slips = {
            right[:at] + right[at + 1 :],
            right[:-2],
            right[: at - 1] + right[at] + right[at - 1] + right[at + 1 :],
        } - {right}
        slip = rng.choice(sorted(slips))
        said = case.said if rng.random() < 0.5 else phrases.typing(case.target, slip, rng)
        yield Wrong(Proposal((Action(Kind.TYPE, text=slip),), said), ErrorClass.CONSTRAINT, "a misspelt text")
        yield Wrong(
            Proposal((Action(Kind.TYPE, text=right[0]),), f"type the letter '{right[0]}'"),
            ErrorClass.SUBOPTIMAL,
            "one letter",
        )
    again = Proposal((_click(case.target),), phrases.intent(case.target, rng, case.moment.size))
    if case.target.focused and case.target.usable:
        yield Wrong(again, ErrorClass.SUBOPTIMAL, "the focus again")


def prerequisites(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Typing without the focus; pressing what is disabled or covered is made as a case of its own."""
    if case.text and _is_click(case) and case.target is not None and not case.target.focused:
        typed = Action(Kind.TYPE, text=case.text)
        yield Wrong(
            Proposal((typed,), phrases.typing(case.target, case.text, rng)), ErrorClass.PREREQUISITE, "no focus"
        )


def endings(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Ending before the goal is met, and going on afterwards."""
    error = ErrorClass.TERMINATION
    if case.action is not None:
        yield Wrong(
            Proposal((Action(Kind.TERMINATE, success=True),), phrases.spoken(rng.choice(STOPS), rng)),
            error,
            "too early",
        )
        return
    steps = case.moment.history.steps
    if steps and steps[-1].action.kind is not Kind.SCROLL:
        yield Wrong(Proposal((steps[-1].action,), steps[-1].intent), error, "the last step again")
    others = case.others()
    for one in rng.sample(others, min(3, len(others))):
        yield Wrong(Proposal((_click(one),), phrases.intent(one, rng, case.moment.size)), error, "goes on")


def searches(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Looking for what is in sight."""
    if not _is_click(case) or case.target is None or case.moment.dialog:
        return
    name, far = phrases.label(case.target), 0.6 * case.moment.size[1]
    ways = (
        (Action(Kind.SCROLL, dy=far), f"scroll down to find {name}"), (Action(Kind.SCROLL, dy=far),
        "scroll down to see more"), (Action(Kind.KEY, keys=("pagedown",)), f"page down to look for {name}"),
        (Action(Kind.KEY, keys=("ctrl", "f")), f"search the page for {name}"),
    )  # fmt: skip
    action, said = rng.choice(ways)
    yield Wrong(Proposal((action,), phrases.spoken(said, rng)), ErrorClass.OBSERVATION, "looks for what is in sight")


def detours(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Steps that do not bring the goal closer, or repeat what is done."""
    error = ErrorClass.SUBOPTIMAL
    if case.action is None:
        return
    if _is_click(case) and case.target is not None:
        name = phrases.label(case.target)
        yield Wrong(
            Proposal((Action(Kind.MOVE, case.target.point),), f"move the pointer to {name}"), error, "only points at it"
        )
    yield Wrong(Proposal((Action(Kind.WAIT, seconds=2.0),), "wait for the page"), error, "waits for nothing")
    chosen = [
        e for e in case.moment.elements if e.usable and e.checked and e.role in ("tab", "radio") and phrases.label(e)
    ]
    for one in chosen[:1]:
        if case.target is None or one.ref != case.target.ref:
            yield Wrong(
                Proposal((_click(one),), phrases.intent(one, rng, case.moment.size)), error, "is chosen already"
            )
    filled = [e for e in case.moment.elements if e.focused and e.editable and e.value]
    last = case.moment.history.steps[-1].action if case.moment.history.steps else None
    if filled and last is not None and last.kind is Kind.TYPE and last.text and case.action.kind is not Kind.TYPE:
        yield Wrong(Proposal((last,), phrases.typing(filled[0], last.text, rng)), error, "typed already")


def directions(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Scrolling the wrong way, or hardly at all."""
    if case.action is None or case.action.kind is not Kind.SCROLL:
        return
    for action, rule in (
        (replace(case.action, dy=-case.action.dy), "the wrong way"),
        (replace(case.action, dy=rng.uniform(3.0, 9.0)), "hardly at all"),
        (replace(case.action, dx=case.action.dy, dy=0.0), "sideways"),
    ):
        said = case.said.replace("down", "up") if rule == "the wrong way" and rng.random() < 0.4 else case.said
        yield Wrong(Proposal((action,), said), ErrorClass.VECTOR, rule)


def inventions(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """Clicks on what is not there."""
    if case.action is None:
        return
    text = (
        case.moment.text.casefold() + case.goal.casefold() + " ".join(e.name for e in case.moment.elements).casefold()
    )
    dead = [point for point, ref in case.moment.points() if ref < 0]
    dead = [point for point in rng.sample(dead, min(8, len(dead))) if not case.touches(point)]
    if not dead:
        return
    for said in rng.sample(ABSENT, 2):
        quoted = said.split("'")[1] if "'" in said else said.removeprefix("the ")
        if quoted.casefold() not in text:
            click = Action(Kind.CLICK, rng.choice(dead))
            yield Wrong(
                Proposal((click,), phrases.spoken(f"click {said}", rng)), ErrorClass.HALLUCINATION, "is not there"
            )


def deeds(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """The right words, and a deed of another kind."""
    if case.action is None or case.target is None:
        return
    found = [Action(Kind.KEY, keys=(rng.choice(("escape", "delete", "home")),))]
    if case.action.kind is Kind.CLICK:
        found += [Action(Kind.RIGHT_CLICK, case.target.point), Action(Kind.TYPE, text=rng.choice(TEXTS))]
        if case.target.role in FIELDS:
            found = found[:1]
    yield Wrong(Proposal((rng.choice(found),), case.said), ErrorClass.MISALIGNMENT, "another kind of action")


def malformed(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """What cannot be read or carried out as it is written."""
    if case.action is None:
        return
    width, height = case.moment.size
    error = ErrorClass.FORMULATION
    text = to_qwen(case.action, case.moment.size, intent=case.said)
    cut = read(text[: max(10, len(text) - rng.randrange(12, 40))], size=case.moment.size)
    if cut.fault is not None:
        yield Wrong(cut, error, "cut off")
    if case.action.kind is Kind.CLICK:
        yield Wrong(Proposal((Action(Kind.CLICK),), case.said), error, "no point")
        outside = Point(width + rng.uniform(20, 400), rng.uniform(0, height))
        yield Wrong(Proposal((Action(Kind.CLICK, outside),), case.said), error, "outside the screen")
    elif case.action.kind is Kind.TYPE:
        yield Wrong(Proposal((Action(Kind.TYPE),), case.said), error, "no text")


def hasty(case: Case, rng: random.Random) -> Iterator[Wrong]:
    """The right step while the application is busy."""
    if case.moment.busy is not None and case.action is not None:
        yield Wrong(Proposal((case.action,), case.said), ErrorClass.TIMING, "while it is busy", busy=True)


Rule = Callable[[Case, random.Random], Iterator[Wrong]]
RULES: tuple[Rule, ...] = (
    misses, elements, twins, texts, prerequisites, endings, searches, detours, directions, inventions, deeds,
    malformed, hasty,
)  # fmt: skip


def unavailable(moment: Moment) -> list[Element]:
    """Named things in sight that cannot be used: disabled and on top, or covered by a dialog."""
    seen = [one for one in moment.elements if one.visible and phrases.label(one)]
    return [one for one in seen if (one.disabled and one.aim) or (one.covered and moment.dialog)]


def side_targets(moment: Moment, rng: random.Random, count: int) -> list[Element]:
    """Other things that a goal could have asked for at this moment."""
    from benchmarks.apps.walk import Seen

    seen = Seen(moment.elements, moment.grid, moment.step, moment.scroll, moment.dialog, moment.text)
    own = None if moment.planned is None else moment.planned.ref
    some = [one for one in moment.elements if one.usable and one.ref != own and is_target(one, seen)]
    return rng.sample(some, min(count, len(some)))
