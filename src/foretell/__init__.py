"""Foretell: look before you run.

`import foretell as ft` offers what `foretell.api` lists; nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.api import audit as audit
    from foretell.api import explain as explain
    from foretell.api import forecast as forecast
    from foretell.api import measure as measure
    from foretell.api import new_run as new_run
    from foretell.api import open_run as open_run
    from foretell.api import search as search
    from foretell.api import task as task
    from foretell.kernels.candidate import Candidate as Candidate
    from foretell.kernels.task import Task as Task
    from foretell.run import Run as Run

__version__ = "0.1.0"

_API = frozenset({"BadInput", "audit", "explain", "forecast", "measure", "new_run", "open_run", "search", "task"})
_TYPES = {"Task": "foretell.kernels.task", "Candidate": "foretell.kernels.candidate", "Run": "foretell.run"}


def __getattr__(name: str) -> Any:
    if name in _API:
        from foretell import api

        return getattr(api, name)
    if name in _TYPES:
        from importlib import import_module

        return getattr(import_module(_TYPES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_API, *_TYPES})
