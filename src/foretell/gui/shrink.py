"""Very large screens made smaller before they are looked at: what an 8K screen shows, it shows in large letters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from foretell.gui.actions import Action, Point
from foretell.gui.history import History
from foretell.gui.observation import Observation, Pixels, Proposal

MOST_PIXELS = 2560 * 1600


def factor_of(size: tuple[int, int]) -> int:
    """By how much a screen of a size is shrunk; 1 for all but very large ones."""
    return max(1, math.ceil(math.sqrt(size[0] * size[1] / MOST_PIXELS)))


def shrunk(observation: Observation, proposal: Proposal, history: History) -> tuple[Observation, Proposal, History]:
    """The same on a smaller screen, points included; as it is where the screen is not very large."""
    factor = factor_of(observation.size)
    if factor == 1:
        return observation, proposal, history
    earlier = None if observation.earlier is None else _smaller(observation.earlier, factor)
    seen = replace(observation, image=_smaller(observation.image, factor), earlier=earlier)
    actions = tuple(_nearer(action, factor) for action in proposal.actions)
    steps = tuple(replace(step, action=_nearer(step.action, factor)) for step in history.steps)
    return seen, replace(proposal, actions=actions), replace(history, steps=steps)


def _smaller(image: Pixels, factor: int) -> Pixels:
    import cv2

    height, width = image.shape[:2]
    size = (max(1, width // factor), max(1, height // factor))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _nearer(action: Action, factor: int) -> Action:
    points = [None if p is None else Point(p.x / factor, p.y / factor) for p in (action.point, action.to)]
    return replace(action, point=points[0], to=points[1], dx=action.dx / factor, dy=action.dy / factor)
