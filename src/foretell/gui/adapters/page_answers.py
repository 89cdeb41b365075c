"""Answers of `elements.js` as evidence. A page can answer anything, so every value is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from foretell.gui.actions import Point
from foretell.gui.evidence import ElementAt, Evidence

SIZE = "() => ({width: window.innerWidth, height: window.innerHeight})"
# `document.readyState` is what a page's element of that name is; the getter of the prototype is the document's own.
LOADING = "() => Object.getOwnPropertyDescriptor(Document.prototype, 'readyState').get.call(document) === 'loading'"
MOST_ELEMENTS, MOST_TITLES = 400, 40
SHOWN_CHARACTERS = 200
_MOST_PX = 100_000.0
_MOST_NUMBER = 2**53  # a longer one is no number of JavaScript, and may be too long to be written
_TEXTS = ("name", "role", "covered_by", "context", "value")


def evidence_of(points: Sequence[Point], found: Any) -> Evidence:
    """The evidence in an answer; what has not the form that was asked for is left out, what is too long is cut."""
    found = found if isinstance(found, Mapping) else {}
    listed, focused, seen = found.get("at"), found.get("focused"), found.get("seen")
    titles = found.get("titles")
    told = zip(points, listed if isinstance(listed, list) else (), strict=False)
    return Evidence(
        {point: _element(one) for point, one in told if isinstance(one, Mapping)},
        _element(focused) if isinstance(focused, Mapping) else None,
        tuple(_element(one) for one in seen[:MOST_ELEMENTS] if isinstance(one, Mapping))
        if isinstance(seen, list)
        else None,
        tuple(filter(None, map(_text, titles[:MOST_TITLES]))) if isinstance(titles, list) else (),
    )


def width_of(size: Any) -> float | None:
    """The width in an answer to `SIZE`, None where there is none that a screen can have."""
    width = size.get("width") if isinstance(size, Mapping) else None
    if not isinstance(width, int | float) or not math.isfinite(width) or not 1.0 <= width <= _MOST_PX:
        return None
    return float(width)


@cache
def elements_script() -> str:
    return resources.files("foretell.gui.adapters").joinpath("elements.js").read_text("utf-8")


def _element(data: Mapping[str, Any]) -> ElementAt:
    name, role, cover, context, value = (_text(data.get(key)) for key in _TEXTS)
    disabled, editable, checked = data.get("disabled") is True, data.get("editable") is True, data.get("checked")
    known = checked if isinstance(checked, bool) else None
    return ElementAt(name, role, disabled, editable, cover, context, value, known)


def _text(value: Any) -> str:
    """A text as it is, cut, and without halves of letters that nothing can write; numbers are told as such."""
    if not (isinstance(value, str) or (type(value) in (int, float) and abs(value) < _MOST_NUMBER)):
        return ""
    return str(value)[:SHOWN_CHARACTERS].encode(errors="replace").decode()
