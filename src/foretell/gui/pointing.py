"""Features of a place that is pointed at: what is there, and whether the goal and the intent mean that or another."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from foretell.gui.elements import distance
from foretell.gui.places import Place, PlaceKind
from foretell.gui.sight import Sight
from foretell.gui.wording import Wording, colour_name, is_submit, part_of, same_colour, tokens
from foretell.gui.words import Word

Features = dict[str, float]
NONE = math.nan
KINDS: tuple[PlaceKind, ...] = ("button", "checkbox", "radio", "field", "link", "text", "icon", "shape", "panel")
_FITS_CONTROL: dict[str, tuple[PlaceKind, ...]] = {
    "button": ("button",),
    "checkbox": ("checkbox",),
    "radio": ("radio",),
    "field": ("field", "panel"),
    "link": ("link",),
    "tab": ("button", "text", "link"),
    "icon": ("icon", "shape"),
    "list": ("field", "button", "panel", "text"),
    "slider": ("shape", "button", "checkbox", "panel", "radio"),
    "shape": ("shape", "icon", "radio", "checkbox", "panel"),
}
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_ROW, _NEAR = 12, 80  # pixels: above and below a line that still are its row; around a point
_WINDOWS = (3, 12, 30)  # pixels to each side
EVIDENCE_NAMES = (
    *("x", "y", "inside", *(f"ink_{reach}" for reach in _WINDOWS)),
    *("spread", "unlike_page", "saturation", "in_instruction"),
)
_OF_PLACE = ("width", "height", "off_centre", "off_centre_px", "twins", "marked", "submits", "namesakes")
PLACE_NAMES = (
    *(f"on_{kind}" for kind in KINDS),
    *("on_nothing", "on_little", "away", "away_in_sizes", "missed_kind"),
    *_OF_PLACE,
)
SENSE_NAMES = (
    "here", "best", "margin", "rank", "named", "quoted", "quoted_best", "absent", "to_best", "on_best", "control",
    "control_elsewhere", "colour", "colour_best", "shape", "ordinal", "row", "row_best", "row_quoted", "near",
)  # fmt: skip


@dataclass(frozen=True)
class Meant:
    """How places answer to some words: the score of the one pointed at, of the best, and where the best lies."""

    here: float
    best: float
    best_place: Place | None
    rank: int


def ordinal(text: str) -> int | None:
    """The place in a row that a text names ("3rd", "second", "last"), counted from 1; -1 is the last."""
    match = _ORDINAL.search(text)
    if match:
        return int(match.group(1))
    return next((number for word, number in _ORDINALS.items() if word in tokens(text)), None)


def controls_fit(words: Wording, place: Place | None) -> float:
    """1 where a place is of a kind of control that the words name, 0 where not; nan where they name none."""
    if not words.controls:
        return NONE
    if place is None:
        return 0.0
    # what a reader takes for a single letter may as well be an icon
    kinds = {place.kind, "icon"} if place.kind == "text" and len(place.text) == 1 else {place.kind}
    return float(any(kinds & set(_FITS_CONTROL[name]) for name in words.controls))


def colour_fits(words: Wording, colour: tuple[int, int, int]) -> float:
    if not words.colours:
        return NONE
    return float(any(same_colour(word, colour_name(colour)) for word in words.colours))


def shape_fits(words: Wording, place: Place | None) -> float:
    """Whether a place has the outline of a shape that the words name; nan where they name none."""
    if not words.shapes:
        return NONE
    if place is None or place.kind not in ("shape", "radio", "checkbox", "panel", "icon"):
        return 0.0
    x, y = place.box[2], place.box[3]
    square = min(x, y) > 0.85 * max(x, y)
    for shape in words.shapes:
        if shape in ("circle", "dot", "disc") and square and 0.6 < place.round < 0.86:
            return 1.0
        if shape in ("square", "rectangle") and place.round > 0.86:
            return 1.0
        if shape == "triangle" and place.round < 0.62:
            return 1.0
    return 0.0


def score(words: Wording, place: Place) -> float:
    """How well a place answers to words, by its text, its kind, its colour and its outline."""
    named = max(words.fit(place.text), 0.97 * words.fit(place.label)) if place.kind != "panel" else 0.0
    total = named
    for evidence, weight in (
        (controls_fit(words, place), 0.25),
        (colour_fits(words, place.colour), 0.45),
        (shape_fits(words, place), 0.25),
    ):
        if not math.isnan(evidence):
            total += weight * (evidence - 0.5)
    return total


def promise(words: Wording, place: Place) -> float:
    """As `score`, but a line of text that holds a quoted phrase among others counts as well."""
    own = score(words, place)
    if place.kind in ("text", "link") and own < 0.9 and words.holds(place.text) > 0.95:
        return 0.9
    return own


def meant(words: Wording, sight: Sight, here: Place | None, said: str) -> Meant:
    """Who answers best to the words, and how the place pointed at does. `said` is the very word under the point."""
    scores = [(promise(words, place), place) for place in sight.places.all]
    own = NONE if here is None else score(words, here)
    if here is not None and said and here.kind in ("text", "link"):
        own = max(own, words.fit(said), 0.5 * words.holds(here.text))
    best, place = max(scores, key=lambda pair: pair[0], default=(0.0, None))
    floor = -1.0 if here is None else own
    return Meant(-0.5 if here is None else own, best, place, sum(one > floor + 0.03 for one, _ in scores))


def word_at(words: tuple[Word, ...], x: float, y: float) -> str:
    """The single word under a point, by its share of the line's length; empty where there is none."""
    for word in words:
        left, top, w, h = word.box
        if left - 2 <= x <= left + w + 2 and top - 3 <= y <= top + h + 3:
            at = int(min(max((x - left) / max(1, w), 0.0), 0.999) * len(word.text))
            start = word.text.rfind(" ", 0, at) + 1
            end = word.text.find(" ", at)
            return word.text[start : end if end > 0 else len(word.text)].strip(" .,;:")
    return ""


def evidence_at(sight: Sight, x: float, y: float) -> Features:
    """Pixels under and around a point: ink, colour, and the nearest things."""
    screen, image = sight.screen, sight.image
    column, row = int(min(max(x, 0), screen.width - 1)), int(min(max(y, 0), screen.height - 1))
    found: Features = {"x": x / screen.width, "y": y / screen.height}
    found["inside"] = float(0 <= x < screen.width and 0 <= y < screen.height)
    for reach in _WINDOWS:
        top, left = max(0, row - reach), max(0, column - reach)
        window = screen.ink[top : row + reach + 1, left : column + reach + 1]
        found[f"ink_{reach}"] = float(window.mean())
    patch = image[max(0, row - 4) : row + 5, max(0, column - 4) : column + 5].reshape(-1, 3).astype(np.float64)
    found["spread"] = float(patch.std(axis=0).max())
    colour = np.median(patch, axis=0)
    found["unlike_page"] = float(np.abs(colour - np.array(screen.page)).max())
    found["saturation"] = float(colour.max() - colour.min())
    band = sight.places.instruction
    found["in_instruction"] = float(
        band is not None and band[0] <= x < band[0] + band[2] and band[1] <= y < band[1] + band[3]
    )
    return found


def place_at(sight: Sight, x: float, y: float) -> Features:
    """The place under a point: its kind, its size, how central the point is, and how far the nearest one is."""
    here, near = sight.places.under(x, y), sight.places.nearest(x, y)
    found: Features = {f"on_{kind}": float(here is not None and here.kind == kind) for kind in KINDS}
    found["on_nothing"] = float(here is None)
    found["on_little"] = float(here is None or here.kind == "panel")
    away = 999.0 if near is None else near.away(x, y)
    found["away"] = away
    found["away_in_sizes"] = NONE if near is None else max(0.0, away) / max(8, min(near.box[2], near.box[3]))
    found["missed_kind"] = NONE if near is None or away <= 0 else float(KINDS.index(near.kind))
    if here is None:
        return found | dict.fromkeys(_OF_PLACE, NONE)
    left, top, w, h = here.box
    found["width"], found["height"] = w / sight.screen.width, h / sight.screen.height
    found["off_centre"] = max(abs(x - left - w / 2) / max(1, w / 2), abs(y - top - h / 2) / max(1, h / 2))
    found["off_centre_px"] = math.hypot(x - left - w / 2, y - top - h / 2)
    found["twins"] = sum(other.kind == here.kind for other in sight.places.all) - 1
    found["namesakes"] = sum(bool(here.name) and other.name == here.name for other in sight.places.all) - 1
    found["marked"] = float(here.marked)
    found["submits"] = float(is_submit(here.text))
    return found


def _around(sight: Sight, words: Wording, x: float, y: float) -> Features:
    """Whether the words mean what stands in the same row, or near the point: labels, list entries, table rows."""
    row, near, everywhere, quoted = 0.0, 0.0, 0.0, 0.0
    for word in sight.places.words:
        fit = max(words.fit(word.text), 0.9 * words.holds(word.text))
        everywhere = max(everywhere, fit)
        top, height = word.box[1], word.box[3]
        if top - _ROW <= y <= top + height + _ROW:
            row = max(row, fit)
            quoted = max(quoted, words.fit_quoted(word.text), 0.95 * words.holds(word.text))
        if distance(word.box, x, y) < _NEAR:
            near = max(near, fit)
    return {"row": row, "row_best": everywhere, "row_quoted": quoted if words.quoted else NONE, "near": near}


def sense_at(sight: Sight, words: Wording | None, x: float, y: float) -> Features:
    """Whether words (a goal's or an intent's) mean the place under a point; all nan where there are none."""
    found = dict.fromkeys(SENSE_NAMES, NONE)
    if words is None:
        return found
    words = words.readable()
    here = sight.places.under(x, y)
    said = word_at(sight.places.words, x, y)
    answer = meant(words, sight, here, said)
    found["here"], found["best"], found["margin"] = answer.here, answer.best, answer.here - answer.best
    found["rank"] = float(answer.rank)
    texts = [text for text in ({here.text, here.label, said} if here else {said}) if text]
    found["named"] = max((part_of(text, words.text) for text in texts), default=0.0)
    if words.quoted:
        found["quoted"] = max((words.fit_quoted(text) for text in texts), default=0.0)
        everywhere = [max(words.fit_quoted(p.text), words.fit_quoted(p.label)) for p in sight.places.all]
        found["quoted_best"] = max([*everywhere, found["quoted"]])
        found["absent"] = float(found["quoted_best"] < 0.75)
    if answer.best_place is not None:
        found["to_best"] = max(0.0, answer.best_place.away(x, y))
        found["on_best"] = float(answer.best_place.away(x, y) <= 0)
    found["control"] = controls_fit(words, here)
    if words.controls:
        found["control_elsewhere"] = float(sum(controls_fit(words, p) == 1.0 for p in sight.places.all))
    column, row = int(min(max(x, 0), sight.screen.width - 1)), int(min(max(y, 0), sight.screen.height - 1))
    red, green, blue = (int(c) for c in sight.image[row, column])
    if words.colours:
        own = colour_fits(words, here.colour) if here is not None and here.kind != "panel" else 0.0
        found["colour"] = max(own, colour_fits(words, (red, green, blue)))
        found["colour_best"] = max((colour_fits(words, p.colour) for p in sight.places.all), default=0.0)
    found["shape"] = shape_fits(words, here)
    found |= _around(sight, words, x, y)
    number = ordinal(words.text)
    if number is not None and here is not None:
        row_of = [p for p in sight.places.all if p.kind == here.kind]
        row_of.sort(key=lambda p: (round(p.centre[1] / 24), p.centre[0]))
        at = next(i for i, p in enumerate(row_of) if p is here) + 1
        found["ordinal"] = float(at == (len(row_of) if number == -1 else number))
    return found
