"""Oracles of tasks about dates and times."""

from __future__ import annotations

import re
from datetime import date, datetime

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, click, drag, fill, key, press, reach, scroll_to
from foretell.gui.bench.pages import SCALE, Element

HALF_HOURS = {"0.5 hours": 1, "30 mins": 1, "1 hour": 2, "60 mins": 2, "1.5 hours": 3, "90 mins": 3}
EDGE_PX = 4 * SCALE  # events are not drawn exactly on the lines of the hours
WINDOWS = {"8AM and 12PM": (16, 24), "12PM and 4PM": (24, 32), "4PM and 8PM": (32, 40)}


def choose_date(scene: Scene) -> Planned | None:
    wanted = scene.said(r"Select (\S+) as the date")
    field, picker = scene.id("datepicker"), scene.id("ui-datepicker-div")
    if field is None or field.value == wanted:
        return press(scene.id("subbtn"))
    if picker is None or not picker.visible:
        if field.focused:  # a field that has the focus does not open its calendar again
            return key(("tab",), "press tab to leave the date field", field)
        return click(field, "the date field to open the calendar")
    month, day, year = (int(part) for part in wanted.split("/"))
    title = next(e.text for e in scene.all("div", "ui-datepicker-title"))
    shown = datetime.strptime(title.replace("\xa0", " "), "%B %Y").date()
    if shown != date(year, month, 1):
        way = "prev" if shown > date(year, month, 1) else "next"
        name = "previous" if way == "prev" else "next"
        return click(scene.one("a", f"ui-datepicker-{way}"), f"the arrow to the {name} month")
    return click(next(e for e in scene.all("a", "ui-state-default") if e.text == str(day)), f"day {day}")


def _by_parts(field: Element | None, value: str, keys: str, said: str, name: str) -> Planned | None:
    """A field of several parts: its first part is clicked, and all parts are typed after one another."""
    if field is None or field.value == value:
        return None
    if field.focused and field.attributes.get("last-event") == "click":
        return Planned(Action(Kind.TYPE, text=keys), f"type '{said}' into the {name}", field.ref)
    at = Point(field.box[0] + 8 * SCALE, field.middle.y)
    return Planned(Action(Kind.CLICK, point=at), f"click the start of the {name}", field.ref)


def enter_date(scene: Scene) -> Planned | None:
    said = scene.said(r"Enter (\S+) as the date")
    month, day, year = said.split("/")
    planned = _by_parts(scene.id("tt"), f"{year}-{month}-{day}", month + day + year, said, "date field")
    return planned or press(scene.id("subbtn"))


def enter_time(scene: Scene) -> Planned | None:
    said = re.sub(r"\s", " ", scene.said(r"Enter (.*) as the time"))
    at = datetime.strptime(said, "%I:%M %p")
    planned = _by_parts(scene.id("tt"), f"{at:%H:%M}", f"{at:%I%M%p}", said, "time field")
    return planned or press(scene.id("subbtn"))


def daily_calendar(scene: Scene) -> Planned | None:
    length = HALF_HOURS[scene.said(r"Create a ([\d.]+ \w+) event")]
    first, last = WINDOWS[scene.said(r"between (.*)\.")]
    made = scene.id("newEvent")
    if made is not None:
        return _name_event(scene, made, length, first, last)
    slots = {int(e.id[3:]): e for e in scene.elements if e.id.startswith("hh-")}
    taken = [e for e in scene.elements if "event" in e.classes]
    for start in range(first, last - length + 1):
        covered = [slots[place] for place in range(start, start + length)]
        if any(_overlap(slot, event) for slot in covered for event in taken):
            continue
        one, end = covered[0], covered[-1]
        if not (one.visible and end.visible) or end.box[1] + end.box[3] > 600:
            return scroll_to(scene, covered[length // 2], "the free time")
        to = Point(end.middle.x, end.box[1] + end.box[3] * 0.75)
        begin = Point(one.middle.x, one.box[1] + one.box[3] * 0.25)
        return drag(begin, to, "drag over the free time to create the event", one)
    return None


def _overlap(slot: Element, event: Element) -> bool:
    _, top, _, height = slot.box
    _, other, _, tall = event.box
    return top + EDGE_PX < other + tall and other + EDGE_PX < top + height


def _name_event(scene: Scene, made: Element, length: int, first: int, last: int) -> Planned | None:
    start = int(made.attributes.get("data-start", "-1"))
    buttons = {e.text: e for e in scene.all("button", visible=False)}
    if not buttons:  # the mouse is still taken for held down
        return reach(scene, made, "the new event")
    if int(made.attributes["data-duration"]) != length or not first <= start <= last - length:
        return reach(scene, buttons.get("Cancel"), "the button 'Cancel'")
    field = scene.id("event-name")
    if field is not None and not field.visible:
        return scroll_to(scene, field, "the name of the event")
    planned = fill(field, scene.quoted[0], "event name field")
    return planned or reach(scene, buttons.get("Create"), "the button 'Create'")


ORACLES: dict[str, Oracle] = {
    "choose-date": choose_date,
    "choose-date-easy": choose_date,
    "choose-date-medium": choose_date,
    "choose-date-nodelay": choose_date,
    "daily-calendar": daily_calendar,
    "enter-date": enter_date,
    "enter-time": enter_time,
}
