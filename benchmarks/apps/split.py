"""Which applications are for development and which are held out: one seeded draw, web and desktop apart.

    python -m benchmarks.apps.split                        # prints the two lists

Made before any application was started, and never drawn again: an application that cannot be built stays in its half
and is listed as missing. A new application joins by a draw of its own under another seed.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"
FILE = RESULTS / "apps_split.json"
SEED = "real applications, first draw"
WEB = (
    "adminer", "dash", "datasette", "django_admin", "flask_admin", "formio", "fullcalendar", "gradio", "grapesjs",
    "handsontable", "jupyterlab", "klaus", "locust", "maildev", "marimo", "mlflow", "node_red", "optuna_dashboard",
    "panel", "radicale", "roundup", "sqlite_web", "streamlit", "supervisor", "survey_creator", "swagger_ui",
    "syncthing", "tabulator", "tiddlywiki", "tinymce", "toastui_calendar", "trac", "transmission", "x_spreadsheet",
)  # fmt: skip
DESKTOP = ("galculator", "gedit", "gnumeric", "mousepad", "osmo", "thunar", "zim")


def draw() -> dict[str, list[str]]:
    """The two halves; of an odd number of applications the larger part is for development."""
    rng = random.Random(SEED)
    development: list[str] = []
    held_out: list[str] = []
    for names in (WEB, DESKTOP):
        order = rng.sample(names, len(names))
        middle = (len(order) + 1) // 2
        development += order[:middle]
        held_out += order[middle:]
    return {"development": sorted(development), "held_out": sorted(held_out)}


def is_held_out(name: str) -> bool:
    """Whether an application of the lists is held out. Raises ValueError for any other name."""
    if name not in WEB + DESKTOP:
        raise ValueError(f"{name!r} is not one of the applications: {', '.join(WEB + DESKTOP)}")
    return name in draw()["held_out"]


def main() -> None:
    FILE.write_text(json.dumps({"seed": SEED, **draw()}, indent=1) + "\n", encoding="utf-8")
    print(FILE.read_text("utf-8"))


if __name__ == "__main__":
    main()
