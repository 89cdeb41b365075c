from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.loop import GuardedScreen
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.adapters.x11 import X11Screen, commands, decode_xwd
from foretell.gui.observation import Proposal
from tests.gui.adapter_fakes import NotingGuard, Programs, png


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    found = Programs(tmp_path)
    monkeypatch.setenv("PATH", found.path)
    monkeypatch.setenv("DISPLAY", ":7")
    return found


def dump(width: int, height: int, bits: int = 32, little: bool = True, colours: int = 2) -> bytes:
    """What xwd writes for a screen whose pixel (x, y) is (x, y, 9)."""
    step, pad = bits // 8, 4
    row_bytes = width * step + pad
    header = [108, 7, 2, 24, width, height, 0, 0 if little else 1, 32, 0, 32, bits, row_bytes, 4]
    header += [0xFF0000, 0xFF00, 0xFF, 8, 256, colours, width, height, 0, 0, 0]
    rows = b""
    for y in range(height):
        for x in range(width):
            rows += (x << 16 | y << 8 | 9).to_bytes(4, "big")[4 - step :][:: -1 if little else 1]
        rows += b"\xee" * pad
    return struct.pack(">25I", *header) + b"name\0\0\0\0" + b"\0" * (12 * colours) + rows


def test_screenshots_by_whatever_is_there(programs: Programs) -> None:
    programs.add("xdotool")
    programs.add("scrot", png(8, 6), to_file=True)
    assert X11Screen().observe().shape == (6, 8, 3)
    assert not Path(programs.calls("scrot")[0][-1]).exists()
    programs.add("xwd", dump(5, 4))
    assert X11Screen().observe().shape == (4, 5, 3)
    programs.add("import", png(9, 6))
    assert X11Screen(display=":8").observe().shape == (6, 9, 3)
    assert programs.calls("import") == [["-silent", "-window", "root", "png:-"]]
    assert [line["display"] for line in programs.lines()] == [":7", ":7", ":8"]


@pytest.mark.parametrize(("bits", "little"), [(32, True), (32, False), (24, True), (24, False)])
def test_dumps_are_read(bits: int, little: bool) -> None:
    image = decode_xwd(dump(5, 4, bits, little))
    x, y = np.meshgrid(np.arange(5), np.arange(4))
    assert image.tolist() == np.stack([x, y, np.full_like(x, 9)], axis=2).tolist()


@pytest.mark.parametrize("broken", [b"", b"x" * 300, dump(5, 4)[:-30], dump(5, 4, 16), b"\0" * 200])
def test_what_is_no_dump_is_told(broken: bytes) -> None:
    with pytest.raises(ScreenError) as error:
        decode_xwd(broken)
    assert error.value.fault is Fault.NO_PICTURE


def test_actions_become_calls(programs: Programs) -> None:
    programs.add("xdotool")
    programs.add("import", png(300, 200))
    slept: list[float] = []
    screen = X11Screen(sleep=slept.append)
    for action in (
        Action(Kind.CLICK, Point(10.7, 20.2)),
        Action(Kind.TRIPLE_CLICK, Point(1, 2)),
        Action(Kind.RIGHT_CLICK, Point(1, 2)),
        Action(Kind.MOVE, Point(1, 2)),
        Action(Kind.SCROLL, dy=-340.0),
        Action(Kind.SCROLL, Point(1, 2), dx=30.0, dy=100.0),
        Action(Kind.KEY, keys=("ctrl", "shift", "/")),
        Action(Kind.KEY, keys=("pageup",)),
        Action(Kind.CLICK, Point(1, 2), keys=("ctrl", "shift")),
        Action(Kind.SCROLL, Point(1, 2), keys=("ctrl",), dy=100.0),
        Action(Kind.KEY, keys=("ctrl", "a"), seconds=2.5),
        Action(Kind.KEY, keys=("KP_0",)),
        Action(Kind.KEY, keys=("question",)),
        Action(Kind.KEY, keys=("volume_up",)),
        Action(Kind.WAIT, seconds=2.5),
        Action(Kind.ANSWER, text="done"),
    ):
        screen.perform(action)
    assert [" ".join(arguments) for arguments in programs.calls("xdotool")] == [
        "mousemove 10 20 click 1",
        "mousemove 1 2 click --repeat 3 --delay 60 1",
        "mousemove 1 2 click 3",
        "mousemove 1 2",
        "mousemove 150 100 click --repeat 3 --delay 20 4",
        "mousemove 1 2 click 5 click 7",
        "key --clearmodifiers ctrl+shift+U002F",
        "key --clearmodifiers Prior",
        "keydown ctrl+shift mousemove 1 2 click 1 keyup ctrl+shift",
        "keydown ctrl mousemove 1 2 click 5 keyup ctrl",
        "keydown ctrl+a sleep 2.5 keyup ctrl+a",
        "key --clearmodifiers KP_0",
        "key --clearmodifiers U003F",
        "key --clearmodifiers XF86AudioRaiseVolume",
    ]
    assert slept == [2.5]


def test_no_key_stays_down_where_a_click_fails(programs: Programs) -> None:
    programs.add("import", png())
    programs.add("xdotool", code=1)
    screen = X11Screen()
    for action in (Action(Kind.CLICK, Point(1, 2), keys=("shift",)), Action(Kind.KEY, keys=("a",), seconds=0.1)):
        with pytest.raises(ScreenError, match="xdotool failed"):
            screen.perform(action)
    assert [call for call in programs.calls("xdotool") if call[0] == "keyup"] == [["keyup", "shift"], ["keyup", "a"]]


def test_a_key_may_be_held_for_longer_than_a_call_takes(programs: Programs) -> None:
    programs.add("import", png())
    programs.add("xdotool", hangs_s=1.0)
    screen = X11Screen(timeout_s=0.5)
    screen._size = (60, 40)
    screen.perform(Action(Kind.KEY, keys=("a",), seconds=10.0))


def test_a_drag_moves_with_the_button_down() -> None:
    ((arguments, typed),) = commands(Action(Kind.DRAG, Point(0, 0), Point(80, 16)), (100, 100))
    assert typed == ""
    assert arguments[:5] == ("mousemove", "0", "0", "mousedown", "1")
    assert arguments[-5:] == ("mousemove", "80", "16", "mouseup", "1")


@pytest.mark.parametrize("text", ["--help", "$(reboot); `x` && \\ ' \" *", "two\nlines\tand ö 漢", "-"])
def test_what_is_typed_is_no_argument(programs: Programs, text: str) -> None:
    programs.add("xdotool")
    programs.add("import", png())
    X11Screen().perform(Action(Kind.TYPE, Point(3, 4), text=text))
    click, typing = [line for line in programs.lines() if line["program"] == "xdotool"]
    assert click["arguments"] == ["mousemove", "3", "4", "click", "1"]
    assert typing["arguments"] == ["type", "--clearmodifiers", "--delay", "8", "--file", "-"]
    assert typing["given"] == text


def test_missing_programs_are_named(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ScreenError, match="xdotool is not on the PATH") as error:
        X11Screen()
    assert error.value.fault is Fault.MISSING_TOOL
    programs.add("xdotool")
    with pytest.raises(ScreenError, match="scrot") as error:
        X11Screen(display=":96").observe()
    assert error.value.fault is Fault.MISSING_TOOL
    monkeypatch.delenv("DISPLAY")
    with pytest.raises(ScreenError, match="Xvfb"):
        X11Screen()


def test_failing_and_hanging_programs(programs: Programs) -> None:
    programs.add("import", png())
    programs.add("xdotool", code=1, says="cannot type my secret\nthere")
    screen = X11Screen(timeout_s=60.0)
    with pytest.raises(ScreenError, match=r"xdotool failed \(1\): cannot type my secret there"):
        screen.perform(Action(Kind.CLICK, Point(1, 1)))
    with pytest.raises(ScreenError, match=r"xdotool failed \(1\)$") as error:
        screen.perform(Action(Kind.TYPE, text="my secret"))
    assert error.value.fault is Fault.FAILED
    programs.add("xdotool", hangs_s=30.0)
    screen = X11Screen(timeout_s=0.3)
    screen._size = (60, 40)  # the screenshot's program is slower than that to start
    with pytest.raises(ScreenError, match="did not end") as error:
        screen.perform(Action(Kind.CLICK, Point(1, 1)))
    assert error.value.fault is Fault.TIMEOUT
    programs.add("import", b"no picture")
    with pytest.raises(ScreenError) as error:
        X11Screen().observe()
    assert error.value.fault is Fault.NO_PICTURE


def test_only_named_programs_are_opened(programs: Programs, tmp_path: Path) -> None:
    programs.add("xdotool")
    programs.add("import", png())
    made = tmp_path / "made"
    start = [sys.executable, "-c", "import os, sys; open(sys.argv[1], 'w').write(os.environ['DISPLAY'])", str(made)]
    screen = X11Screen(openers={"Editor": start, "Gone": ["/nowhere/x"]})
    with pytest.raises(ScreenError, match="Editor, Gone") as error:
        screen.perform(Action(Kind.OPEN, text="xterm -e reboot"))
    assert error.value.fault is Fault.BAD_ACTION
    with pytest.raises(ScreenError, match="cannot be started"):
        screen.perform(Action(Kind.OPEN, text="Gone"))
    screen.perform(Action(Kind.OPEN, text="Editor"))
    for _ in range(500):
        if made.exists() and made.read_text():
            break
        time.sleep(0.02)
    assert made.read_text() == ":7"


@pytest.mark.parametrize(
    "action", [Action(Kind.HOME), Action(Kind.CLICK, Point(999, 1)), Action(Kind.NAVIGATE, text="x")]
)
def test_bad_actions_start_nothing(programs: Programs, action: Action) -> None:
    programs.add("xdotool")
    programs.add("import", png())
    with pytest.raises(ScreenError) as error:
        X11Screen().perform(action)
    assert error.value.fault is Fault.BAD_ACTION
    assert programs.calls("xdotool") == []


def test_in_the_loop(programs: Programs) -> None:
    programs.add("xdotool")
    programs.add("import", png())
    guarded = GuardedScreen(X11Screen(), NotingGuard(), "goal")
    outcome = guarded.step(lambda observation, text: Proposal((Action(Kind.CLICK, Point(1, 2)),)))
    assert outcome.observation.platform == "desktop"
    assert programs.calls("xdotool") == [["mousemove", "1", "2"], ["mousemove", "1", "2", "click", "1"]]


@pytest.mark.parametrize(("settle_s", "waits"), [(1.0, True), (0.0, False)])
def test_it_comes_to_rest_after_an_action(programs: Programs, settle_s: float, waits: bool) -> None:
    programs.add("xdotool")
    programs.add("import", png())
    guarded = GuardedScreen(X11Screen(settle_s=settle_s), NotingGuard(), "goal")
    for _ in range(2):
        guarded.step(lambda observation, text: Proposal((Action(Kind.CLICK, Point(1, 2)),)))
    assert (len(programs.calls("import")) > 6) is waits  # one look before each proposal, two before each click


@pytest.mark.skipif(
    not all(shutil.which(name) for name in ("Xvfb", "xdotool")), reason="needs the packages xvfb and xdotool"
)
def test_a_real_display() -> None:
    command = ["Xvfb", "-noreset", "-displayfd", "1", "-screen", "0", "320x200x24"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        display = f":{server.stdout.readline().decode().strip()}"  # said once it is ready
        try:
            screen = X11Screen(display=display)
            assert screen.observe().shape == (200, 320, 3)
            screen.perform(Action(Kind.MOVE, Point(30, 40)))
            asked = {**os.environ, "DISPLAY": display}
            where = subprocess.run(["xdotool", "getmouselocation"], env=asked, capture_output=True, check=True)
            assert b"x:30 y:40" in where.stdout
        finally:
            server.terminate()
