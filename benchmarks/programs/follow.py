"""Follow every launch of recorded Programs once, on several processes, and keep the dry runs for `evaluate`.

    python -m benchmarks.programs.follow FOLDER [--processes 16] [--seconds 300]

Reads the recordings in the user's cache; dry runs go to FOLDER (`--dry-runs` of `evaluate` and `corpus`). Nothing of
them is shown, so that it may be used on held-out recordings too.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.programs.observations import keep_observations
from foretell.kernels.cost import launches
from foretell.kernels.program import Launch
from foretell.kernels.record.job import decoded
from foretell.kernels.store.locations import cache_dir


def follow(path: Path, deadline: float) -> int:
    """Follow the launches of one recording; how many there were."""
    program = decoded(path.read_bytes()).program
    if program is None or time.time() > deadline:
        return 0
    steps = [step for step in program.run if isinstance(step, Launch)]
    for step in steps:
        try:
            launches.observed(step, program.image(step.image))
        except launches.NotFollowed:
            continue
    return len(steps)


def follow_all(paths: Sequence[Path], folder: Path, processes: int, seconds: float) -> int:
    """Follow the launches of all recordings, the largest first; none is begun after `seconds`."""
    order = sorted(paths, key=lambda path: -path.stat().st_size)
    with ProcessPoolExecutor(processes, initializer=keep_observations, initargs=(folder,)) as pool:
        return sum(pool.map(partial(follow, deadline=time.time() + seconds), order, chunksize=4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no launch after that time")
    arguments = parser.parse_args()
    paths = list((cache_dir() / "recordings").rglob("*.json"))
    followed = follow_all(paths, arguments.folder, arguments.processes, arguments.seconds)
    print(f"{followed} launches of {len(paths)} recordings")


if __name__ == "__main__":
    main()
