"""What a critic is shown: the goal, the screen, and what the agent proposes to do. Pixels only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from foretell.gui.actions import ENDINGS, Action, Kind, Platform

Pixels = NDArray[np.uint8]  # (height, width, 3), RGB
Sort = Literal["step", "ending", "drag"]
SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True, eq=False)
class Observation:
    """The screen before a step. `step` counts from 0."""

    goal: str
    image: Pixels
    step: int = 0
    platform: Platform = "web"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.shape[1], self.image.shape[0]


@dataclass(frozen=True)
class Proposal:
    """What an agent wants to do next: usually one action, at times several to be done one after the other.

    `intent` is what it says it does ("click the Submit button"), where it says so. `raw` is the text as it came.
    `fault` is why nothing could be read from that text; there are no actions then.
    """

    actions: tuple[Action, ...]
    intent: str | None = None
    raw: str = ""
    fault: str | None = None

    @property
    def sort(self) -> Sort:
        """Which of the sorts of proposals it is that thresholds are learnt for."""
        first = self.actions[0].kind if self.actions else None
        return "ending" if first in ENDINGS else "drag" if first is Kind.DRAG else "step"
