"""Recorded proposals: what a critic learns from and is measured on. One folder, one `proposals.jsonl`, many pictures.

Each line is one `Row`; its picture is a PNG named relative to the folder, shared by the rows that saw the same screen.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np

from foretell.gui.actions import Action
from foretell.gui.fields import is_a, is_a_or_none, texts
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.received import MOST_BYTES, BadFile, open_plain, read_json_lines, write_plain

Split = Literal["train", "held_out"]
FILE = "proposals.jsonl"
MOST_PIXELS = 1 << 25  # an 8K screen


class DatasetError(ValueError):
    """A recorded line cannot be read, or its picture is not there. Says which line and why."""


@dataclass(frozen=True)
class Row:
    """One labelled proposal on one screen. `error` is None for a good one.

    `image` is the picture's path relative to the folder. `seed` and `step` say where in which episode it was.
    """

    id: str
    task: str
    seed: int
    step: int
    split: Split
    goal: str
    image: str
    history: History
    proposal: Proposal
    bad: bool
    error: ErrorClass | None = None

    def __post_init__(self) -> None:
        if self.bad != (self.error is not None):
            raise DatasetError(f"row {self.id}: a bad proposal has an error class and a good one has none")

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON."""
        return {
            "id": self.id,
            "task": self.task,
            "seed": self.seed,
            "step": self.step,
            "split": self.split,
            "goal": self.goal,
            "image": self.image,
            "history": history_to_dict(self.history),
            "proposal": proposal_to_dict(self.proposal),
            "label": "bad" if self.bad else "good",
            "error": None if self.error is None else self.error.value,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Row:
        """The row that `to_dict` wrote; DatasetError where a field is missing or means nothing."""
        try:
            if data["label"] not in ("good", "bad") or data["split"] not in ("train", "held_out"):
                raise ValueError(f"label {data['label']!r} or split {data['split']!r} is not one of those known")
            return Row(
                id=str(data["id"]),
                task=str(data["task"]),
                seed=int(data["seed"]),
                step=int(data["step"]),
                split=data["split"],
                goal=str(data["goal"]),
                image=str(data["image"]),
                history=history_from_dict(data["history"]),
                proposal=proposal_from_dict(data["proposal"]),
                bad=data["label"] == "bad",
                error=None if data.get("error") is None else ErrorClass(data["error"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise DatasetError(f"a recorded proposal cannot be read: {error}") from error

    def observation(self, folder: Path) -> Observation:
        """What the critic is shown: the goal and the picture, read from the folder."""
        return Observation(self.goal, load_image(folder / self.image), self.step)


def action_to_dict(action: Action) -> dict[str, Any]:
    """The action as JSON, in which every number is finite: a point or a distance that is not is left out."""
    return {name: value for name, value in action.to_dict().items() if _is_finite(value)}


def proposal_to_dict(proposal: Proposal) -> dict[str, Any]:
    return {
        "actions": [action_to_dict(action) for action in proposal.actions],
        "intent": proposal.intent,
        "raw": proposal.raw,
        "fault": proposal.fault,
    }


def proposal_from_dict(data: Mapping[str, Any]) -> Proposal:
    actions = tuple(Action.from_dict(action) for action in data["actions"])
    intent, fault = is_a_or_none(str, data.get("intent")), is_a_or_none(str, data.get("fault"))
    return Proposal(actions, intent, is_a(str, data.get("raw", "")), fault)


def history_to_dict(history: History) -> dict[str, Any]:
    steps = [
        {"action": action_to_dict(step.action), "screen": step.screen, "changed": step.changed, "intent": step.intent}
        for step in history.steps
    ]
    return {"achieved": list(history.achieved), "effect": history.effect, "steps": steps, "count": history.count}


def history_from_dict(data: Mapping[str, Any]) -> History:
    steps = tuple(
        Step(
            Action.from_dict(step["action"]),
            is_a(str, step["screen"]),
            bool(step["changed"]),
            is_a_or_none(str, step.get("intent")),
        )
        for step in data.get("steps", ())
    )
    count = int(data.get("count", len(steps)))
    return History(texts(data.get("achieved", [])), is_a(str, data.get("effect", "")), steps, count)


def _is_finite(value: Any) -> bool:
    parts = value.values() if isinstance(value, Mapping) else (value,)
    return all(math.isfinite(part) for part in parts if isinstance(part, float))


def write_rows(folder: Path, rows: Iterable[Row], append: bool = False) -> None:
    """Write (or add) rows to the folder's file; their pictures are the caller's to save with `save_image`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / FILE).open("a" if append else "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row.to_dict(), ensure_ascii=False) + "\n")


def read_rows(folder: Path) -> Iterator[Row]:
    """Every row of a folder, in order; DatasetError names the line that cannot be read."""
    path = folder / FILE
    if not path.is_file():
        raise DatasetError(f"{path} does not exist: record proposals into that folder first")
    try:
        for number, data in read_json_lines(path, MOST_BYTES):
            try:
                row = Row.from_dict(data)
            except (ValueError, ArithmeticError) as error:
                raise DatasetError(f"{path}, line {number}: {error}") from error
            yield row
    except BadFile as error:
        raise DatasetError(str(error)) from error


def save_image(path: Path, image: Pixels) -> None:
    """Write an RGB picture as PNG, making its folder; a file or link at `path` is replaced."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    data = BytesIO()
    Image.fromarray(image).save(data, format="PNG")
    write_plain(path, data.getvalue())


def load_image(path: Path) -> Pixels:
    """Read a PNG picture as RGB.

    Raises DatasetError if it is absent, a link, another format (some of which start programs) or too large.
    """
    from PIL import Image

    try:
        with os.fdopen(open_plain(path), "rb") as data, Image.open(data, formats=("PNG",)) as picture:
            width, height = picture.size
            if width * height > MOST_PIXELS:
                raise ValueError(f"{width} x {height} pixels are more than {MOST_PIXELS}")
            return np.asarray(picture.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DatasetError(f"the picture {path} cannot be read: {error}") from error
