"""What a critique costs on dense pages at 1920 x 1080: a table, a mailbox, an issue tracker, documentation.

    python -m benchmarks.gui_dense                        # writes results/gui_dense.json

Every judged screen is new to the critic. CPU time is that of the whole process, both threads of the reader included;
beside other work on the machine only that figure means something, and the load is recorded. `two_cores_ms` is the clock
time that two free cores would need: the main thread's CPU time, and half of that of the reader's two threads.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe as machine
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.playwright import PlaywrightScreen
from foretell.gui.bench.chromium import find_chromium
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import SHIPPED_LARGE, CriticModel
from foretell.gui.elements import look
from foretell.gui.history import History
from foretell.gui.observation import Observation, Proposal
from foretell.gui.ocr import Ocr, strip_width
from foretell.gui.sight import Eyes

RESULTS = Path(__file__).parent / "results" / "gui_dense.json"
SIZE = (1920, 1080)
STYLES = {"bright": "background:#fff;color:#222;", "dark": "background:#181a1b;color:#ddd;"}
_CELLS = ("Harbour", "Meadow", "Granite", "Willow", "Copper", "Saffron", "Juniper", "Walnut")
_WORDS = "The committee reviewed the figures for the northern stations and asked for a revised plan by the end of May."


def table() -> str:
    rows = "".join(
        f"<tr><td>{r}</td>"
        + "".join(f"<td>{_CELLS[(r * 3 + c) % 8]} {r * c + 7}</td>" for c in range(8))
        + f"<td><button id=b{r}>Delete</button></td></tr>"
        for r in range(32)
    )
    return f"<h2>Stock</h2><button id=n>New entry</button> <input id=s placeholder=Search><table>{rows}</table>"


def mailbox() -> str:
    folders = "".join(f"<p><a id=f{i} href=#>{name} folder</a></p>" for i, name in enumerate(_CELLS))
    mails = "".join(
        f"<p><input type=checkbox> <b>{_CELLS[i % 8]} {i}</b> &nbsp; <a id=m{i} href=#>Minutes of meeting {i}</a> "
        f"<span style='color:#888'>{_WORDS}</span></p>"
        for i in range(30)
    )
    return f"<div style='float:left;width:180px'><button id=w>Write</button>{folders}</div><div>{mails}</div>"


def issues() -> str:
    rows = "".join(
        f"<div style='border:1px solid #777;padding:3px;margin:2px'><a id=i{i} href=#>Crash when {_CELLS[i % 8]} {i} "
        f"is opened twice</a> <small>In Progress, opened {i} days ago by user{i}, {i % 5} comments</small> "
        f"<button id=c{i}>Close</button></div>"
        for i in range(28)
    )
    return f"<h2>Issues</h2><button id=n>New issue</button> <a id=l href=#>Labels</a>{rows}"


def documentation() -> str:
    chapters = "".join(f"<p><a id=k{i} href=#>Chapter {i}: {name}</a></p>" for i, name in enumerate(_CELLS))
    text = "".join(f"<h3>Section {i}</h3><p>{_WORDS} {_WORDS} {_WORDS}</p>" for i in range(9))
    return f"<div style='float:left;width:220px'>{chapters}</div><div style='margin-left:240px'>{text}</div>"


PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "table": (
        table(),
        {"#b5": "click 'Delete' in the row of entry 5", "#n": "click New entry", "#s": "click the search"},
    ),
    "mailbox": (mailbox(), {"#m9": "open 'Minutes of meeting 9'", "#w": "click Write", "#f3": "click 'Willow folder'"}),
    "issues": (issues(), {"#i7": "open the issue on Walnut 7", "#c12": "click Close", "#l": "click the Labels link"}),
    "documentation": (documentation(), {"#k2": "click 'Chapter 2: Granite'", "#k6": "open Chapter 6"}),
}


def measured(browser: Any, model: CriticModel, page: str, style: str) -> list[dict[str, Any]]:
    """Each click of a page, judged on a screen that was never seen."""
    html, clicks = PAGES[page]
    tab = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    tab.set_content(f'<body style="{STYLES[style]}font:14px sans-serif;margin:12px">{html}</body>')
    image = PlaywrightScreen(tab).observe()
    boxes = {place: tab.locator(place).bounding_box() for place in clicks}
    tab.close()
    reader = Ocr()
    reader.read(image[:40, :200])  # the network is loaded once in a process's life
    found = []
    for place, intent in clicks.items():
        box = boxes[place]
        point = Point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        reader.forget()
        critic = EmbeddedCritic(model, Eyes(reader))
        proposal = Proposal((Action(Kind.CLICK, point),), intent)
        began_s, began_cpu_s, began_main_s = time.perf_counter(), time.process_time(), time.thread_time()
        judgement = critic.judge(Observation("Tidy up", image), proposal, History())
        wall_ms, cpu_ms = 1e3 * (time.perf_counter() - began_s), 1e3 * (time.process_time() - began_cpu_s)
        main_ms = 1e3 * (time.thread_time() - began_main_s)
        found.append(
            {
                "page": page,
                "style": style,
                "place": place,
                "p_bad": round(judgement.p_bad, 4),
                "text_px": sum(map(strip_width, look(image).lines)),
                "wall_ms": round(wall_ms),
                "cpu_ms": round(cpu_ms),
                "two_cores_ms": round(main_ms + (cpu_ms - main_ms) / 2),
            }
        )
    return found


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    model = CriticModel.shipped(SHIPPED_LARGE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        rows = [row for page in PAGES for style in STYLES for row in measured(browser, model, page, style)]
        browser.close()
    quantiles = {
        name: {f"p{share:g}": round(float(np.percentile([row[name] for row in rows], share))) for share in (50, 95)}
        for name in ("wall_ms", "cpu_ms", "two_cores_ms")
    }
    result = {"machine": machine(), "load": round(os.getloadavg()[0], 1), "size": SIZE, **quantiles, "clicks": rows}
    options.into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print({key: value for key, value in result.items() if key not in ("machine", "clicks")})


if __name__ == "__main__":
    main()
