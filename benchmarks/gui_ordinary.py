"""The shipped GUI critic on pages that are nothing like those it was trained on: a form, a shop, a notice.

    python -m benchmarks.gui_ordinary                     # writes results/gui_ordinary.json

Each right click is judged, and a stray one in the corner of the same screen: at four sizes, bright and dark. How often
right ones are interrupted at the bound of 2 %, and how well P(bad) tells the two apart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gui_critic import auroc
from benchmarks.machine import describe as machine
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.playwright import PlaywrightScreen
from foretell.gui.bench.chromium import find_chromium
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import CriticModel
from foretell.gui.history import History
from foretell.gui.observation import Observation, Proposal

RESULTS = Path(__file__).parent / "results" / "gui_ordinary.json"
BOUND = 0.02
SIZES = ((480, 630), (800, 600), (1280, 720), (1920, 1080))
STYLES = {"bright": "", "dark": "background:#1e1e1e;color:#eee;"}
CONTACT = """<body style="{0}font:16px sans-serif;margin:40px"><h2>Contact us</h2><p>Name <input id=n></p>
<p>Email <input id=e></p><p>Message<br><textarea id=m rows=4 cols=40></textarea></p>
<p><label><input type=checkbox id=c> I agree to the terms</label></p>
<button id=s>Send message</button> <button id=x>Cancel</button></body>"""
SHOP = (
    '<body style="{0}font:15px sans-serif;margin:20px"><nav><a href=#>Home</a> &nbsp; <a id=b href=#>Basket (0)</a>'
    "</nav><h1>Laptops</h1>"
    + "".join(
        f'<div style="display:inline-block;width:180px;border:1px solid #ccc;margin:8px;padding:10px"><h3>Laptop model '
        f"{i}</h3><p>{8 * i + 8} GB memory</p><p>${399 + 100 * i}.00</p><button id=b{i}>Add to cart</button></div>"
        for i in range(4)
    )
)
NOTICE = """<body style="{0}font:17px sans-serif;margin:15vh auto;width:60vw"><h1>Example page</h1>
<p>This page is for use in examples, without needing permission. Avoid use in operations</p>
<p><a href=# id=m>More information...</a></p></body>"""
LOGIN = """<body style="{0}font:16px sans-serif;margin:60px"><h1>Welcome back</h1>
<p><input id=u placeholder="Email"></p>
<p><input id=p type=password placeholder="Password"></p><p><button id=l>Log in</button></p>
<p><a id=f href=#>Forgot password?</a></p><hr><p>New here?</p><button id=k>Create account</button></body>"""
RIGHT = (
    (CONTACT, "Send a message from Ann with the email ann@example.org", "#n", "click the name field"),
    (CONTACT, "Send a message from Ann with the email ann@example.org", "#e", "click the email field"),
    (CONTACT, "Send a message from Ann with the email ann@example.org", "#m", None),
    (CONTACT, "Agree to the terms", "#c", "tick the box to agree to the terms"),
    (CONTACT, "Cancel the form", "#x", "click Cancel"),
    (SHOP, "Add laptop model 3 to the cart", "#b3", "click Add to cart below Laptop model 3"),
    (SHOP, "Add laptop model 3 to the cart", "#b3", None),
    (SHOP, "Open the basket", "#b", "click the Basket link"),
    (NOTICE, "Open the page with more information", "#m", "click the link 'More information'"),
    (LOGIN, "Create account", "#k", "click the button 'Create account'"),
    (LOGIN, "Log in as ann@example.org", "#u", "click the email field"),
    (LOGIN, "Reset the password", "#f", "click 'Forgot password?'"),
)


@dataclass(frozen=True)
class Judged:
    """A right click and a stray one on one screen, and whether the right one would have been interrupted.

    `ms` is what its critique took, on a screen not seen before.
    """

    size: tuple[int, int]
    style: str
    goal: str
    place: str
    stated: bool
    right: float
    stray: float
    interrupted: bool
    ms: float


def judged(browser: Any, critic: EmbeddedCritic, size: tuple[int, int], style: str) -> Iterator[Judged]:
    """Every right click whose place is in sight at this size."""
    limit = critic.threshold(BOUND)
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    for html, goal, place, intent in RIGHT:
        page.set_content(html.format(STYLES[style]))
        box = page.locator(place).bounding_box()
        point = Point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        if not (point.x < size[0] and point.y < size[1]):
            continue
        seen = Observation(goal, PlaywrightScreen(page).observe())
        corner = Point(size[0] - 5.0, size[1] - 5.0)
        began_s = time.perf_counter()
        own = critic.judge(seen, Proposal((Action(Kind.CLICK, point),), intent), History())
        ms = 1000.0 * (time.perf_counter() - began_s)
        stray = critic.judge(seen, Proposal((Action(Kind.CLICK, corner),), intent), History()).p_bad
        stated = intent is not None
        stops = not own.advice and limit.cleared_by(own.p_bad, stated=stated, model=own.model)
        yield Judged(size, style, goal, place, stated, own.p_bad, stray, stops, ms)
    page.close()


def _median_ms(rows: list[Judged], size: tuple[int, int]) -> int:
    return round(float(np.median([one.ms for one in rows if one.size == size])))


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="another critic's model than the shipped one")
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    critic = EmbeddedCritic(None if options.model is None else CriticModel.load(options.model), pictures=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        rows = [one for size in SIZES for style in STYLES for one in judged(browser, critic, size, style)]
        browser.close()
    right, stray = (np.array([getattr(one, name) for one in rows]) for name in ("right", "stray"))
    both, bad = np.concatenate([right, stray]), np.repeat([False, True], len(rows))
    result = {
        "machine": machine(),
        "bound": BOUND,
        "right": len(rows),
        "interrupted": sum(one.interrupted for one in rows),
        "median_right": round(float(np.median(right)), 4),
        "median_stray": round(float(np.median(stray)), 4),
        "auroc": round(auroc(both, bad), 4),
        "median_ms": {f"{width} x {height}": _median_ms(rows, (width, height)) for width, height in SIZES},
        "clicks": [asdict(one) for one in rows],
    }
    options.into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print({key: value for key, value in result.items() if key not in ("machine", "clicks")})


if __name__ == "__main__":
    main()
