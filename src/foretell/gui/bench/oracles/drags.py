"""Oracles of tasks that are solved by dragging: shapes, list items, lines, marked text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from foretell.gui.actions import Point
from foretell.gui.bench.oracles.clicks import ORDINALS
from foretell.gui.bench.oracles.figures import SHAPES
from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, drag, press
from foretell.gui.bench.pages import SCALE, WIDTH, Element

WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
GRID = {
    f"{row} {column}".replace("center center", "center"): 3 * y + x
    for y, row in enumerate(("top", "center", "bottom"))
    for x, column in enumerate(("left", "center", "right"))
}
STEP_PX = 20 * SCALE


def drag_box(scene: Scene) -> Planned | None:
    small, large = scene.id("draggableSmall"), scene.id("draggableLarge")
    if small is None or large is None:
        return None
    (x, y, w, h), (left, top, width, height) = small.box, large.box
    if left + SCALE < x and x + w < left + width - SCALE and top + SCALE < y and y + h < top + height - SCALE:
        return press(scene.id("subbtn"))
    places = [Point(x + w * (i + 0.5) / 5, y + h * (j + 0.5) / 5) for i in range(5) for j in range(5)]
    free = [place for place in places if not large.holds(place)]
    grip = min(free, key=lambda at: abs(at.x - small.middle.x) + abs(at.y - small.middle.y))
    shift_x, shift_y = large.middle.x - small.middle.x, large.middle.y - small.middle.y
    return drag(grip, Point(grip.x + shift_x, grip.y + shift_y), "drag the small box into the large box", small)


def drag_one(scene: Scene) -> Planned | None:
    way = scene.said(r"Drag the \w+ (\w+) then")
    shape = next(e for e in scene.elements if {"black-shape", "black-circle"} & set(e.classes))
    moved = re.findall(r"-?[\d.]+", shape.attributes.get("transform", ""))
    across, down = WAYS[way]
    if moved and float(moved[0]) * across + float(moved[-1]) * down > 0:
        return press(scene.id("subbtn"))
    at = shape.middle
    return drag(at, Point(at.x + across * STEP_PX, at.y + down * STEP_PX), f"drag the shape {way}", shape)


def _sort_drag(item: Element, target: Element, intent: str) -> Planned:
    """A drag of a list item past the middle of the one in whose place it is to be."""
    down = target.middle.y - item.middle.y
    across = target.middle.x - item.middle.x
    beyond_y = 0.3 * target.box[3] * (1 if down > 1 else -1 if down < -1 else 0)
    beyond_x = 0.1 * target.box[2] * (1 if across > 1 else -1 if across < -1 else 0)
    if down < -1 and across > 1:  # the list takes a way up and to the right for one forwards, unless it ends early
        beyond_x = -0.3 * target.box[2]
    return drag(item.middle, Point(target.middle.x + beyond_x, target.middle.y + beyond_y), intent, item)


def drag_items(scene: Scene) -> Planned | None:
    match = re.match(r"Drag (.*?) ((?:to the|down|up|left|right) .*?)\.", scene.goal)
    if match is None:
        return None
    name, words = match.groups()
    items = scene.all("li")
    place = next(number for number, item in enumerate(items) if item.text == name)
    return _sort_drag(items[place], items[_target(words, place, len(items))], f"drag '{name}' {words}")


def _target(words: str, place: int, count: int) -> int:
    row = 3 if count == 9 else 1
    steps = {"down": row, "up": -row, "left": -1, "right": 1}
    first = words.split()[0]
    if first in steps:
        return place + steps[first]
    where = words.removeprefix("to the ")
    if count == 9:
        return GRID[where]
    return {"top": 0, "bottom": count - 1}.get(where, -1) if where in ("top", "bottom") else ORDINALS[where.split()[0]]


def drag_sort_numbers(scene: Scene) -> Planned | None:
    items = scene.all("li")
    numbers = [int(item.text) for item in items]
    for place, wanted in enumerate(sorted(numbers)):
        if numbers[place] != wanted:
            item = items[len(numbers) - 1 - numbers[::-1].index(wanted)]
            return _sort_drag(item, items[place], f"drag {wanted} to position {place + 1}")
    return press(scene.id("subbtn"))


def _shapes(scene: Scene) -> list[Element]:
    return [e for e in scene.elements if e.tag in SHAPES and e.id != "shape-container"]


def _inside(shape: Element, box: Element) -> bool:
    x, y = _corner(shape)
    left, top, width, height = box.box
    return left + SCALE < x < left + width - SCALE and top + SCALE < y < top + height - SCALE


def _corner(shape: Element) -> tuple[float, float]:
    return shape.box[0], shape.box[1]


def _place_in(box: Element, number: int, count: int) -> Point:
    left, _, width, _ = box.box
    return Point(left + width * (0.25 + 0.5 * (number + 0.5) / count), box.middle.y)


def _outside(scene: Scene, box: Element) -> Point:
    """A place in the picture that is outside of a box and free of shapes."""
    svg = next(e for e in scene.elements if e.tag == "svg")
    left, top, width, height = svg.box
    places = [Point(left + width * (i + 0.5) / 8, top + height * (j + 0.5) / 7) for j in range(7) for i in range(8)]
    (x, y, w, h), edge = box.box, 22 * SCALE
    return next(
        at
        for at in places
        if not (x - edge < at.x < x + w + edge and y - edge < at.y < y + h + edge) and at.x < WIDTH - edge
        if all(abs(at.x - e.middle.x) + abs(at.y - e.middle.y) > edge for e in _shapes(scene))
    )


def _move_in(shapes: Sequence[Element], box: Element, what: str) -> Planned | None:
    out = [e for e in shapes if not _inside(e, box)]
    if not out:
        return None
    number = len(shapes) - len(out)
    planned = drag(out[0].centre, _place_in(box, number, len(shapes)), f"drag {what} into the {what_box(box)}", out[0])
    return Planned(planned.action, planned.intent, planned.target, tuple(e.ref for e in out[1:]))


def what_box(box: Element) -> str:
    """The box in words, by where it is and how wide."""
    if box.box[2] > 75 * SCALE:
        return "black box"
    return "left box" if box.middle.x < WIDTH / 2 else "right box"


def drag_shapes(scene: Scene) -> Planned | None:
    name = scene.said(r"Drag all (\w+)s into")
    box = scene.id("shape-container")
    if box is None:
        return None
    wanted = [e for e in _shapes(scene) if SHAPES[e.tag] == name]
    planned = _move_in(wanted, box, f"a {name}")
    if planned:
        return planned
    stray = next((e for e in _shapes(scene) if SHAPES[e.tag] != name and _inside(e, box)), None)
    if stray is not None:
        return drag(stray.middle, _outside(scene, box), f"drag the {SHAPES[stray.tag]} out of the black box", stray)
    return press(scene.id("subbtn"))


def drag_shapes_2(scene: Scene) -> Planned | None:
    colour, name = scene.said(r"Drag all (\w+) shapes"), scene.said(r"Drag all (\w+)s into the left")
    left, right = sorted((e for e in scene.elements if e.id == "shape-container"), key=lambda e: e.box[0])
    chosen = [e for e in _shapes(scene) if (e.attributes["fill"] == colour if colour else SHAPES[e.tag] == name)]
    others = [e for e in _shapes(scene) if e not in chosen]
    said = f"a {colour} shape" if colour else f"a {name}"
    return _move_in(chosen, left, said) or _move_in(others, right, "another shape") or press(scene.id("subbtn"))


def draw_line(scene: Scene) -> Planned | None:
    dot = next(e for e in scene.elements if e.tag == "circle")
    path = next((e for e in scene.elements if e.tag == "path"), None)
    flat = "horizontal" in scene.goal
    if path is not None and (path.box[2] > path.box[3]) == flat and max(path.box[2:]) > STEP_PX:
        x, y, width, height = path.box
        if (abs(y + height / 2 - dot.middle.y) if flat else abs(x + width / 2 - dot.middle.x)) < 4 * SCALE:
            return press(scene.one("button"))
    half = 25 * SCALE
    at = dot.middle
    start = Point(at.x - half, at.y) if flat else Point(at.x, at.y - half)
    end = Point(at.x + half, at.y) if flat else Point(at.x, at.y + half)
    return drag(start, end, f"draw a {'horizontal' if flat else 'vertical'} line through the dot", dot)


def highlight_text(scene: Scene) -> Planned | None:
    which = scene.said(r"in the (\d\w\w) paragraph")
    whole = scene.id("randomText")
    if whole is None:
        return None
    text = scene.all("p", inside=whole)[ORDINALS[which]] if which else whole
    if text.attributes.get("selection", "").replace(" ", "") == text.text.replace(" ", ""):
        return press(scene.id("subbtn"))
    x, y, width, height = text.box
    name = f"the {which} paragraph" if which else "the paragraph"
    start, end = Point(x + 1, y + 5 * SCALE), Point(x + width - SCALE, y + height - 4 * SCALE)
    return drag(start, end, f"drag over {name} to highlight it", text)


ORACLES: dict[str, Oracle] = {
    "drag-box": drag_box,
    "drag-circle": drag_one,
    "drag-items": drag_items,
    "drag-items-grid": drag_items,
    "drag-shapes": drag_shapes,
    "drag-shapes-2": drag_shapes_2,
    "drag-single-shape": drag_one,
    "drag-sort-numbers": drag_sort_numbers,
    "draw-line": draw_line,
    "highlight-text": highlight_text,
    "highlight-text-2": highlight_text,
}
