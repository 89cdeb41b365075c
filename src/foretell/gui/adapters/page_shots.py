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


def unnoticed() -> Messages:
    """The messages of Chromium's protocol for a picture of what is in view (base64).

    It asks for no part of the view: for a clip Chromium gives the page a screen of another size, which the page's
    styles follow and its scripts can see.
    """
    from playwright.sync_api import Error

    try:
        answer = yield "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": False}
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
