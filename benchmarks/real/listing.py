"""The problems that kernels are written for: those of benchmarks/problems that test speed, and those in problems/."""

from __future__ import annotations

from pathlib import Path

from benchmarks.own_problems import FOLDER as OWN
from benchmarks.own_problems import REFUSED

FOLDER = Path("benchmarks/real/problems")
FORMS = ("list_", "keyword_", "nested_", "inplace_", "scripted_", "scalars_")  # these test forms, not speed


def problem_files() -> dict[str, Path]:
    """The files of all problems, by name."""
    own = {path.stem: path for path in OWN.glob("*.py") if path.stem not in REFUSED}
    files = {name: path for name, path in own.items() if not name.startswith(FORMS)}
    return dict(sorted((files | {path.stem: path for path in FOLDER.glob("*.py")}).items()))
