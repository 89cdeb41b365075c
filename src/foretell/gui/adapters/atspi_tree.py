"""A script that prints the accessibility tree of the programs on a display as JSON. Needs a Python with AT-SPI (`gi`).

It imports nothing of this package: the system's Python runs it. Any program can be on the bus, and one that fails,
lies or never answers takes away what it has to say itself, not the others: each is asked for so long at most, and what
fails in an element leaves out that element.
"""

import importlib
import json
import time
from collections.abc import Iterator
from typing import Any

gi: Any = importlib.import_module("gi")
gi.require_version("Atspi", "2.0")
Atspi: Any = importlib.import_module("gi.repository.Atspi")
GLib: Any = importlib.import_module("gi.repository.GLib")

Found = list[dict[str, Any]]
ROLES = {
    "push button": "button", "toggle button": "button", "menu": "menuitem", "menu item": "menuitem",
    "check box": "checkbox", "check menu item": "menuitemcheckbox", "radio menu item": "menuitemradio",
    "radio button": "radio", "page tab": "tab", "text": "textbox", "entry": "textbox", "password text": "password",
    "combo box": "combobox", "spin button": "spinbutton", "table cell": "clickable", "list item": "option",
    "icon": "clickable", "link": "link", "tree item": "treeitem", "table column header": "clickable",
    "slider": "slider", "terminal": "textbox", "paragraph": "textbox",
}  # fmt: skip
MOST, MOST_OF_ALL = 900, 1800  # elements of one program, so that it leaves room for the others
MOST_CHILDREN = 400
CALL_MS = 800  # the most that one question to a program may take, also to one that was just started
PROGRAM_S, ALL_S = 5.0, 8.0  # the most that one program, and all together, may take


class Visit:
    """The elements of one program, until its time is over or it has given its share."""

    def __init__(self, found: Found, until_s: float) -> None:
        self.found = found
        self._until_s = min(until_s, time.monotonic() + PROGRAM_S)
        self._most = min(MOST_OF_ALL, len(found) + MOST)

    def program(self, program: Any) -> None:
        """All windows; while a modal one is open, what lies in the others is covered."""
        windows = [one for one in self._children(program) if has(one, Atspi.StateType.SHOWING)]
        modal = [has(one, Atspi.StateType.MODAL) for one in windows]
        for window, own in zip(windows, modal, strict=True):
            first = len(self.found)
            self._visit(window, -1, 0)
            for element in self.found[first:]:
                element["covered"] = any(modal) and not own

    def _visit(self, node: Any, parent: int, depth: int) -> None:
        if node is None or depth > 40 or self._over:
            return
        ref = parent
        try:
            states, role = node.get_state_set(), node.get_role_name()
            if not states.contains(Atspi.StateType.SHOWING) and role not in ("application", "desktop frame"):
                return
            if role in ROLES:
                self.found.append(told(node, ROLES[role], states, parent, len(self.found)))
                ref = len(self.found) - 1
        except Exception:  # whatever a program on the bus answers
            pass
        for child in self._children(node):
            self._visit(child, ref, depth + 1)

    def _children(self, node: Any) -> Iterator[Any]:
        try:
            count = min(int(node.get_child_count()), MOST_CHILDREN)
        except Exception:
            return
        for number in range(count):
            if self._over:
                return
            try:
                child = node.get_child_at_index(number)
            except Exception:
                continue
            yield child

    @property
    def _over(self) -> bool:
        return len(self.found) >= self._most or time.monotonic() > self._until_s


def has(node: Any, state: Any) -> bool:
    try:
        return node is not None and bool(node.get_state_set().contains(state))
    except Exception:
        return False


def told(node: Any, role: str, states: Any, parent: int, ref: int) -> dict[str, Any]:
    box = node.get_extents(Atspi.CoordType.SCREEN)
    name = (node.get_name() or "").strip()
    named_by = "text"
    if not name:
        for relation in node.get_relation_set() or []:
            if relation.get_relation_type() == Atspi.RelationType.LABELLED_BY:
                label = relation.get_target(0)
                name, named_by = (label.get_name() or "" if label is not None else ""), "label"
    if not name and node.get_description():
        name, named_by = node.get_description(), "title"
    has = states.contains
    editable = has(Atspi.StateType.EDITABLE) and role in ("textbox", "spinbutton")
    value = ""
    if role == "textbox" and node.get_text_iface() is not None:
        value = Atspi.Text.get_text(
            node.get_text_iface(), 0, min(80, Atspi.Text.get_character_count(node.get_text_iface()))
        )
    return {
        "ref": ref, "tag": "", "role": role, "name": name[:80], "named_by": named_by,
        "box": [box.x, box.y, box.width, box.height], "disabled": not has(Atspi.StateType.SENSITIVE),
        "visible": box.width >= 6 and box.height >= 6, "focused": has(Atspi.StateType.FOCUSED), "editable": editable,
        "checked": has(Atspi.StateType.CHECKED) or (has(Atspi.StateType.SELECTED) and role in ("tab", "option")),
        "multiline": has(Atspi.StateType.MULTI_LINE), "value": value, "parent": parent,
    }  # fmt: skip


def main() -> None:
    if hasattr(Atspi, "set_timeout"):
        Atspi.set_timeout(CALL_MS, CALL_MS)
    desktop, found = Atspi.get_desktop(0), Found()
    until_s = time.monotonic() + ALL_S
    for number in range(desktop.get_child_count()):
        try:
            program = desktop.get_child_at_index(number)
        except Exception:
            continue
        if program is not None and time.monotonic() < until_s:
            Visit(found, until_s).program(program)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
