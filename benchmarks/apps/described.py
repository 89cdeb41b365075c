"""Features of every proposal of a folder of real applications, worked out once and kept beside it.

    python -m benchmarks.apps.described DATA/dev [NAME ...]
    python -m benchmarks.apps.described DATA/heldout       # says how many were looked at, and nothing of them

One file for each application (`described/NAME.npz`), remade where its rows or the code that makes features changed;
what was read off the pictures is kept too (`described/lines.npz`), so that doing it again costs little.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import foretell.gui
from benchmarks.apps.evidence import Recorded, read_details
from benchmarks.apps.label import DETAILS
from foretell.gui import ocr
from foretell.gui.dataset import Row, read_rows
from foretell.gui.described import Shown, describe, without_intent
from foretell.gui.evidence import Evidence
from foretell.gui.evidence_features import PREFIX, page_features
from foretell.gui.sight import Eyes

FOLDER, LINES = "described", "lines.npz"
_NO_FEATURES = (
    "adapters",
    "bench",
    "parse",
    "critic",
    "guard",
    "train",
    "trace",
    "demo",
    "vision",
    "resc",
    "exper",
    "evid",
    "described",
)


class KeptReader(ocr.Ocr):
    """A reader that remembers lines from one run to the next, all of them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._kept = path
        if path.is_file():
            with np.load(path, allow_pickle=False) as file:
                rows = zip(file["digests"], file["texts"].tolist(), file["sure"].tolist(), strict=True)
                self._lines.update((digest.tobytes(), (text, sure)) for digest, text, sure in rows)

    def read_lines(self, image: Any, lines: tuple[Any, ...]) -> list[Any]:
        ocr._REMEMBERED_LINES = max(ocr._REMEMBERED_LINES, 2 * len(self._lines) + 4096)
        return super().read_lines(image, lines)

    def save(self) -> None:
        if not self._lines:
            return
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        digests = np.array([np.frombuffer(key, dtype=np.uint8) for key in self._lines])
        texts = np.array([text for text, _ in self._lines.values()])
        np.savez_compressed(
            self._kept, digests=digests, texts=texts, sure=np.array([sure for _, sure in self._lines.values()])
        )


@cache
def code_digest() -> str:
    """A short hash of the code that makes features."""
    found = hashlib.sha256()
    root = Path(foretell.gui.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if not str(path.relative_to(root)).startswith(_NO_FEATURES):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def digest_of(rows: Iterable[Row]) -> str:
    """A short hash of rows and of the code that describes them."""
    found = hashlib.sha256(code_digest().encode())
    for row in rows:
        found.update(repr(row.to_dict()).encode())
    return found.hexdigest()[:16]


def described(folder: Path, rows: Sequence[Row], say: Any = print, variant: str = "") -> Shown:
    """The rows as the models see them, application after application, evidence included.

    Those of development applications are there twice, with and without their intents; others as they were recorded.
    Rows that were changed are kept under the name of a `variant`.
    """
    reader = KeptReader(folder / FOLDER / LINES)
    ask = Recorded(folder, read_details(folder, DETAILS)).of
    parts = []
    for name in sorted({row.task for row in rows}):
        own = sorted((row for row in rows if row.task == name), key=lambda row: row.image)
        path, digest = folder / FOLDER / variant / f"{name}.npz", digest_of(own)
        found = load(path, digest)
        if found is None:
            found = describe(folder, own, eyes=Eyes(reader), both=own[0].split == "train")
            reader.save()
            save(path, found, digest)
        parts.append(with_page(found.without(PREFIX), own, ask))
        say(f"{len(own)} proposals of {name}")
    return joined(parts)


def with_page(shown: Shown, rows: Sequence[Row], ask: Callable[[Row], Evidence]) -> Shown:
    """The table with what applications said of themselves; that costs little and is never kept."""
    times = len(shown.bad) // len(rows)
    told = []
    for row in rows:
        evidence = ask(row)
        for one in (row, without_intent(row))[:times]:
            action = one.proposal.actions[0] if one.proposal.actions else None
            told.append(page_features(evidence, action, one.goal, one.proposal.intent, one.history))
    names = tuple(told[0])
    table = np.array([[cells[name] for name in names] for cells in told])
    return replace(shown, names=shown.names + names, table=np.concatenate((shown.table, table), axis=1))


def joined(parts: Sequence[Shown]) -> Shown:
    """Rows of several tables as one; features that a table lacks are not known there."""
    names = tuple(sorted({name for part in parts for name in part.names}))
    tables = []
    for part in parts:
        at = {name: i for i, name in enumerate(part.names)}
        table = np.full((len(part.bad), len(names)), np.nan)
        for column, name in enumerate(names):
            if name in at:
                table[:, column] = part.table[:, at[name]]
        tables.append(table)
    rest = (np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Shown)[2:])
    return Shown(names, np.concatenate(tables), *rest)


def save(path: Path, shown: Shown, digest: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {one.name: np.asarray(getattr(shown, one.name)) for one in fields(Shown)}
    np.savez_compressed(path, digest=np.array(digest), **arrays)


def load(path: Path, digest: str) -> Shown | None:
    """The table in a file; None where there is none of these rows by this code."""
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        if str(file["digest"]) != digest:
            return None
        return Shown(tuple(file["names"].tolist()), *(file[one.name] for one in fields(Shown)[1:]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="these applications alone")
    options = parser.parse_args(arguments)
    rows = [row for row in read_rows(options.folder) if not options.names or row.task in options.names]
    described(options.folder, rows)
    print(f"{len(rows)} proposals")


if __name__ == "__main__":
    main()
