"""A guard, a screen and programs that note what is asked of them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image

from foretell.gui.actions import Action, Platform
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.bench.chromium import find_chromium
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.verdict import Reason, Verdict

T = TypeVar("T")


class NotingGuard:
    """Objects to the first `objections` proposals of every step."""

    def __init__(self, objections: int = 0) -> None:
        self.objections = objections
        self.seen: list[tuple[str, Any]] = []
        self._left = objections

    def reset(self) -> None:
        self.seen.append(("reset", None))

    def before_action(self, observation: Observation) -> str:
        self.seen.append(("before", observation.step))
        self._left = self.objections
        return "achieved: nothing"

    def after_proposal(self, observation: Observation, proposal: Proposal) -> Verdict:
        self.seen.append(("judge", proposal))
        self._left -= 1
        objects = self._left >= 0
        reason = Reason.DOUBTED if objects else Reason.FINE
        return Verdict(None, objects, "beside the button" if objects else "", 0, reason)

    def executed(self, done: Action | Proposal) -> None:
        self.seen.append(("executed", done))

    def finished(self, image: Pixels | None = None) -> None:
        self.seen.append(("finished", None if image is None else image.shape))

    def names(self) -> list[str]:
        return [name for name, _ in self.seen]

    def last(self, name: str) -> Any:
        return [value for one, value in self.seen if one == name][-1]


class NotingScreen:
    """A black screen; performing what is in `broken` fails."""

    platform: Platform = "web"

    def __init__(self, broken: Action | None = None) -> None:
        self.done: list[Action] = []
        self.broken = broken

    def observe(self) -> Pixels:
        return np.zeros((40, 60, 3), np.uint8)

    def perform(self, action: Action) -> None:
        if action == self.broken:
            raise ScreenError(Fault.FAILED, "it broke")
        self.done.append(action)


def awaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns, run in a thread of its own: sync Playwright keeps an event loop in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def png(width: int = 60, height: int = 40, colour: tuple[int, int, int] = (1, 2, 3)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(buffer, "PNG")
    return buffer.getvalue()


class Programs:
    """A folder to be put on the PATH. Each program in it notes its arguments and input, and prints what it is given.

    With `to_file` that goes to the file that its last argument names.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.jsonl"

    def add(
        self, name: str, prints: bytes = b"", code: int = 0, says: str = "", hangs_s: float = 0.0, to_file: bool = False
    ) -> None:
        answer = self.folder / f"{name}.out"
        answer.write_bytes(prints)
        program = self.folder / name
        program.write_text(
            f"#!{sys.executable} -IS\n"
            "import json, os, sys, time\n"
            f"given = sys.stdin.buffer.read().decode()\n"
            f"line = {{'program': {name!r}, 'arguments': sys.argv[1:], 'given': given}}\n"
            "line['display'] = os.environ.get('DISPLAY')\n"
            f"with open({str(self.log)!r}, 'a') as log: log.write(json.dumps(line) + '\\n')\n"
            f"time.sleep({hangs_s})\n"
            f"out = open(sys.argv[-1], 'wb') if {to_file} else sys.stdout.buffer\n"
            f"out.write(open({str(answer)!r}, 'rb').read())\n"
            f"sys.stderr.write({says!r})\n"
            f"sys.exit({code})\n"
        )
        program.chmod(0o755)

    def calls(self, name: str) -> list[list[str]]:
        return [one["arguments"] for one in self.lines() if one["program"] == name]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @property
    def path(self) -> str:
        return str(self.folder) + os.pathsep + "/nowhere"


def launching() -> dict[str, Any]:
    """How Playwright is to launch the browser that is here."""
    where = find_chromium()
    return {"executable_path": None if where is None else str(where), "args": ["--no-sandbox"]}
