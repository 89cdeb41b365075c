"""The problems that kernels are written for: those of benchmarks/problems that test speed, and those in problems/."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.own_problems import FOLDER as OWN
from benchmarks.own_problems import REFUSED
from foretell.kernels.tasks.texts import constants, parsed

FOLDER = Path("benchmarks/real/problems")
POOL_NUMBERS = range(500, 540)  # kernels of the paper's experiment, 40 for a problem by pool_prompt.md
FORMS = ("list_", "keyword_", "nested_", "inplace_", "scripted_", "scalars_")  # these test forms, not speed


def problem_files() -> dict[str, Path]:
    """The files of all problems, by name."""
    own = {path.stem: path for path in OWN.glob("*.py") if path.stem not in REFUSED}
    files = {name: path for name, path in own.items() if not name.startswith(FORMS)}
    return dict(sorted((files | {path.stem: path for path in FOLDER.glob("*.py")}).items()))


def tiny_sizes(text: str) -> Mapping[str, int]:
    """The sizes at which a problem runs in no time: its `TINY`; none if it has none."""
    sizes = constants(parsed(text, "problem")).get("TINY", {})
    return sizes if isinstance(sizes, dict) else {}
