"""Oracles of tasks about drawn figures: shapes, digits and letters, points and angles."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, click, press
from foretell.gui.bench.pages import HEIGHT, SCALE, WIDTH, Element

SHAPES = {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}
COLOURS = frozenset(("red", "green", "blue", "aqua", "black", "magenta", "yellow"))
LARGE_PX = 15 * SCALE
BAND_PX = 50 * SCALE  # height of the instruction
NEAR_PX = 3 * SCALE


@dataclass(frozen=True)
class Figure:
    """One thing drawn: what kind it is (shape, digit, letter), which one, its colour and its size."""

    element: Element
    type: str
    name: str
    colour: str
    size: str

    def fits(self, words: str) -> bool:
        """Whether a description such as "large red triangle" is of it."""
        *some, last = words.split()
        known = (self.size, self.colour)
        return all(word in known for word in some) and last in ("item", self.type, self.name)


def figures(scene: Scene) -> list[Figure]:
    """Everything drawn in the picture, seen or not."""
    found = []
    for e in scene.elements:
        if e.tag == "text":
            kind = "digit" if e.text.isdigit() else "letter"
            large = float(e.attributes["font-size"].removesuffix("px")) * SCALE >= LARGE_PX
            found.append(Figure(e, kind, e.text, e.attributes["fill"], "large" if large else "small"))
        elif e.tag in SHAPES:
            size = "large" if e.box[3] >= LARGE_PX else "small"
            found.append(Figure(e, "shape", SHAPES[e.tag], e.attributes["fill"], size))
    return found


def click_shape(scene: Scene) -> Planned | None:
    words = scene.said(r"Click on a (.*)")
    fitting = [figure.element for figure in figures(scene) if figure.fits(words)]
    return click(fitting[0], f"a {words}", fitting) if fitting else None


def count_shape(scene: Scene) -> Planned | None:
    words = scene.said(r"How many (.*)s are there")
    count = sum(figure.fits(words) for figure in figures(scene))
    return press(scene.one("button", text=str(count)))


def identify_shape(scene: Scene) -> Planned | None:
    figure = figures(scene)[0]
    name = figure.name if figure.type == "shape" else figure.type
    button = next(e for e in scene.all("button") if e.attributes.get("data-type") == name)
    return press(button)


def grid_coordinate(scene: Scene) -> Planned | None:
    place = scene.said(r"coordinate (\(.*\))")
    return click(scene.id(place), f"the point {place} of the grid")


def put_point(scene: Scene, at: Point, what: str) -> Planned | None:
    """A click that puts the blue point there, or the button once it lies there.

    Pages draw the point where the mouse was in coordinates of the page, so it appears shifted by where the picture is.
    """
    svg = next(e for e in scene.elements if e.tag == "svg")
    blue = next((e for e in scene.elements if e.id == "blue-circle"), None)
    if blue is not None and math.hypot(blue.middle.x - at.x, blue.middle.y - at.y) < NEAR_PX:
        return press(scene.id("subbtn"))
    aimed = Point(_whole(at.x - svg.box[0]), _whole(at.y - (svg.box[1] - BAND_PX)))
    return Planned(Action(Kind.CLICK, point=aimed), f"click {what}", svg.ref)


def _whole(px: float) -> float:
    """Pages cut the place of the mouse down to whole pixels of their own; this is the nearest of them, safely."""
    return (round(px / SCALE) + 0.1) * SCALE


def circle_centre(scene: Scene) -> Planned | None:
    circle = next(iter(e for e in scene.elements if "black-circle" in e.classes))
    return put_point(scene, _middle(circle), "the centre of the circle")


def find_midpoint(scene: Scene) -> Planned | None:
    one, two = (_middle(e) for e in scene.elements if "black-circle" in e.classes)
    return put_point(scene, Point((one.x + two.x) / 2, (one.y + two.y) / 2), "the middle between the two points")


def bisect_angle(scene: Scene) -> Planned | None:
    vertex = _middle(next(e for e in scene.elements if "init-blue" in e.classes))
    one, two = (_middle(e) for e in scene.elements if "init-black" in e.classes)
    left, right = math.hypot(one.x - vertex.x, one.y - vertex.y), math.hypot(two.x - vertex.x, two.y - vertex.y)
    x = (one.x - vertex.x) / left + (two.x - vertex.x) / right
    y = (one.y - vertex.y) / left + (two.y - vertex.y) / right
    return put_point(scene, _along(scene, vertex, x, y), "a point on the line that halves the angle")


def right_angle(scene: Scene) -> Planned | None:
    vertex, end = (_middle(e) for e in (scene.id("init-blue"), scene.id("init-black")) if e is not None)
    x, y = vertex.y - end.y, end.x - vertex.x
    one, two = _along(scene, vertex, x, y), _along(scene, vertex, -x, -y)
    far = max(one, two, key=lambda at: math.hypot(at.x - vertex.x, at.y - vertex.y))
    return put_point(scene, far, "a point that makes a right angle")


def _middle(circle: Element) -> Point:
    """The middle of a circle, wherever it is partly hidden."""
    if not circle.visible:
        return circle.middle
    radius = float(re.sub(r"[^\d.]", "", circle.attributes["r"])) * SCALE
    x, y, width, height = circle.box
    at_x = x + radius if width < 2 * radius - 1 and x > 0 else x + width / 2
    at_y = y + radius if height < 2 * radius - 1 else y + height / 2
    return Point(at_x, at_y)


def _along(scene: Scene, start: Point, x: float, y: float) -> Point:
    """The furthest point in a direction that is still well inside the picture."""
    svg = next(e for e in scene.elements if e.tag == "svg")
    left, top, width, height = svg.box
    edge = 6 * SCALE
    right, bottom = min(left + width, WIDTH) - edge, min(top + height, HEIGHT) - edge
    length = math.hypot(x, y)
    best = start
    for far in range(4, 70):
        at = Point(start.x + x / length * far * SCALE, start.y + y / length * far * SCALE)
        if not (left + edge <= at.x <= right and top + edge <= at.y <= bottom):
            break
        best = at
    return best


ORACLES: dict[str, Oracle] = {
    "bisect-angle": bisect_angle,
    "circle-center": circle_centre,
    "click-shape": click_shape,
    "count-shape": count_shape,
    "find-midpoint": find_midpoint,
    "grid-coordinate": grid_coordinate,
    "identify-shape": identify_shape,
    "right-angle": right_angle,
}
