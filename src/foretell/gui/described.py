"""Recorded proposals as the learned critic sees them: a table of features, each row with and without its intent."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.gui.actions import ENDINGS, Kind
from foretell.gui.checks import check
from foretell.gui.dataset import Row
from foretell.gui.features import features
from foretell.gui.observation import Observation, Pixels
from foretell.gui.reading import interest
from foretell.gui.shrink import shrunk
from foretell.gui.sight import Eyes
from foretell.gui.vary import varied, ways
from foretell.trees import FloatArray

PART = 250  # rows that a process looks at before it is asked again
_VARIANT = ", "  # between a row's id and the way in which it is shown

Say = Callable[[str], None]


@dataclass(frozen=True)
class Shown:
    """Rows as the model sees them, each twice: as it was recorded, and without its intent. `stated` has one."""

    names: tuple[str, ...]
    table: FloatArray
    bad: NDArray[np.bool_]
    error: NDArray[Any]
    task: NDArray[Any]
    stated: NDArray[np.bool_]
    held_out: NDArray[np.bool_]
    ids: NDArray[Any]

    @property
    def as_recorded(self) -> NDArray[np.bool_]:
        """Which rows are not variants."""
        return np.array([_VARIANT not in one for one in self.ids.tolist()], dtype=bool)

    @property
    def sort(self) -> NDArray[Any]:
        """The sort of each row's proposal."""
        return np.where(self._is(*ENDINGS), "ending", np.where(self._is(Kind.DRAG), "drag", "step"))

    def _is(self, *kinds: Kind) -> NDArray[np.bool_]:
        found = np.zeros(len(self.bad), dtype=bool)
        for kind in kinds:
            name = f"is_{kind.value}"
            if name in self.names:
                found |= self.table[:, self.names.index(name)] > 0.5
        return found

    def where(self, chosen: NDArray[np.bool_]) -> Shown:
        return Shown(self.names, *(getattr(self, one.name)[chosen] for one in fields(self)[1:]))

    def without(self, prefix: str) -> Shown:
        """The same rows without the features whose names begin with `prefix`."""
        kept = [i for i, name in enumerate(self.names) if not name.startswith(prefix)]
        return replace(self, names=tuple(self.names[i] for i in kept), table=self.table[:, kept])


def without_intent(row: Row) -> Row:
    """The same row of an agent that does not say what it means to do."""
    history = replace(row.history, steps=tuple(replace(step, intent=None) for step in row.history.steps))
    return replace(row, proposal=replace(row.proposal, intent=None), history=history)


def describe(
    folder: Path,
    rows: Iterable[Row],
    say: Say = lambda text: None,
    processes: int = 1,
    vary: bool = False,
    eyes: Eyes | None = None,
    both: bool = True,
) -> Shown:
    """The features of every row, with and without its intent. Rows that share a picture should stand together.

    Without `both` rows are described as they were recorded alone. With `vary`, some rows for training are added as they
    would look on other pages. `eyes` may know screens already, where there is one process.
    """
    kept = list(rows)
    asked: list[tuple[Row, str]] = [(row, "") for row in kept]
    if vary:
        asked += ways(kept)
    parts = [asked[at : at + PART] for at in range(0, len(asked), PART)]
    told: list[dict[str, float]] = []
    with contextlib.ExitStack() as stack:
        done: Iterable[list[dict[str, float]]] = map(partial(_told, folder, eyes=eyes, both=both), parts)
        if processes > 1:
            pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
            done = stack.enter_context(pool).map(partial(_told, folder, both=both), parts)
        for part in done:
            told.extend(part)
            say(f"{len(told) // (1 + both)} proposals looked at")
    names = tuple(sorted({name for row in told for name in row}))
    table = np.array([[row.get(name, np.nan) for name in names] for row in told]).reshape(len(told), len(names))
    twice = [
        replace(row, id=f"{row.id}{_VARIANT}{way}" if way else row.id) for row, way in asked for _ in range(1 + both)
    ]
    return Shown(
        names,
        table,
        np.array([row.bad for row in twice]),
        np.array(["" if row.error is None else row.error.value for row in twice]),
        np.array([row.task for row in twice]),
        np.array(
            [number % (1 + both) == 0 and bool(row.proposal.intent) for number, row in enumerate(twice)], dtype=bool
        ),
        np.array([row.split == "held_out" for row in twice]),
        np.array([row.id for row in twice]),
    )


def _told(
    folder: Path,
    rows: Sequence[tuple[Row, str]],
    eyes: Eyes | None = None,
    both: bool = True,
) -> list[dict[str, float]]:
    """The features of each row, as it is and then without its intent."""
    eyes = eyes or Eyes()
    found: list[dict[str, float]] = []
    picture = ""
    image: Pixels | None = None
    for own, way in rows:
        if own.image != picture or image is None:
            picture, image = own.image, own.observation(folder).image
        row, screen = varied(own, image, way) if way else (own, image)
        for shown in (row, without_intent(row)) if both else (row,):
            whole = Observation(shown.goal, screen, shown.step)
            observation, proposal, history = shrunk(whole, shown.proposal, shown.history)
            sight = eyes.see(observation, interest(proposal, history, shown.goal))
            findings = check(observation, proposal, history)
            found.append(features(observation, proposal, history, sight, findings))
    return found
