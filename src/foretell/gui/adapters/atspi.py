"""What a desktop says of itself by its accessibility bus (AT-SPI): elements at points, and what has the focus.

Optional. It needs a Python that has `gi` with AT-SPI, which is usually the system's, and programs that are on the bus:
GTK and Qt programs are, if they were started while at-spi2-core was running. The tree is read by that Python in a
process of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.gui.actions import Point
from foretell.gui.adapters.commands import call
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.evidence import ElementAt, Evidence
from foretell.received import parsed

PYTHONS = (sys.executable, "/usr/bin/python3")
TIMEOUT_S = 10.0
DIALOG = "a dialog"
_TOGGLES = frozenset(("checkbox", "switch", "menuitemcheckbox", "radio", "option", "menuitemradio", "tab"))
_SHOWN_CHARACTERS = 200
_PROBE = "import gi; gi.require_version('Atspi', '2.0'); from gi.repository import Atspi"
_TREE = Path(__file__).with_name("atspi_tree.py")


class AtspiReader:
    """Reads the accessibility tree of the programs on a display.

    `environment` are variables of the session that the programs run in, such as DBUS_SESSION_BUS_ADDRESS, if it is not
    that of this process. Raises ScreenError (`missing_tool`) if no Python has AT-SPI.
    """

    def __init__(
        self,
        display: str,
        environment: Mapping[str, str] | None = None,
        pythons: Sequence[str] = PYTHONS,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._environment = {**(environment or {}), "DISPLAY": display}
        self._timeout_s = timeout_s
        self._python = next((one for one in pythons if _has_atspi(one)), None) or _missing()

    def gather(self, points: Sequence[Point]) -> Evidence | None:
        """What lies at points of the screen and what has the focus; None if no program answers."""
        try:
            said = call((self._python, str(_TREE)), self._timeout_s, environment=self._environment)
            tree = parsed(said)
        except (ScreenError, ValueError):
            return None
        return evidence_of(tree, points) if isinstance(tree, list) and tree else None


def evidence_of(tree: Sequence[Mapping[str, Any]], points: Sequence[Point]) -> Evidence:
    """The evidence in the elements of a tree, as `atspi_tree.py` prints them."""
    at = {point: found for point in points if (found := _at(tree, point)) is not None}
    focused = next((one for one in tree if one.get("focused") is True), None)
    seen = tuple(_element(one) for one in tree if one.get("visible") is True and one.get("name"))
    return Evidence(at, None if focused is None else _element(focused), seen)


def _at(tree: Sequence[Mapping[str, Any]], point: Point) -> ElementAt | None:
    """What lies on top at a point: an item of an open menu, else the smallest element that no dialog covers."""
    inside = [one for one in tree if one.get("visible") is True and _holds(one["box"], point)]
    items = [one for one in inside if one["parent"] >= 0 and tree[one["parent"]]["role"] == "menuitem"]
    open_ones = [one for one in inside if not one.get("covered")]
    some = items or open_ones or inside
    if not some:
        return None
    return _element(min(some, key=lambda one: one["box"][2] * one["box"][3]))


def _holds(box: Sequence[float], point: Point) -> bool:
    x, y, width, height = box
    return bool(x <= point.x < x + width and y <= point.y < y + height)


def _element(one: Mapping[str, Any]) -> ElementAt:
    return ElementAt(
        str(one.get("name") or "")[:_SHOWN_CHARACTERS],
        str(one.get("role") or "")[:_SHOWN_CHARACTERS],
        disabled=one.get("disabled") is True,
        editable=one.get("editable") is True or one.get("role") == "password",
        covered_by=DIALOG if one.get("covered") is True else "",
        context=str(one.get("group_name") or "")[:_SHOWN_CHARACTERS],
        value="" if one.get("role") == "password" else str(one.get("value") or "")[:_SHOWN_CHARACTERS],
        checked=one["checked"] if one.get("role") in _TOGGLES and isinstance(one.get("checked"), bool) else None,
    )


def _has_atspi(python: str) -> bool:
    if not os.access(python, os.X_OK):
        return False
    try:
        call((python, "-c", _PROBE), TIMEOUT_S)
    except ScreenError:
        return False
    return True


def _missing() -> str:
    raise ScreenError(
        Fault.MISSING_TOOL,
        "evidence of the desktop needs a Python with AT-SPI: install python3-gi, gir1.2-atspi-2.0 and at-spi2-core "
        "(Debian), or leave evidence out; pixels are enough",
    )
