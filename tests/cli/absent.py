"""A Python in which chosen packages are not installed, though they are: for tests of bare machines.

`environment` names a folder with a `sitecustomize.py` on PYTHONPATH, so child processes lack the packages as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_SITECUSTOMIZE = '''
import sys

ABSENT = frozenset({names!r})


class Without:
    """A finder that does not find the absent packages, and asks the real one for all others."""

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)


sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
'''


def environment(folder: Path, modules: Iterable[str]) -> dict[str, str]:
    """Environment variables for a child process that cannot import these modules. Writes into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_SITECUSTOMIZE.format(names=sorted(modules)))
    source = Path(__file__).parents[2] / "src"
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(source)))}
