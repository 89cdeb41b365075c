"""Writing the report: one HTML file with its style, script and charts inside, and no reference to anything outside."""

from __future__ import annotations

import errno
import os
import tempfile
from importlib.resources import files
from pathlib import Path

from foretell.kernels.search.load import without_collector
from foretell.kernels.search.state import RunState
from foretell.report.clock import Clock, read_clock
from foretell.report.page import build_page


def render_report(state: RunState, run: str = "", clock: Clock | None = None) -> str:
    """The report's HTML. Everything that came from outside (sources, messages, names) is escaped."""
    from jinja2 import Environment, StrictUndefined

    package = files("foretell.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(package.joinpath("page.html").read_text(encoding="utf-8"))
    with without_collector():
        page = build_page(state, run, clock)
    return template.render(
        page=page,
        css=package.joinpath("page.css").read_text(encoding="utf-8"),
        js=package.joinpath("page.js").read_text(encoding="utf-8"),
    )


def write_report(state: RunState, path: Path, run_dir: Path | None = None) -> Path:
    """Write the report of a run and return its path; a reader never sees half a file.

    With the run's directory the page also tells when it ran, how long it took, and how to resume it.
    """
    clock = read_clock(run_dir, state.decide_s) if run_dir is not None else None
    return write_whole(path, render_report(state, str(run_dir) if run_dir is not None else "", clock))


def write_whole(path: Path, html: str) -> Path:
    """Write a page, all or nothing, and return its path. Raises OSError with that path if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".report-", suffix=".html")
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(html)
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return path
