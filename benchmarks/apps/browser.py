"""A web application in a headless browser at one size and theme, as a stage for walks. Only loopback can be reached."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.apps.application import Application
from benchmarks.apps.moment import Element
from benchmarks.apps.walk import Seen
from foretell.gui.actions import Action
from foretell.gui.adapters.playwright import PlaywrightScreen
from foretell.gui.adapters.screen import ScreenError
from foretell.gui.bench.chromium import find_chromium
from foretell.gui.observation import Pixels

READ = (Path(__file__).parent / "elements.js").read_text("utf-8")
GRID_PX = 32
TIMEOUT_MS = 45_000
CHROMIUM = ["--no-sandbox", "--force-color-profile=srgb", "--disable-extensions", "--disable-background-networking"]
_LOOPBACK = re.compile(r"^(https?|wss?)://127\.0\.0\.1[:/]|^(data|blob|about):")
_RING = "<div style='width:{0}px;height:{0}px;border:4px solid #8886;border-top-color:{1};border-radius:50%'></div>"
_TOP = "position:fixed;inset:0;z-index:2147483647;font:15px sans-serif;"
_OVER = _TOP + "display:flex;align-items:center;justify-content:center;"
_SKELETON = ((34, 40), (16, 92), (16, 88), (16, 60), (120, 92), (16, 90), (16, 45), (120, 92))
COVERS = (
    (_OVER + "background:{ground};flex-direction:column;gap:14px;color:{ink}", _RING.format(44, "#d63")),
    (_OVER + "background:#0009;color:#fff;gap:12px", _RING.format(26, "#fff") + "<span>Saving changes</span>"),
    (_OVER + "background:{ground};color:{ink}", "<span style='font-size:18px'>One moment please</span>"),
    (
        _TOP + "display:flex;background:{ground};flex-direction:column;padding:60px;gap:18px",
        "".join(
            f"<div style='height:{h}px;width:{w}%;background:#8883;border-radius:6px'></div>" for h, w in _SKELETON
        ),
    ),
    (
        _TOP + "background:{veil};color:{ink}",
        "<div style='height:4px;width:37%;background:#2a7'></div>"
        "<p style='position:absolute;right:20px;bottom:12px'>Fetching data</p>",
    ),
)
_LAY = """([style, inside]) => {
  const own = getComputedStyle(document.body).backgroundColor;
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const ground = own.startsWith('rgba(0, 0, 0, 0') ? (dark ? 'rgb(28, 28, 31)' : 'rgb(255, 255, 255)') : own;
  const light = ground.match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b, 0) > 380;
  const cover = document.createElement('div');
  cover.id = 'busy-cover';
  cover.style.cssText = style.replaceAll('{ground}', ground).replaceAll('{ink}', light ? '#333' : '#ddd')
    .replaceAll('{veil}', light ? '#fffb' : '#000b');
  cover.innerHTML = inside;
  document.documentElement.appendChild(cover);
}"""
_LIFT = "() => document.getElementById('busy-cover')?.remove()"


class BrowserStage:
    """The page of an application in a context of its own."""

    def __init__(self, page: Any, root: str, application: Application) -> None:
        self.page, self.root, self.application = page, root, application
        self.screen = PlaywrightScreen(page, settle_s=0.0)

    def reset(self, path: str) -> None:
        self.page.goto(self.root + path, timeout=TIMEOUT_MS, wait_until="load")
        self._rest()
        if self.application.login and self.page.locator(self.application.login[0][0]).first.is_visible():
            for selector, text in self.application.login:
                self.page.locator(selector).first.fill(text)
            self.page.keyboard.press("Enter")
            self.page.locator(selector).first.wait_for(state="hidden", timeout=TIMEOUT_MS)
            self._rest()
            if path != self.application.paths[0]:
                self.page.goto(self.root + path, timeout=TIMEOUT_MS, wait_until="load")
        self.page.wait_for_timeout(500)
        self._rest()

    def _rest(self) -> None:
        try:
            self.page.wait_for_load_state("networkidle", timeout=2500)
        except Exception as error:
            if "Timeout" not in type(error).__name__:
                raise

    def see(self) -> Seen:
        told = self.page.evaluate(READ, GRID_PX)
        elements = tuple(Element.from_dict(one) for one in told["elements"])
        grid = tuple(tuple(row) for row in told["grid"])
        return Seen(elements, grid, told["step"], tuple(told["scroll"]), told["dialog"], told["text"])

    def pixels(self) -> Pixels:
        return self.screen.observe()

    def perform(self, action: Action) -> None:
        self.screen.perform(action)
        self.page.wait_for_timeout(200)
        self._rest()

    def busy(self, rng: random.Random) -> Pixels | None:
        self.page.evaluate(_LAY, list(rng.choice(COVERS)))
        try:
            return self.pixels()
        except ScreenError:
            return None
        finally:
            self.page.evaluate(_LIFT)


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM)
        try:
            yield one
        finally:
            one.close()


@contextmanager
def stage(
    chromium: Any, root: str, application: Application, size: tuple[int, int], theme: str
) -> Iterator[BrowserStage]:
    """The application in a fresh context; requests that leave this machine are refused."""
    context = chromium.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    context.route(lambda address: not _LOOPBACK.match(address), lambda route: route.abort())
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    page.on("popup", lambda tab: tab.close())
    try:
        yield BrowserStage(page, root, application)
    finally:
        context.close()
