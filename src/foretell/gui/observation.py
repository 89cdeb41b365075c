"""What a critic is shown: the goal, the screen, and what the agent proposes to do. Pixels only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from foretell.gui.actions import ENDINGS, Action, Kind, Platform

if TYPE_CHECKING:
    from foretell.gui.evidence import Evidence

Pixels = NDArray[np.uint8]  # (height, width, 3), RGB
Sort = Literal["step", "ending", "drag"]
SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True, eq=False)
class Observation:
    """The screen before a step. `step` counts from 0.

    `earlier` is the screen before the last action, where it is known. `settled` says whether the screen had come to
    rest when it was looked at; None where nobody looked twice. `evidence` is what the page says of itself (an
    `evidence.Evidence`), where it was asked.

    A picture of PIL, a grey one or one with an alpha channel becomes plain RGB; ValueError where it is no picture.
    """

    goal: str
    image: Pixels
    step: int = 0
    platform: Platform = "web"
    earlier: Pixels | None = None
    settled: bool | None = None
    evidence: Evidence | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", as_pixels(self.image))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.shape[1], self.image.shape[0]


@dataclass(frozen=True)
class Proposal:
    """What an agent wants to do next: usually one action, at times several to be done one after the other.

    `intent` is what it says it does ("click the Submit button"), where it says so. `raw` is the text as it came.
    `fault` is why nothing could be read from that text; there are no actions then. `closing` marks a plain message
    instead of a call, with which agents that have no call for it end the task. `secret` says that what it types must
    not be seen.
    """

    actions: tuple[Action, ...]
    intent: str | None = None
    raw: str = ""
    fault: str | None = None
    closing: bool = False
    secret: bool = False

    @property
    def ends(self) -> bool:
        """Whether the agent is done after it. An answer alone does not say so: many agents answer, then terminate."""
        return self.closing or any(action.kind is Kind.TERMINATE for action in self.actions)

    @property
    def placed(self) -> bool:
        """Whether all its points are somewhere: no coordinate is infinite, and none is no number."""
        return all(is_placed(action) for action in self.actions)

    @property
    def sort(self) -> Sort:
        """Which of the sorts of proposals it is that thresholds are learnt for."""
        return self.sort_of(0)

    def sort_of(self, index: int) -> Sort:
        """Which of the sorts one of its actions is; "step" where there is no such action."""
        kind = self.actions[index].kind if 0 <= index < len(self.actions) else None
        return "ending" if kind in ENDINGS else "drag" if kind is Kind.DRAG else "step"


def is_placed(action: Action) -> bool:
    """Whether the action's points are somewhere, as far as it has any."""
    points = [point for point in (action.point, action.to) if point is not None]
    return all(math.isfinite(point.x) and math.isfinite(point.y) for point in points)


def as_pixels(image: Any) -> Pixels:
    """A picture as RGB, the same array where it is that already; ValueError where it cannot be made so."""
    if hasattr(image, "convert"):  # a picture of PIL
        image = np.asarray(image.convert("RGB"))
    if not isinstance(image, np.ndarray):
        raise ValueError(f"the picture must be an array or a PIL image, got {type(image).__name__}")
    if image.dtype != np.uint8:
        raise ValueError(f"the picture must hold bytes (uint8, 0 to 255), got {image.dtype}: convert it first")
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.shape[2] not in (1, 3, 4):
        raise ValueError(f"the picture must be (height, width, 3), got {image.shape}")
    if image.shape[2] == 1:
        image = image.repeat(3, axis=2)
    return image if image.shape[2] == 3 else np.ascontiguousarray(image[:, :, :3])
