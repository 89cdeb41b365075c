"""Write the facts of all measured kernels into one file, for `benchmarks.learned.lm.run`.

    python -m benchmarks.learned.lm.build KEPT FACTS.json.xz

KEPT is the folder that `benchmarks.learned.train` and `.evaluate` keep what they gathered in; recordings come from
the user's cache, and nothing is recorded anew. About a tenth of the development problems is kept back to calibrate by.
Of long texts the middle is left out. Texts of other people's kernels are in the file: it stays out of the repository.
"""

from __future__ import annotations

import argparse
import pickle
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.learned.ask import name_of
from benchmarks.learned.examples import DEVICE, EAGER, Known, only_recorded
from benchmarks.learned.lm.facts import (
    CHECK,
    HELD_OUT,
    TRAIN,
    Kernel,
    Near,
    Outcome,
    Problem,
    Step,
    Table,
    write,
)
from foretell.kernels.candidate import stripped
from foretell.kernels.corpus import real
from foretell.kernels.cost.steps import ProgramTime
from foretell.kernels.device import Device
from foretell.kernels.evaluate.data import DEVELOPMENT
from foretell.kernels.forecast.program import Compared, ProgramForecaster
from foretell.kernels.measurement import Measurement
from foretell.lm.quote import shortened
from foretell.train.lm.pairs import std_log2

CHECK_SHARE = 0.1  # of the development problems
STEPS = 8  # of a table
NEAREST = 3
LEAST_PART = 0.01  # of what the part of the device that needs longest does; others are not told
MOST_CHARACTERS, MOST_REFERENCE_CHARACTERS, MOST_TROUBLE_CHARACTERS = 4_000, 1_600, 160
_COMPARED = ("ratio", "doubt", "common", "recorded", "language.", "reference.", "candidate.")


def problems(found: Sequence[Known], held_out: bool, checked: Mapping[str, str]) -> list[Problem]:
    """Facts of the candidates of all pools; `checked` is what runs at small sizes showed, by id."""
    return [_problem(each, HELD_OUT if held_out else part_of(each), checked) for each in found]


def part_of(each: Known) -> str:
    """Whether a development problem is learnt from or kept back, by a hash of its name."""
    return CHECK if zlib.crc32(each.pool.group.encode()) % 1000 < 1000 * CHECK_SHARE else TRAIN


def _problem(each: Known, part: str, checked: Mapping[str, str]) -> Problem:
    pool = each.pool
    forecaster = ProgramForecaster(each.eager)
    forecaster.forecast(pool.task, pool.device, pool.subjects)
    compared, troubles = forecaster.compared, forecaster.last_troubles
    language, source = next(iter(pool.task.references.items()), ("torch", ""))
    kernels = []
    for i, subject in enumerate(pool.subjects):
        pair, said = compared[i], each.said[i]
        text = stripped(subject.candidate.source, subject.candidate.language)
        outcome = None if part == HELD_OUT else _outcome(pool.measured[i])
        kernels.append(Kernel(
            name_of(each, i), subject.candidate.language, shortened(text, MOST_CHARACTERS),
            _table(pair.candidate) if pair else None, " ".join((troubles[i] or "").split())[:MOST_TROUBLE_CHARACTERS],
            checked.get(pool.ids[i], ""), _estimate(pair, each.eager, said.median),
            pair.doubt_log2 if pair else said.std, (said.p_fail, *said.bins()), (), outcome,
        ))  # fmt: skip
    pair = next((pair for pair in compared if pair is not None), None)
    reference = shortened(stripped(source, language), MOST_REFERENCE_CHARACTERS)
    return Problem(pool.name, pool.group, each.column, part, described(pool.device), language, reference,
                   _table(pair.reference) if pair else None, tuple(kernels))  # fmt: skip


def described(device: Device) -> str:
    peaks = ", ".join(f"{device.peak_flops[name] / 1e12:.3g} TFLOP/s {name}"
                      for name in ("float32", "float16") if name in device.peak_flops)  # fmt: skip
    rate = device.bandwidth_bytes_per_s / 1e9
    return f"{device.name}, {device.cores} SMs, {rate:.4g} GB/s, {device.cache_bytes / 2**20:.3g} MiB cache, {peaks}"


def _outcome(measured: Measurement) -> Outcome | None:
    """None where no speedup is known: of some kernels only the time within their pool is."""
    if not measured.ok:
        return Outcome(None, 0.0)
    return Outcome(measured.log2_speedup, std_log2(measured)) if np.isfinite(measured.log2_speedup) else None


def _estimate(pair: Compared | None, eager: bool, median: float) -> float:
    return median if pair is None else pair.eager_log2 if eager else pair.log2


def _table(times: ProgramTime) -> Table:
    every: dict[str, float] = {}
    for step in times.steps:
        for part, us in (step.parts_us or {}).items():
            every[part] = every.get(part, 0.0) + us
    longest = sorted(times.steps, key=lambda step: -step.us)[:STEPS]
    steps = tuple(
        Step(step.label[:60], _digits(step.us), _largest(step.parts_us or {}, 2), _digits(step.doubt_log2),
             step.reason[:60] or step.basis)
        for step in longest
    )  # fmt: skip
    return Table(_digits(times.device_us), _digits(times.eager_us), len(times.steps), _largest(every, 3), steps)


def _largest(parts: Mapping[str, float], count: int) -> dict[str, float]:
    kept = sorted(parts, key=lambda part: -parts[part])[:count]
    return {part: _digits(parts[part]) for part in kept if parts[part] > LEAST_PART * parts[kept[0]]}


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def nearest(found: Sequence[Known], facts: Sequence[Problem], known: Sequence[bool]) -> list[Problem]:
    """The facts with, for each kernel, the nearest `known` ones of other problems by the evidence of `calibrated`."""
    keys = sorted({key for each in found for row in each.rows for key in row if key.startswith(_COMPARED)})
    rows = np.array([[row.get(key, 0.0) for key in keys] for each in found for row in each.rows])
    rows = np.nan_to_num(rows, posinf=0.0, neginf=0.0)
    owners = np.array([i for i, each in enumerate(found) for _ in each.pool.ids])
    kernels = [kernel for problem in facts for kernel in problem.kernels]
    usable = np.array([known[owner] and kernel.outcome is not None
                       for owner, kernel in zip(owners, kernels, strict=True)])  # fmt: skip
    scale = rows[usable].std(axis=0)
    rows = (rows - rows[usable].mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    groups = np.array([found[owner].pool.group for owner in owners])
    places = np.flatnonzero(usable)
    told: list[Problem] = []
    at = 0
    for problem in facts:
        own = []
        for kernel in problem.kernels:
            near = _closest(rows[at], rows[places], groups[places], str(groups[at]))
            own.append(replace_nearest(kernel, [kernels[places[i]] for i in near]))
            at += 1
        told.append(Problem(**vars(problem) | {"kernels": tuple(own)}))
    return told


def _closest(row: NDArray[np.float64], others: NDArray[np.float64], groups: NDArray[np.str_], own: str) -> list[int]:
    """Places of the nearest rows, one of each problem but its own."""
    found: dict[str, int] = {}
    for i in np.argsort(((others - row) ** 2).sum(axis=1)):
        if groups[i] != own and groups[i] not in found:
            found[str(groups[i])] = int(i)
        if len(found) == NEAREST:
            break
    return list(found.values())


def replace_nearest(kernel: Kernel, near: Sequence[Kernel]) -> Kernel:
    told = tuple(
        Near(each.language, each.estimate_log2, each.outcome.log2) for each in near if each.outcome is not None
    )
    return Kernel(**vars(kernel) | {"nearest": told})


def built(kept: Path) -> list[Problem]:
    """Facts of both columns, as far as they were gathered; kernels of training problems alone are shown as nearest."""
    checked = {row["id"]: row["interpreter"] for row in real.read()}
    every: list[Problem] = []
    for column in (DEVICE, EAGER):
        found: list[Known] = []
        facts: list[Problem] = []
        for part in (DEVELOPMENT, HELD_OUT):
            path = kept / f"{part}_{column}.pickle"
            own: list[Known] = pickle.loads(path.read_bytes()) if path.exists() else []
            found += own
            facts += problems(own, part == HELD_OUT, checked)
        if found:
            every += nearest(found, facts, [problem.part == TRAIN for problem in facts])
    return every


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path)
    parser.add_argument("facts", type=Path)
    arguments = parser.parse_args()
    only_recorded()
    found = built(arguments.kept)
    write(arguments.facts, found)
    for column in (DEVICE, EAGER):
        for part in (TRAIN, CHECK, HELD_OUT):
            own = [problem for problem in found if (problem.column, problem.part) == (column, part)]
            kernels = [kernel for problem in own for kernel in problem.kernels]
            tables = sum(kernel.table is not None for kernel in kernels)
            print(column, part, f"{len(kernels)} kernels, {tables} with step tables, in {len(own)} pools")
    print(f"{arguments.facts}: {arguments.facts.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
