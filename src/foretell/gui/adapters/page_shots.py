"""Screenshots of a page that the page cannot notice. Pure but for the messages that it asks to be sent.

Playwright hides the caret of a field while it takes its screenshot, by a stylesheet that the page's scripts can see: a
page could look different in pictures only. Chromium is therefore asked for a picture of its own, which leaves no trace
in the page; Playwright's only serves to tell the caret, which would be read as a letter.
"""

from __future__ import annotations

import numpy as np

from foretell.gui.adapters.page_world import Messages
from foretell.gui.observation import Pixels

_CARET_PX = (4, 64)  # the most that a caret is wide and tall, in the page's own pixels


def unnoticed(size: tuple[float, float] | None) -> Messages:
    """The messages of Chromium's protocol for a picture of what is in view (base64); `size` is the viewport's."""
    from playwright.sync_api import Error

    try:
        metrics = yield "Page.getLayoutMetrics", {}
        view = metrics["cssVisualViewport"]
        width, height = size or (view["clientWidth"], view["clientHeight"])
        clip = {"x": view["pageX"], "y": view["pageY"], "width": width, "height": height, "scale": 1}
        answer = yield "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": False}
        return answer["data"]
    except (KeyError, TypeError):  # an answer that is none of the protocol's
        raise Error("the page gives no picture") from None


def without_caret(picture: Pixels, quiet: Pixels, scale: float) -> Pixels:
    """The `picture` of a page, or the `quiet` one of Playwright where they differ in no more than a caret.

    Pictures of different sizes are of different moments or views: then the quiet one has to do.
    """
    if picture.shape != quiet.shape:
        return quiet
    rows, columns = np.nonzero((picture != quiet).any(axis=2))
    if not rows.size:
        return quiet
    wide, tall = int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1
    is_caret = wide <= _CARET_PX[0] * scale and tall <= _CARET_PX[1] * scale
    return quiet if is_caret else picture
