"""Dry runs of launches, kept on disk, so that a change of the cost model is evaluated in seconds.

A launch is followed once for each text of the dry run: whatever depends on a device comes after it.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path

from foretell.kernels.cost import launches
from foretell.kernels.cost.settings import LAUNCH_MODEL
from foretell.kernels.languages import dry
from foretell.kernels.program import Image, Launch


def keep_observations(folder: Path, follow_new: bool = True) -> None:
    """Have this process read dry runs from a folder of its own making, and put new ones there.

    Without `follow_new`, a launch that is not there counts as one that cannot be followed.
    """
    launches.observed = _kept(folder, launches.observed if follow_new else None)  # type: ignore[assignment]


def _kept(
    folder: Path, follow: Callable[[Launch, Image], dry.Observation] | None
) -> Callable[[Launch, Image], dry.Observation]:
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(Path(dry.__file__).parent.glob("*.py"))
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    memory: dict[str, dry.Observation | str] = {}

    def observed(launch: Launch, image: Image) -> dry.Observation:
        text = f"{version} {LAUNCH_MODEL.followed} {launch!r}"
        key = hashlib.sha256(text.encode()).hexdigest()[:32]
        path = folder / f"{key}.pickle"
        if key not in memory and path.exists():
            memory[key] = pickle.loads(path.read_bytes())
        if key not in memory and follow is None:
            raise launches.NotFollowed("it was not followed before")
        if key not in memory and follow is not None:
            try:
                memory[key] = follow(launch, image)
            except launches.NotFollowed as error:
                memory[key] = str(error)
            path.write_bytes(pickle.dumps(memory[key]))
        found = memory[key]
        if isinstance(found, str):
            raise launches.NotFollowed(found)
        return found

    return observed
