from __future__ import annotations

import json
import os
import shlex
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.adb import AdbScreen, commands, typing
from foretell.gui.adapters.loop import GuardedScreen
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.observation import Observation, Proposal
from tests.gui.adapter_fakes import NotingGuard, Programs, png

SIZE = (1000, 2000)


class Device(Programs):
    """A fake `adb` whose `shell` does what the real one does: one line, to a real shell, with a fake `input`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "screen.png").write_bytes(png(*SIZE))
        (folder / "device").mkdir()
        for name in ("input", "monkey", "reboot"):
            program = folder / "device" / name
            program.write_text(
                f"#!{sys.executable} -IS\nimport json, sys\n"
                f"with open({str(self.log)!r}, 'a') as log:\n"
                f"    log.write(json.dumps({{'program': {name!r}, 'arguments': sys.argv[1:]}}) + '\\n')\n"
            )
            program.chmod(0o755)
        adb = folder / "adb"
        adb.write_text(
            f"#!{sys.executable} -IS\nimport json, os, subprocess, sys\n"
            f"given = sys.argv[1:]\n"
            f"with open({str(self.log)!r}, 'a') as log:\n"
            f"    log.write(json.dumps({{'program': 'adb', 'arguments': given}}) + '\\n')\n"
            f"if given[0] == '-s': given = given[2:]\n"
            f"if given == ['exec-out', 'screencap', '-p']:\n"
            f"    sys.stdout.buffer.write(open({str(folder / 'screen.png')!r}, 'rb').read())\n"
            f"elif given[0] == 'shell':\n"
            f"    path = {str(folder / 'device')!r}\n"
            f"    sys.exit(subprocess.run(['/bin/sh', '-c', ' '.join(given[1:])], env={{'PATH': path}}).returncode)\n"
            f"else: sys.exit('what is ' + given[0])\n"
        )
        adb.chmod(0o755)

    def typed(self) -> str:
        return "".join(decoded(arguments) for arguments in self.calls("input"))


def decoded(arguments: list[str]) -> str:
    """What `input` types, as Android's own code reads it: %s is a blank, and nothing else is special."""
    if arguments[0] == "keyevent":
        return {"66": "\n", "61": "\t"}[arguments[1]]
    assert arguments[0] == "text"
    (text,) = arguments[1:]
    return text.replace("%s", " ")


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device(tmp_path)
    monkeypatch.setenv("PATH", found.path)
    return found


def test_a_device_is_seen_and_touched(device: Device) -> None:
    slept: list[float] = []
    screen = AdbScreen("emulator-5554", {"Settings": "com.android.settings"}, sleep=slept.append)
    assert screen.observe().shape == (2000, 1000, 3)
    for action in (
        Action(Kind.CLICK, Point(10.9, 20)),
        Action(Kind.DOUBLE_CLICK, Point(1, 2)),
        Action(Kind.LONG_PRESS, Point(1, 2)),
        Action(Kind.DRAG, Point(1, 2), Point(3, 4)),
        Action(Kind.KEY, keys=("enter",)),
        Action(Kind.KEY, keys=("ctrl", "a")),
        Action(Kind.BACK),
        Action(Kind.HOME),
        Action(Kind.OPEN, text="Settings"),
        Action(Kind.WAIT),
        Action(Kind.ANSWER, text="done"),
        Action(Kind.TERMINATE),
    ):
        screen.perform(action)
    assert [" ".join(arguments) for arguments in device.calls("input")] == [
        "tap 10 20",
        "tap 1 2",
        "tap 1 2",
        "swipe 1 2 1 2 800",
        "swipe 1 2 3 4 900",
        "keyevent 66",
        "keycombination 113 29",
        "keyevent 4",
        "keyevent 3",
    ]
    assert device.calls("monkey") == [["-p", "com.android.settings", "-c", "android.intent.category.LAUNCHER", "1"]]
    assert all(call[:2] == ["-s", "emulator-5554"] for call in device.calls("adb"))
    assert slept == [1.0]


@pytest.mark.parametrize(
    "text",
    [
        "hello world",
        "'; reboot; '",
        '"; reboot; "',
        "$(reboot) `reboot` && reboot | reboot > x",
        "100%s sure, %%s %s%s %",
        "a\nb\tc\n",
        "\\ \\n \\\\ ! # ~ * ? [a] {b} <c> ^ = & | ;",
        "-n --help",
        "x" * 1000 + "%s",
        " ",
    ],
)
def test_texts_arrive_as_they_are(device: Device, text: str) -> None:
    AdbScreen().perform(Action(Kind.TYPE, text=text))
    assert device.typed() == text
    assert device.calls("reboot") == []


@given(st.text(string.printable.replace("\r", "").replace("\x0b", "").replace("\x0c", ""), max_size=60))
def test_no_text_escapes_its_quotes(text: str) -> None:
    """What a POSIX shell makes of the line is the commands that were meant, and they type the text."""
    meant = typing(text)
    lines = [" ".join(map(shlex.quote, command)) for command in meant]
    assert [tuple(shlex.split(line)) for line in lines] == meant
    assert "".join(decoded(list(command[1:])) for command in meant) == text
    for line in lines:
        bare = shlex.shlex(line, posix=True, punctuation_chars=True)
        bare.whitespace_split = True
        bare.commenters = ""
        assert len(list(bare)) == 3  # no operator stands outside the quotes


@given(st.lists(st.text(st.sampled_from("'\"\\$`;&|%s \n\ta*?~#"), min_size=1, max_size=12), min_size=1, max_size=4))
def test_a_real_shell_agrees(parts: list[str]) -> None:
    """The characters that matter to shells, through one."""
    meant = [command for part in parts for command in typing(part)]
    script = "\n".join(" ".join(map(shlex.quote, ("show", *command))) for command in meant)
    show = 'show() { for one in "$@"; do printf \'%s\\0\' "$one"; done; }'
    done = subprocess.run(["/bin/sh", "-c", f"{show}\n{script}"], capture_output=True, env={"PATH": "/nowhere"})
    assert done.returncode == 0
    assert done.stdout.decode().split("\0")[:-1] == [word for command in meant for word in command]


@pytest.mark.parametrize("text", ["ö", "漢字", "a\rb", "\x1b[A", "x\x7f"])
def test_what_input_cannot_type_is_told(device: Device, text: str) -> None:
    with pytest.raises(ScreenError, match="ASCII") as error:
        AdbScreen().perform(Action(Kind.TYPE, text=text))
    assert error.value.fault is Fault.BAD_ACTION
    assert text not in str(error.value)
    assert device.calls("input") == []


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action(Kind.KEY, keys=("volume_up",)), "keyevent 24"),
        (Action(Kind.KEY, keys=("camera",)), "keyevent 27"),
        (Action(Kind.KEY, keys=("clear",)), "keyevent 28"),
        (Action(Kind.KEY, keys=("KP_0",)), "keyevent 144"),
        (Action(Kind.KEY, keys=("question",)), "text ?"),
        (Action(Kind.KEY, keys=("/",)), "keyevent 76"),
        (Action(Kind.KEY, keys=("power",), seconds=2.0), "keyevent --longpress 26"),
        (Action(Kind.KEY, keys=("power",), seconds=0.1), "keyevent 26"),
        (Action(Kind.KEY, keys=("power", "volumedown"), seconds=2.0), "keycombination -t 2000 26 25"),
    ],
)
def test_keys(action: Action, expected: str) -> None:
    assert [" ".join(command[1:]) for command in commands(action, SIZE)] == [expected]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action(Kind.SCROLL, dy=400.0), ["swipe 500 1200 500 800 300"]),
        (Action(Kind.SCROLL, dy=-400.0), ["swipe 500 800 500 1200 300"]),
        (Action(Kind.SCROLL, dx=200.0), ["swipe 600 1000 400 1000 300"]),
        (Action(Kind.SCROLL, Point(500, 1990), dy=400.0), ["swipe 500 1800 500 1400 300"]),  # away from the edge
        (Action(Kind.SCROLL, dy=3200.0), ["swipe 500 1800 500 200 300"] * 2),
    ],
)
def test_scrolls_are_swipes_the_other_way(action: Action, expected: list[str]) -> None:
    assert [" ".join(command[1:]) for command in commands(action, SIZE)] == expected


@given(st.floats(0, 999), st.floats(0, 1999), st.floats(-1e5, 1e5), st.floats(-1e5, 1e5))
def test_swipes_stay_on_the_screen(x: float, y: float, dx: float, dy: float) -> None:
    found = commands(Action(Kind.SCROLL, Point(x, y), dx=dx, dy=dy), SIZE)
    assert len(found) <= 20
    for _, _, x0, y0, x1, y1, _ in found:
        assert 0 <= int(x0) < 1000
        assert 0 <= int(x1) < 1000
        assert 0 <= int(y0) < 2000
        assert 0 <= int(y1) < 2000


@pytest.mark.parametrize(
    "action",
    [
        Action(Kind.RIGHT_CLICK, Point(1, 1)),
        Action(Kind.CLICK, Point(1, 5000)),
        Action(Kind.OPEN, text="com.x; reboot"),
        Action(Kind.OPEN, text="Settings"),
        Action(Kind.KEY, keys=("f20",)),
        Action(Kind.KEY, keys=("ctrl", "question")),
        Action(Kind.CLICK, Point(1, 1), keys=("shift",)),
        Action(Kind.KEY, keys=("$(reboot)",)),
    ],
)
def test_bad_actions_do_nothing(device: Device, action: Action) -> None:
    with pytest.raises(ScreenError) as error:
        AdbScreen().perform(action)
    assert error.value.fault is Fault.BAD_ACTION
    assert device.calls("input") == device.calls("monkey") == device.calls("reboot") == []


def test_trouble_is_typed(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for bad in ("x; reboot", "-d", ""):
        with pytest.raises(ScreenError, match="serial"):
            AdbScreen(bad)
    (device.folder / "screen.png").write_bytes(b"error: no device")
    with pytest.raises(ScreenError) as error:
        AdbScreen().observe()
    assert error.value.fault is Fault.NO_PICTURE
    device.add("adb", code=1, says="error: device 'x' not found")
    with pytest.raises(ScreenError, match="not found") as error:
        AdbScreen().observe()
    assert error.value.fault is Fault.FAILED
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(ScreenError, match="platform tools") as error:
        AdbScreen()
    assert error.value.fault is Fault.MISSING_TOOL


def test_in_the_loop(device: Device) -> None:
    guarded = GuardedScreen(AdbScreen(), NotingGuard(), "goal")
    outcome = guarded.step(lambda observation, text: Proposal((Action(Kind.CLICK, Point(1, 2)),)))
    assert outcome.observation.platform == "mobile"
    assert json.dumps(device.calls("input")) == '[["tap", "1", "2"]]'


@pytest.mark.parametrize(("settle_s", "waits"), [(60.0, True), (0.0, False)])
def test_it_comes_to_rest_after_an_action(device: Device, settle_s: float, waits: bool) -> None:
    def propose(observation: Observation, text: str) -> Proposal:
        (device.folder / "screen.png").write_bytes(png(*SIZE, (observation.step, 9, 9)))  # the action's effect
        return Proposal((Action(Kind.CLICK, Point(1, 2)),))

    guarded = GuardedScreen(AdbScreen(settle_s=settle_s), NotingGuard(), "goal")
    for _ in range(2):
        guarded.step(propose)
    assert (device.calls("adb").count(["exec-out", "screencap", "-p"]) > 2) is waits
