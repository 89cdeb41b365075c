"""Traces: every step of guarded episodes as lines of JSON and PNG pictures in a folder, to look at and to re-score.

`trace.jsonl` is only ever appended to, and a picture is whole on disk before the line that names it. A crash can tear
the last line; reading leaves that one out, and writing on begins after the last whole one.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from foretell.gui.actions import Action
from foretell.gui.dataset import history_from_dict, load_image, proposal_from_dict, save_image
from foretell.gui.fields import is_a, number, share, texts
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.verdict import Reason
from foretell.received import MOST_JSON_BYTES, inside, open_plain, parsed, read_plain

FILE = "trace.jsonl"
_PICTURES = "images"
_READ_BYTES = 1 << 20
_REMEMBERED = 8  # pictures that are not written a second time
_OPENED = 3  # that are not read a second time


class TraceError(ValueError):
    """There is no trace, or a line in it is not what was written; says which and what to do."""


class TraceWriter:
    """Appends to the trace in a folder, which is made if absent. Not for two processes at once.

    Without `pictures` only the lines are written. The agent's raw words are written only with `raw`, and then in no
    episode that speaks of a secret. `clock` gives seconds since the epoch. Raises NotPlain if the trace
    or the folder of its pictures is a link, through which nothing is written.
    """

    def __init__(
        self,
        folder: Path | str,
        pictures: bool = True,
        clock: Callable[[], float] = time.time,
        raw: bool = False,
    ) -> None:
        self.folder, self.raw = Path(folder), raw
        self._pictures, self._clock = pictures, clock
        self._written: dict[str, str] = {}
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = open_plain(self.folder / FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._file = os.fdopen(descriptor, "a+b")
        self._file.seek(0)
        self._count = whole_bytes = read_bytes = 0
        while some := self._file.read(_READ_BYTES):  # no whole lines: there may be one as long as the file
            self._count += some.count(b"\n")
            if (last := some.rfind(b"\n")) >= 0:
                whole_bytes = read_bytes + last + 1
            read_bytes += len(some)
        self._file.truncate(whole_bytes)

    def append(self, event: str, data: Mapping[str, Any], pictures: Mapping[str, Pixels] | None = None) -> None:
        """Write one event; when this returns it is on disk. Names of pictures become those of their files."""
        named = {name: self._save(name, pixels) for name, pixels in (pictures or {}).items()} if self._pictures else {}
        line = {"event": event, "t": round(self._clock(), 3), **data, "images": named}
        # Half a surrogate pair, which agents do write, must not keep a step out of the trace.
        self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode(errors="replace") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._count += 1

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _save(self, name: str, pixels: Pixels) -> str:
        digest = hashlib.blake2b(repr(pixels.shape).encode() + pixels.tobytes(), digest_size=8).hexdigest()
        if digest not in self._written:
            plain = "".join(c if c.isalnum() else "-" for c in name)
            relative = f"{_PICTURES}/{self._count:04d}-{plain}-{digest}.png"
            save_image(inside(self.folder, relative), pixels)
            self._written[digest] = relative
            while len(self._written) > _REMEMBERED:
                del self._written[next(iter(self._written))]
        return self._written[digest]


@dataclass(frozen=True, eq=False)
class Round:
    """One proposal of a step and what the guard said of it; `judgement` is None where there was none."""

    proposal: Proposal
    history: History
    judgement: Judgement | None
    verdict: Mapping[str, Any]
    critic: str
    seconds: float
    images: Mapping[str, str]

    @property
    def intervened(self) -> bool:
        return bool(self.verdict.get("intervene"))

    @property
    def objected(self) -> bool:
        """Whether P(bad) cleared the threshold of that time, be it sent back or not."""
        return self.verdict.get("reason") in (Reason.DOUBTED, Reason.QUIET)


@dataclass(frozen=True, eq=False)
class TraceStep:
    """One step: proposals in the order they came, what was executed and what that did, as far as it is known."""

    step: int
    goal: str
    platform: str
    rounds: tuple[Round, ...]
    executed: tuple[Action, ...] | None = None
    effect: str = ""
    achieved: tuple[str, ...] = ()
    after: str | None = None
    t: float = 0.0


@dataclass(frozen=True, eq=False)
class Episode:
    """The steps of one episode, at least one; its outcome where its end was told; the guard's own troubles in it."""

    steps: tuple[TraceStep, ...]
    outcome: Mapping[str, Any] | None = None
    faults: tuple[Mapping[str, Any], ...] = ()

    @property
    def goal(self) -> str:
        return self.steps[0].goal


@dataclass(frozen=True, eq=False)
class Trace:
    """What a folder holds, the episodes in their order. `torn` tells that a crash cut the last line short."""

    folder: Path
    episodes: tuple[Episode, ...]
    torn: bool = False

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """The steps of all episodes."""
        return tuple(step for episode in self.episodes for step in episode.steps)

    @property
    def outcome(self) -> Mapping[str, Any] | None:
        """How the last episode ended."""
        return self.episodes[-1].outcome if self.episodes else None

    @property
    def faults(self) -> tuple[Mapping[str, Any], ...]:
        """The guard's own troubles in all episodes."""
        return tuple(fault for episode in self.episodes for fault in episode.faults)

    def picture(self, name: str) -> Pixels:
        """A picture by the name that a step gives; TraceError where it is not there."""
        try:
            path = inside(self.folder, name)
            return _opened(path, path.stat().st_mtime_ns if path.is_file() else 0)
        except (ValueError, OSError) as error:
            raise TraceError(str(error)) from error

    def observation(self, step: TraceStep, round_: Round) -> Observation:
        """What the critic was shown."""
        if "before" not in round_.images:
            raise TraceError(f"step {step.step} of {self.folder} has no picture: it was traced without")
        platform: Any = step.platform
        return Observation(step.goal, self.picture(round_.images["before"]), step.step, platform)


def read(folder: Path | str) -> Trace:
    """Read a trace, a torn last line left out.

    Raises TraceError if there is none, it is a link or too long, or another line is damaged.
    """
    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        raise TraceError(f"there is no {FILE} in {folder}: give the folder that a guard traced into")
    try:
        *lines, rest = read_plain(path, MOST_JSON_BYTES).split(b"\n")
    except ValueError as error:
        raise TraceError(str(error)) from error
    events = [_event(path, number, line) for number, line in enumerate(lines, 1)]
    torn = bool(rest.strip())
    if torn:
        # A last line that lacks nothing but its newline was written whole.
        with suppress(TraceError):
            events.append(_event(path, len(lines) + 1, rest))
            torn = False
    return _folded(folder, path, events, torn)


def _event(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        data = parsed(line)
        if isinstance(data, dict) and isinstance(data.get("event"), str):
            return data
        raise ValueError("not an event")
    except ValueError as error:
        raise TraceError(f"{path}, line {number} is damaged ({error}): take it out to read the rest") from error


@dataclass
class _Open:
    """An episode that is being read."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    outcome: Mapping[str, Any] | None = None
    faults: list[Mapping[str, Any]] = field(default_factory=list)

    def take(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "proposed":
                if not self.steps or self.steps[-1]["step"] != event["step"] or "executed" in self.steps[-1]:
                    new = {"step": is_a(int, event["step"]), "platform": is_a(str, event["platform"])}
                    new["goal"] = is_a(str, event["goal"])
                    self.steps.append(new | {"rounds": (), "t": number(event["t"])})
                self.steps[-1]["rounds"] += (_round(event),)
            case "executed" if self.steps:
                self.steps[-1]["executed"] = tuple(map(Action.from_dict, event["actions"]))
            case "effect" if self.steps:
                achieved = texts(event["achieved"])
                self.steps[-1] |= {"effect": is_a(str, event["effect"]), "achieved": achieved}
                self.steps[-1]["after"] = _pictures(event).get("after")
            case "fault":
                is_a(int, event.get("step", 0))
                is_a(str, event.get("where", "")), is_a(str, event.get("message", ""))
                self.faults.append(event)
            case "end":
                if event.get("outcome") is not None:
                    is_a(dict, event["outcome"])
                self.outcome = event

    def is_over_at(self, event: dict[str, Any]) -> bool:
        """Whether an event begins another episode: it says so, or has another goal or an earlier step, as old ones."""
        if event["event"] != "proposed" or not self.steps:
            return bool(event["event"] == "start")
        return bool(event["goal"] != self.steps[-1]["goal"] or event["step"] < self.steps[-1]["step"])


def _folded(folder: Path, path: Path, events: list[dict[str, Any]], torn: bool) -> Trace:
    episodes = [_Open()]
    for at, event in enumerate(events, 1):
        try:
            if episodes[-1].is_over_at(event):
                episodes.append(_Open())
            episodes[-1].take(event)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise TraceError(f"{path}, line {at} is no event of a guard ({error!r})") from error
    found = (
        Episode(tuple(TraceStep(**step) for step in one.steps), one.outcome, tuple(one.faults))
        for one in episodes
        if one.steps
    )
    return Trace(folder, tuple(found), torn)


def _round(event: Mapping[str, Any]) -> Round:
    said = event["judgement"]
    judgement = None
    if said is not None:
        error = None if said["error"] is None else ErrorClass(said["error"])
        explanation = is_a(str, said["explanation"])
        judgement = Judgement(share(said["p_bad"]), error, explanation, dict(said["evidence"]))
    proposal, history = proposal_from_dict(event["proposal"]), history_from_dict(event["history"])
    verdict, critic = is_a(dict, event["verdict"]), is_a(str, event["critic"])
    if verdict.get("threshold") is not None:
        number(verdict["threshold"])
    return Round(proposal, history, judgement, verdict, critic, number(event["seconds"]), _pictures(event))


def _pictures(event: Mapping[str, Any]) -> dict[str, str]:
    return {name: is_a(str, picture) for name, picture in is_a(dict, event["images"]).items()}


@lru_cache(maxsize=_OPENED)
def _opened(path: Path, changed_ns: int) -> Pixels:
    """A picture, which steps that follow each other often share; of a file that has changed it is another one."""
    return load_image(path)
