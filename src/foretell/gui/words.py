"""Words seen on a screen, and whoever can read them. Values and a protocol only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from foretell.gui.observation import Pixels

Box = tuple[int, int, int, int]  # x, y, width, height, in pixels of the whole picture


@dataclass(frozen=True)
class Word:
    """A run of text on one line: a word, or a few that stand close together. `confidence` lies in 0 to 1."""

    text: str
    box: Box
    confidence: float = 1.0


class Reader(Protocol):
    """Reads the text of a picture, or of a box of it; boxes of the words are always those of the whole picture."""

    def read(self, image: Pixels, box: Box | None = None) -> list[Word]: ...
