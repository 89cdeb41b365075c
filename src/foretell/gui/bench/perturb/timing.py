"""Pages that are busy: covers to lay over a page, under which the right step is wrong and waiting is right."""

from __future__ import annotations

import random
from collections.abc import Iterator

from foretell.gui.actions import Action, Kind
from foretell.gui.bench.pages import Page
from foretell.gui.bench.perturb.moment import Moment, Wrong
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Pixels, Proposal

_WHOLE = "position:fixed;inset:0;z-index:99999;display:flex;align-items:center;justify-content:center;font-size:{}px;"
_RING = (
    "<div style='width:{0}px;height:{0}px;border:3px solid #ccc;border-top-color:#27c;border-radius:50%;"
    "margin:4px'></div>"
)
COVERS = {
    "dim": (_WHOLE.format(14) + "background:rgba(0,0,0,.55);color:white", "Loading..."),
    "white": (_WHOLE.format(12) + "background:rgba(255,255,255,.85);color:#333", _RING.format(18) + "Loading..."),
    "box": (
        _WHOLE.format(11),
        "<div style='background:white;border:1px solid #555;padding:10px;color:black'>Please wait...</div>",
    ),
    "bar": (
        "position:fixed;left:0;right:0;bottom:0;z-index:99999;background:#ffe9a8;color:#222;font-size:10px;padding:3px",
        "Loading, please wait...",
    ),
    "ring": (_WHOLE.format(12) + "background:rgba(255,255,255,.6)", _RING.format(30)),
    "work": (
        _WHOLE.format(11) + "background:rgba(240,240,240,.8);color:#124;flex-direction:column",
        "Processing your request<div style='width:90px;height:6px;border:1px solid #124;margin:5px'>"
        "<div style='width:35%;height:6px;background:#38c'></div></div>",
    ),
}
_LAY = """([style, inside]) => {
  const cover = document.createElement('div');
  cover.id = '__busy';
  cover.style.cssText = style;
  cover.innerHTML = inside;
  document.body.appendChild(cover);
}"""
_LIFT = "() => { const cover = document.getElementById('__busy'); if (cover) cover.remove(); }"
WAITS = (
    "wait until the page has loaded",
    "wait for the page to finish loading",
    "wait a moment",
    "wait until it is ready",
)


def hasty(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """The right step, while the page is busy."""
    if moment.planned is None or moment.planned.action.kind is Kind.WAIT:
        return
    cover = rng.choice(tuple(COVERS))
    yield Wrong(Proposal((moment.planned.action,), moment.planned.intent), ErrorClass.TIMING, busy=cover)


def waiting(rng: random.Random) -> Proposal:
    """What is right while a page is busy."""
    return Proposal((Action(Kind.WAIT, seconds=rng.choice((1.0, 2.0, 3.0))),), rng.choice(WAITS))


def covered(page: Page, cover: str) -> Pixels:
    """A screenshot of the page under a cover, which is lifted again."""
    page.evaluate(_LAY, list(COVERS[cover]))
    try:
        return page.screenshot()
    finally:
        page.evaluate(_LIFT)
