"""One browser for all tests of a module that need real pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foretell.gui.bench.pages import NoChromium, Page


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
