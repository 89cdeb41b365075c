"""Where the browser of the bench is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

PLACES = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "google-chrome", "google-chrome-stable")


class NoChromium(RuntimeError):
    """There is no Chromium to show pages in; the sentence says how to get one."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(
            "No Chromium was found. Install the apt package `chromium`, or run `playwright install chromium`, or set "
            "FORETELL_CHROMIUM to the path of a Chromium or Chrome." + (f" ({detail})" if detail else "")
        )


def find_chromium() -> Path | None:
    """The first Chromium that is there: FORETELL_CHROMIUM, then the usual places. None leaves it to playwright's own.

    A FORETELL_CHROMIUM that names nothing is an error: whoever set it wants that one.
    """
    named = os.environ.get("FORETELL_CHROMIUM")
    if named:
        at = shutil.which(named)
        if at is None:
            raise NoChromium(f"FORETELL_CHROMIUM is {named}, which cannot be run")
        return Path(at)
    found = next((at for place in PLACES if (at := shutil.which(place))), None)
    return Path(found) if found else None
