"""What an application said of itself at a recorded moment, as the adapters would hand it to a critic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.apps.moment import CHOICES, TOGGLES, Element, Moment, read_moments
from foretell.gui.actions import Point
from foretell.gui.dataset import Row
from foretell.gui.evidence import ElementAt, Evidence

LEAST_SIDE_PX = 2.0


class Recorded:
    """The moments of a folder of recorded applications; asked row by row."""

    def __init__(self, folder: Path, details: Mapping[str, Mapping[str, Any]]) -> None:
        self.folder, self._details = folder, details
        self._moments: dict[str, dict[tuple[str, int], Moment]] = {}

    def of(self, row: Row) -> Evidence:
        """What the application said on the row's screen, of the points that its proposal names."""
        detail = self._details[row.id]
        name = detail["application"]
        if name not in self._moments:
            self._moments[name] = {(one.episode, one.number): one for one in read_moments(self.folder, name)}
        episode, number = detail["moment"]
        points = [p for action in row.proposal.actions for p in (action.point, action.to) if p is not None]
        return evidence_at(self._moments[name][episode, number], points)


def evidence_at(moment: Moment, points: Sequence[Point]) -> Evidence:
    """The elements at some points (the smallest on top, else one that is covered), the focus, and all in view."""
    at = {}
    for point in points:
        held = sorted(_holding(moment.elements, point), key=lambda one: (one.covered, one.box[2] * one.box[3]))
        if held:
            at[point] = element_at(held[0])
    focused = next((one for one in moment.elements if one.focused), None)
    seen = tuple(element_at(one) for one in moment.elements if one.visible and one.name)
    return Evidence(at, None if focused is None else element_at(focused), seen)


def _holding(elements: Sequence[Element], point: Point) -> Iterator[Element]:
    for one in elements:
        if one.visible and min(one.box[2:]) >= LEAST_SIDE_PX and one.distance(point) == 0.0:
            yield one


def element_at(one: Element) -> ElementAt:
    """An element as adapters describe it."""
    toggles = one.role in TOGGLES or one.role in CHOICES or one.role == "tab"
    return ElementAt(
        one.name,
        one.role,
        one.disabled,
        one.editable,
        "another element" if one.covered else "",
        one.group_name,
        one.value,
        one.checked if toggles else None,
    )


def read_details(folder: Path, file: str) -> dict[str, dict[str, Any]]:
    """What is known of each row besides the row, by its id."""
    return {one["id"]: one for one in map(json.loads, (folder / file).read_text("utf-8").splitlines())}
