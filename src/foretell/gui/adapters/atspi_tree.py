"""A script that prints the accessibility tree of the programs on a display as JSON. Needs a Python with AT-SPI (`gi`).

It imports nothing of this package: the system's Python runs it.
"""

import importlib
import json
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
MOST = 900


def visit(node: Any, found: Found, parent: int, depth: int) -> None:
    if node is None or len(found) >= MOST or depth > 40:
        return
    try:
        states, role = node.get_state_set(), node.get_role_name()
        if not states.contains(Atspi.StateType.SHOWING) and role not in ("application", "desktop frame"):
            return
        ref = parent
        if role in ROLES:
            ref = len(found)
            found.append(told(node, ROLES[role], states, parent, ref))
        for number in range(min(node.get_child_count(), 400)):
            visit(node.get_child_at_index(number), found, ref, depth + 1)
    except GLib.Error:
        return


def visit_windows(program: Any, found: Found) -> None:
    """All windows; while a modal one is open, what lies in the others is covered."""
    windows = [program.get_child_at_index(number) for number in range(program.get_child_count())]
    windows = [one for one in windows if one is not None and one.get_state_set().contains(Atspi.StateType.SHOWING)]
    modal = [one.get_state_set().contains(Atspi.StateType.MODAL) for one in windows]
    for window, own in zip(windows, modal, strict=True):
        first = len(found)
        visit(window, found, -1, 0)
        for element in found[first:]:
            element["covered"] = any(modal) and not own


def told(node: Any, role: str, states: Any, parent: int, ref: int) -> dict[str, Any]:
    box = node.get_extents(Atspi.CoordType.SCREEN)
    name = (node.get_name() or "").strip()
    named_by = "text"
    if not name:
        for relation in node.get_relation_set() or []:
            if relation.get_relation_type() == Atspi.RelationType.LABELLED_BY:
                name, named_by = relation.get_target(0).get_name() or "", "label"
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
    desktop, found = Atspi.get_desktop(0), Found()
    for number in range(desktop.get_child_count()):
        program = desktop.get_child_at_index(number)
        if program is not None:
            visit_windows(program, found)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
