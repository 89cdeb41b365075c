"""One browser for all tests of a module that need real pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from foretell.gui.bench.pages import NoChromium, Page
from tests.conftest import NO_CHROMIUM
from tests.gui.adapter_fakes import launching


@pytest.fixture(scope="session")
def chromium() -> None:
    """Skips the test if no browser can be started here; in CI that is a failure."""
    with ThreadPoolExecutor(1) as apart:  # Playwright's synchronous interface allows one event loop per thread
        fault = apart.submit(_browser_fault).result()
    if fault and os.environ.get("CI"):
        pytest.fail(fault)
    if fault:
        pytest.skip(f"{NO_CHROMIUM}: {fault}")


def _browser_fault() -> str:
    """Why no browser can be started; empty if one can."""
    from playwright.sync_api import Error, sync_playwright

    try:
        with sync_playwright() as playwright:
            playwright.chromium.launch(**launching()).close()
    except NoChromium as error:
        return str(error)
    except Error as error:
        return str(NoChromium(str(error).splitlines()[0]))
    return ""


@pytest.fixture(scope="module")
def page(chromium: None) -> Iterator[Page]:
    with Page() as opened:
        yield opened


@pytest.fixture(scope="module")
def browser(chromium: None) -> Iterator[Any]:
    """Chromium by way of Playwright, as users have it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(**launching())
        yield opened
        opened.close()
