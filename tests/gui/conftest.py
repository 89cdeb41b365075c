"""One browser for all tests of a module that need real pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from foretell.gui.bench.pages import NoChromium, Page
from tests.gui.adapter_fakes import launching


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    browser = Page()
    try:
        browser.__enter__()
    except NoChromium as error:
        pytest.fail(str(error))
    try:
        yield browser
    finally:
        browser.__exit__(None, None, None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium by way of Playwright, as users have it."""
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            opened = playwright.chromium.launch(**launching())
        except Error as error:
            raise NoChromium(str(error).splitlines()[0]) from None
        yield opened
        opened.close()
