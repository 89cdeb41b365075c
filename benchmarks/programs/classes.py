"""How well `program` orders and times the collected sample of the corpus, all operations and languages, by class.

    python -m benchmarks.programs.classes FOLDER --output benchmarks/results/programs_collected.json
    python -m benchmarks.programs.classes FOLDER --again OTHER    # follow the launches of FOLDER anew, into OTHER

FOLDER is what `benchmarks.programs.collect` made. After a change of the dry run its launches are followed again, from
the PTX that is kept there; a change of the model of launches needs no more than the first command.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.programs.collect import Collected, built_rows, collected, write
from benchmarks.programs.corpus import DEVICE, evaluated
from foretell.kernels.cost import launches
from foretell.kernels.cost.steps import ProgramTime, times_of
from foretell.kernels.device import Device
from foretell.kernels.languages import dry
from foretell.kernels.program import Image, Launch, Program


def timed(one: Collected) -> ProgramTime:
    """Times of a collected row by its dry runs as they were collected."""
    assert one.program is not None
    seen = dict(zip(map(id, one.program.run), one.observations, strict=True))
    took = dict(zip(map(id, one.program.run), one.resources, strict=True))

    def time_of(launch: Launch, program: Program, device: Device) -> launches.LaunchTime:
        observation, resources = seen[id(launch)], took[id(launch)]
        if observation is None or resources is None or isinstance(observation, str):
            raise launches.NotFollowed(str(observation))
        return launches.LaunchTimer(launch, program, device, observation, resources).time()

    usual, launches.time_of = launches.time_of, time_of
    try:
        return times_of(one.program, DEVICE)
    finally:
        launches.time_of = usual


def followed_again(one: Collected) -> Collected:
    """The same row with its launches followed by the dry run as it is now."""
    if one.program is None:
        return one
    found: list[dry.Observation | str | None] = []
    for step in one.program.run:
        try:
            image = Image(None, one.ptx[step.image], "") if isinstance(step, Launch) else None
            found.append(launches.observed(step, image) if isinstance(step, Launch) and image else None)
        except launches.NotFollowed as error:
            found.append(str(error))
    return replace(one, observations=tuple(found))


def pairs(folder: Path) -> Iterator[tuple[dict[str, Any], ProgramTime | None]]:
    """Collected rows that work, with the times of their Programs."""
    rows = {row["id"]: row for row in built_rows()}
    for one in collected(folder):
        if rows[one.id]["speedup"]:
            yield rows[one.id], timed(one) if one.program is not None else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--again", type=Path, help="follow launches anew, into this folder")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if arguments.again:
        for one in collected(arguments.folder):
            write(arguments.again, followed_again(one))
        return
    report = evaluated(pairs(arguments.folder))
    if arguments.output:
        arguments.output.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({key: value for key, value in report.items() if not key.startswith("by_")}, indent=1))


if __name__ == "__main__":
    main()
