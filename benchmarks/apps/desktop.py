"""The desktop programs of the suite on a virtual X display; their truth comes from the accessibility tree (AT-SPI).

Windows are not managed: a program's window is put at the top left and as large as the display. The dark theme is GTK's.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from benchmarks.apps.application import Application
from benchmarks.apps.moment import Element, Moment
from benchmarks.apps.server import NotStarted, environment, stop
from benchmarks.apps.walk import Seen, Walker
from foretell.gui.actions import Action, Point
from foretell.gui.adapters import atspi
from foretell.gui.adapters.screen import ScreenError
from foretell.gui.adapters.x11 import X11Screen
from foretell.gui.history import Historian
from foretell.gui.observation import Pixels
from foretell.gui.ocr import Ocr

TOOLS = (
    "xvfb",
    "xdotool",
    "at-spi2-core",
    "dbus-x11",
    "python3-gi",
    "gir1.2-atspi-2.0",
    "adwaita-icon-theme",
)
TREE = Path(atspi.__file__).with_name("atspi_tree.py")
PYTHON = "/usr/bin/python3"
GRID_PX = 16
STARTS_WITHIN_S = 60.0
NOTES = "Minutes of the meeting\n\nThe fence is repaired.\nGreta orders baskets.\nNext meeting: 3 June.\n"
SALES = (
    "Product,Spring,Summer,Autumn\nApple jam,120,80,240\nPear jam,60,75,130\nCider,310,420,150\nSeedlings,95,12,40\n"
)


def _program(name: str, title: str, *words: str) -> Application:
    return Application(name, title, "debian", (name,), (name, *words), desktop=True)


PROGRAMS = (
    _program("galculator", "the calculator"),
    _program("gedit", "the text editor", "{data}/notes.txt"),
    _program("gnumeric", "the spreadsheet", "{data}/sales.csv"),
    _program("mousepad", "the text editor", "{data}/notes.txt"),
    _program("osmo", "the organiser"),
    _program("thunar", "the file manager", "{data}"),
    _program("zim", "the notebook", "--standalone", "{data}/notebook"),
)


def fill(data: Path) -> None:
    """The documents that programs open."""
    (data / "notebook" / "Orchard").mkdir(parents=True)
    (data / "notes.txt").write_text(NOTES)
    (data / "sales.csv").write_text(SALES)
    (data / "notebook" / "notebook.zim").write_text("[Notebook]\nname=Orchard\nhome=Home\n")
    head = "Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.6\n\n"
    for name, text in {
        "Home": "Start here.",
        "Orchard": "Four fields.",
        "Orchard/Pruning": "In March.",
        "Recipes": "Jam.",
    }.items():
        title = name.split("/")[-1]
        (data / "notebook" / f"{name}.txt").write_text(f"{head}====== {title} ======\n{text}\n")
    for name in ("letters", "photos", "plans"):
        (data / name).mkdir()
        (data / name / "may.txt").write_text(NOTES)


class DesktopStage:
    """A program on its own display."""

    def __init__(self, variables: dict[str, str], display: str, name: str, size: tuple[int, int]) -> None:
        self.variables, self.name, self.size = variables, name, size
        self.screen = X11Screen(display=display, settle_s=0.0)

    def reset(self, path: str) -> None:
        until_s = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < until_s:
            if sum(one.usable for one in self.see().elements) >= 4:
                return
            time.sleep(1.0)
        raise NotStarted(f"{self.name} shows nothing that the accessibility tree knows")

    def see(self) -> Seen:
        done = subprocess.run([PYTHON, str(TREE)], env=self.variables, capture_output=True, text=True, timeout=60)
        try:
            told = json.loads(done.stdout)
        except ValueError:
            told = []
        elements, grid = placed([Element.from_dict(one) for one in told], self.size)
        text = " ".join(one.name for one in elements)
        return Seen(elements, grid, GRID_PX, (0.0, 0.0), any(one.covered for one in elements), text)

    def pixels(self) -> Pixels:
        return self.screen.observe()

    def perform(self, action: Action) -> None:
        self.screen.perform(action)
        time.sleep(0.6)

    def busy(self, rng: random.Random) -> Pixels | None:
        return None


def placed(elements: list[Element], size: tuple[int, int]) -> tuple[tuple[Element, ...], tuple[tuple[int, ...], ...]]:
    """Elements cut to the screen with a point to click, and the grid: the latest and smallest lies on top."""
    width, height = size
    found = []
    for one in elements:
        x, y, w, h = one.box
        left, top, right, bottom = max(0.0, x), max(0.0, y), min(x + w, width), min(y + h, height)
        inside = right - left >= 6 and bottom - top >= 6
        aim = ((left + right) / 2, (top + bottom) / 2) if inside and one.visible and not one.covered else None
        box = (left, top, max(0.0, right - left), max(0.0, bottom - top))
        found.append(replace(one, box=box, aim=aim, visible=one.visible and inside))
    found = [replace(one, aim=None, covered=True) if under_menu(one, found) else one for one in found]
    shown = sorted((one for one in found if one.visible and not one.covered), key=lambda one: one.box[2] * one.box[3])

    def top_at(point: Point) -> int:
        return next((one.ref for one in shown if one.distance(point) == 0.0), -1)

    grid = tuple(
        tuple(top_at(Point((column + 0.5) * GRID_PX, (row + 0.5) * GRID_PX)) for column in range(width // GRID_PX))
        for row in range(height // GRID_PX)
    )
    owned = {ref for row in grid for ref in row}
    return tuple(
        one if one.ref in owned or one.box[2] * one.box[3] < 600 else replace(one, aim=None) for one in found
    ), grid


def under_menu(element: Element, elements: Sequence[Element]) -> bool:
    """Whether an open menu lies over the middle of an element that is no part of it."""
    for menu in (one for one in elements if one.role == "menuitem" and one.ref != element.ref):
        items = [one for one in elements if one.parent == menu.ref and one.visible]
        if not items or element.parent == menu.ref or not element.visible:
            continue
        left, top = min(one.box[0] for one in items), min(one.box[1] for one in items)
        right = max(one.box[0] + one.box[2] for one in items)
        bottom = max(one.box[1] + one.box[3] for one in items)
        if left <= element.point.x < right and top <= element.point.y < bottom:
            return True
    return False


@contextmanager
def stage(application: Application, folder: Path, size: tuple[int, int], theme: str) -> Iterator[DesktopStage]:
    """The program, started afresh on a display of this size; everything is stopped on leaving."""
    home = folder / application.name
    data = home / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    fill(data)
    read, write = os.pipe()
    screen = ["-screen", "0", f"{size[0]}x{size[1]}x24", "-nolisten", "tcp", "-displayfd", str(write)]
    server = subprocess.Popen(["Xvfb", *screen], pass_fds=(write,), stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(write)
    with os.fdopen(read) as told:
        display = f":{told.readline().strip()}"
    variables = environment(home) | {
        "DISPLAY": display,
        "GTK_MODULES": "gail:atk-bridge",
        "GTK_THEME": "Adwaita:dark" if theme == "dark" else "Adwaita",
        "XDG_RUNTIME_DIR": str(data / "run"),
        "NO_AT_BRIDGE": "0",
        "GDK_BACKEND": "x11",
    }
    (data / "run").mkdir(mode=0o700)
    started = [subprocess.Popen(["true"], start_new_session=True)]
    try:
        bus = subprocess.run(["dbus-launch", "--sh-syntax"], env=variables, capture_output=True, text=True, timeout=30)
        variables["DBUS_SESSION_BUS_ADDRESS"] = re.findall(r"DBUS_SESSION_BUS_ADDRESS='([^']+)'", bus.stdout)[0]
        bus_id = int(re.findall(r"DBUS_SESSION_BUS_PID=(\d+)", bus.stdout)[0])
        log = (home / "log").open("wb")
        words = application.words(application.start, home)
        program = subprocess.Popen(words, cwd=data, env=variables, stdout=log, stderr=log, start_new_session=True)
        started.append(program)
        os.environ["DISPLAY"] = display
        for _ in range(30):
            time.sleep(1.0)
            if _fitted(variables, size):
                break
        yield DesktopStage(variables, display, application.name, size)
        with suppress(ProcessLookupError):
            os.kill(bus_id, 15)
    finally:
        for process in (*started[::-1], server):
            stop(process)


def _fitted(variables: dict[str, str], size: tuple[int, int]) -> bool:
    """Make the program's windows as large as the display; False if none is there yet."""
    done = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--name", "."], env=variables, capture_output=True, text=True
    )
    windows = done.stdout.split()
    for window in windows[-1:]:
        fit = ["windowmove", window, "0", "0", "windowsize", window, str(size[0]), str(size[1]), "windowfocus", window]
        subprocess.run(["xdotool", *fit], env=variables, capture_output=True)
    return bool(windows)


def walked(
    application: Application, folder: Path, into: Path, steps: int, walks: Sequence[tuple[tuple[int, int], str]]
) -> list[Moment]:
    """The moments of walks at these sizes and themes, each with the program started afresh."""
    walker = Walker(into, application.name, application.title, Historian(Ocr(threads=1)))
    found: list[Moment] = []
    for size, theme in walks:
        name = f"{size[0]}-{theme}"
        try:
            with stage(application, folder, size, theme) as one:
                found += walker.episode(one, name, "", size, theme, steps)
        except (ScreenError, NotStarted, subprocess.SubprocessError) as error:
            print(f"  {application.name} {name}: {str(error)[:200]}", flush=True)
    return found
