"""A look at a screen once it has come to rest, awaited or not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from foretell.gui.actions import Point
from foretell.gui.adapters.rest import LOOK_EVERY_S, Rest
from foretell.gui.adapters.screen import AsyncScreen, Screen
from foretell.gui.observation import Pixels


@dataclass(frozen=True, eq=False)
class Look:
    """A screen, and whether it had come to rest; `settled` is None where nobody waited for it."""

    image: Pixels
    settled: bool | None = None


def looked(screen: Screen, before: Pixels | None, point: Point | None = None) -> Look:
    """The screen: as it is now, or once it has come to rest after an action that began at `before`.

    `point` is where the pointer was left. A screen that can tell whether a page is being loaded has `loading()`.
    """
    rest = _rest(screen, before, point)
    image = screen.observe()
    loading: Callable[[], bool] = getattr(screen, "loading", lambda: False)
    while rest is not None and not rest.enough(image, loading()):
        time.sleep(LOOK_EVERY_S)
        image = screen.observe()
    return Look(image, None if rest is None else rest.settled)


async def looked_async(screen: AsyncScreen, before: Pixels | None, point: Point | None = None) -> Look:
    """The same, awaited."""
    rest = _rest(screen, before, point)
    image = await screen.observe()
    loading: Callable[[], Awaitable[bool]] = getattr(screen, "loading", _never)
    while rest is not None and not rest.enough(image, await loading()):
        await asyncio.sleep(LOOK_EVERY_S)
        image = await screen.observe()
    return Look(image, None if rest is None else rest.settled)


async def _never() -> bool:
    return False


def _rest(screen: Screen | AsyncScreen, before: Pixels | None, point: Point | None) -> Rest | None:
    settle_s = float(getattr(screen, "settle_s", 0.0))
    return Rest(before, settle_s, point=point) if before is not None and settle_s > 0.0 else None
