"""Evidence of the desktop: what lies on top by the accessibility tree, pure and of a real program under Xvfb."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.apps.application import Application
from benchmarks.apps.desktop import stage
from foretell.gui.actions import Point
from foretell.gui.adapters.atspi import PYTHONS, AtspiReader, _has_atspi, evidence_of
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.adapters.x11 import X11Screen

PROGRAM = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window = Gtk.Window(title="Form")
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
window.add(box)
send, archive, entry = Gtk.Button(label="Send"), Gtk.Button(label="Archive"), Gtk.Entry()
archive.set_sensitive(False)
entry.get_accessible().set_name("Title")
for one in (send, archive, entry):
    box.pack_start(one, True, True, 0)
window.show_all()
entry.grab_focus()
Gtk.main()
"""


def element(ref: int, role: str, name: str, box: tuple[float, ...], parent: int = -1, **more: Any) -> dict[str, Any]:
    plain = {"ref": ref, "role": role, "name": name, "box": list(box), "parent": parent, "visible": True}
    return plain | {"disabled": False, "focused": False, "editable": False} | more


def test_an_open_menu_lies_over_what_is_below_it() -> None:
    tree = [
        element(0, "menuitem", "Data", (0, 0, 40, 20)),
        element(1, "menuitem", "Sort", (0, 20, 120, 24), parent=0),
        element(2, "button", "Hyperlink", (40, 22, 20, 20), disabled=True),
        element(3, "textbox", "Cell", (0, 100, 90, 20), editable=True, focused=True),
    ]
    at = (Point(50, 30), Point(10, 110), Point(300, 300))
    found = evidence_of(tree, at)
    assert found.at[at[0]].name == "Sort"
    assert found.at[at[1]].editable
    assert at[2] not in found.at
    assert found.focused is not None
    assert found.focused.name == "Cell"
    assert found.seen is not None and [one.name for one in found.seen] == ["Data", "Sort", "Hyperlink", "Cell"]
    ticked, secret = (
        evidence_of([element(0, role, "Name", (0, 0, 9, 9), checked=True, value="plum")], ()).seen
        for role in ("checkbox", "password")
    )
    assert ticked is not None and secret is not None
    assert (ticked[0].checked, ticked[0].value) == (True, "plum") and (secret[0].checked, secret[0].value) == (None, "")
    alone = evidence_of([tree[2] | {"ref": 0}], at[:1]).at[at[0]]
    assert (alone.name, alone.disabled) == ("Hyperlink", True)


def test_what_a_dialog_covers_is_told_so() -> None:
    tree = [element(0, "button", "Save", (0, 0, 40, 20), covered=True), element(1, "button", "OK", (60, 0, 40, 20))]
    found = evidence_of(tree, (Point(5, 5), Point(65, 5)))
    assert found.at[Point(5, 5)].covered_by == "a dialog"
    assert found.at[Point(65, 5)].covered_by == ""


def test_a_machine_without_atspi_is_told_what_to_install() -> None:
    for pythons in ((), ("/nowhere/python",), (shutil.which("true") or "/bin/true", "/nowhere")[1:]):
        with pytest.raises(ScreenError, match="python3-gi") as error:
            AtspiReader(":99", pythons=pythons)
        assert error.value.fault is Fault.MISSING_TOOL


def test_a_display_on_which_nobody_answers_gives_no_evidence(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\n[ \"$1\" = -c ] && exit 0\necho 'no tree'\n")
    script.chmod(0o755)
    assert AtspiReader(":99", pythons=(str(script),)).gather([Point(1, 1)]) is None


TOOLS = all(map(shutil.which, ("Xvfb", "xdotool", "dbus-launch")))


@pytest.mark.skipif(not (TOOLS and any(map(_has_atspi, PYTHONS))), reason="no Xvfb, D-Bus or AT-SPI here")
def test_a_real_program_says_what_lies_under_points(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    program = Application("program", "the form", "debian", (), ("/usr/bin/python3", str(script)), desktop=True)
    with stage(program, tmp_path, (640, 480), "light") as running:
        screen = X11Screen(running.variables["DISPLAY"], evidence=True, session=running.variables)
        points = (Point(320, 80), Point(320, 240), Point(320, 400))
        until_s = time.monotonic() + 60.0
        found = screen.gather(points)
        while (found is None or len(found.at) < 3) and time.monotonic() < until_s:
            time.sleep(1.0)
            found = screen.gather(points)
    assert found is not None, (tmp_path / "program" / "log").read_text()
    send, archive, title = (found.at[point] for point in points)
    assert (send.name, send.role, send.disabled) == ("Send", "button", False)
    assert (archive.name, archive.disabled) == ("Archive", True)
    assert (title.name, title.editable) == ("Title", True)
    assert X11Screen(running.variables["DISPLAY"]).gather(points) is None
