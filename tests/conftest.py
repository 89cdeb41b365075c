"""Settings of the whole suite.

No test fails for taking long. Where CI is set, property tests draw the same examples every time and browser tests
require a browser. Tests of Ctrl-C also hold in the background of a script, where shells have it ignored. All workers of
a session share one cache of compiled objects, which are stored by content. No test leaves its environment to the next.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from hypothesis import settings

settings.register_profile("calm", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "calm")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Typer's runner builds the whole tree of commands for each one that it runs: once is enough.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

os.environ["FORETELL_TRACEBACK"] = "1"  # an error that nobody foresaw fails a test by its traceback

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # every core has a worker; read when numpy and torch are imported

NO_CHROMIUM = "no Chromium"
BROWSER_FIXTURES = {"page", "task_page", "browser", "chromium"}


@pytest.fixture(scope="session")
def session_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this session share."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture(scope="session", autouse=True)
def shared_cache(session_dir: Path) -> Iterator[Path]:
    """The cache of tests that set none of their own: never the user's, and the same for all workers."""
    cache = session_dir / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORETELL_CACHE", str(cache))
        patch.setenv("TRITON_CACHE_DIR", str(cache / "triton"))
        yield cache


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """What a test sets in the environment goes with it: stand-ins for processes of their own set their caches in it."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting imports stays until the end, so garbage collection need not look through it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # or Triton's library tells of leaks


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if BROWSER_FIXTURES & set(getattr(item, "fixturenames", ())) and "gui" in item.path.parts:
            item.add_marker("browser")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line that says what was skipped for want of a browser, and how to get one."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple) and NO_CHROMIUM in report.longrepr[2]
    ]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} browser tests were skipped because there is no Chromium: install the apt package "
            "`chromium`, or set FORETELL_CHROMIUM to the path of a Chromium or Chrome, and run `make test` again.",
            yellow=True,
        )
