"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretell.report.write import render_report, write_report

__all__ = ["render_report", "write_report"]


def __getattr__(name: str) -> object:
    """Load the writer when it is asked for: `foretell.report.numbers` alone stays light."""
    if name in __all__:
        from foretell.report import write

        return getattr(write, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
