"""Processes that start without the user's script: it need not guard its code by `if __name__ == "__main__"`.

multiprocessing imports the main module again in every process that it spawns. Nothing of ours is in there, and a script
that measures at its top level would start another measurement, and so on. Relative entries of `sys.path` are made
absolute besides: a process may work in another directory.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import context
from pathlib import Path
from types import ModuleType

_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def script_hidden() -> Iterator[None]:
    """Within, a process is started as if there were no script, with absolute paths to import from."""
    with _ONE_AT_A_TIME:
        main, path = sys.modules.get("__main__"), list(sys.path)
        sys.modules["__main__"] = ModuleType("__main__")
        sys.path[:] = [str(Path(entry).absolute()) for entry in path]
        try:
            yield
        finally:
            sys.path[:] = path
            if main is not None:
                sys.modules["__main__"] = main


class _Spawned(context.SpawnProcess):
    def start(self) -> None:
        with script_hidden():
            super().start()


class SpawnContext(context.SpawnContext):
    """multiprocessing's fresh processes, without the user's script."""

    Process = _Spawned
