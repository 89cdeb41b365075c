"""What a critic is shown: the goal, the screen, and what the agent proposes to do. Pixels only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.gui.actions import ENDINGS, Action, Platform

Pixels = NDArray[np.uint8]  # (height, width, 3), RGB


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
    def ends(self) -> bool:
        """Whether it would end the task."""
        return bool(self.actions) and self.actions[0].kind in ENDINGS
