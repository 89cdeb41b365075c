"""One browser of each kind for all tests of this folder that a process runs.

Not for all tests of the session: while Playwright runs in a thread, no other event loop can.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from foretell.gui.bench import pages
from foretell.gui.bench.pages import NoChromium, Page
from tests.conftest import NO_CHROMIUM
from tests.gui.adapter_fakes import launching


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def task_page(playwright: Any) -> Iterator[Page]:
    """Skips the test if no browser can be started here; in CI that is a failure."""
    opened = Page(playwright)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pages, "FLAGS", [flag for flag in pages.FLAGS if flag not in pages.FRAME_FLAGS])
            opened.__enter__()
    except NoChromium as fault:
        if os.environ.get("CI"):
            pytest.fail(str(fault))
        pytest.skip(f"{NO_CHROMIUM}: {fault}")
    yield opened
    opened.__exit__(None, None, None)


@pytest.fixture
def page(task_page: Page) -> Page:
    return task_page


@pytest.fixture(scope="package")
def chromium(task_page: Page) -> None:
    """For a test that starts a browser itself, which it has to do in a thread of its own."""


@pytest.fixture(scope="package")
def browser(playwright: Any, chromium: None) -> Iterator[Any]:
    """Chromium by way of Playwright, as users have it."""
    opened = playwright.chromium.launch(**launching())
    yield opened
    opened.close()
