"""A language model with the facts in hand: questions about held-out candidates as files, and what answers are worth.

    python -m benchmarks.learned.ask FOLDER --kept KEPT.pickle --told TOLD.pickle --write [--count 300]
    python -m benchmarks.learned.ask FOLDER --kept KEPT.pickle --told TOLD.pickle            # reads the answers

FOLDER/blind and FOLDER/facts get `requests.jsonl` for `files:` (docs/lm.md): each candidate once without and once with
the step tables of reference and candidate. No label is in either folder. Whole pools of at least two candidates that
worked are asked about, our own first. Reading compares both with `calibrated`, alone and stacked: log2 speedups are
averaged by the weight that is best on the other problems, which then says the order and the level. Pools count of which
every candidate was answered in both ways; figures go to benchmarks/results/learned_answers.json, and reading is a look
at held-out problems, which is logged.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learned.evaluate import LOG
from benchmarks.learned.examples import Known, judged
from benchmarks.learned.train import update
from foretell.belief import Forecast
from foretell.kernels.cost.steps import ProgramTime
from foretell.kernels.evaluate.log import commit_of
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.forecast import answer
from foretell.kernels.forecast.program import Compared, ProgramForecaster
from foretell.kernels.forecast.prompt import Evidence, answer_schema, messages
from foretell.lm import Message, Request
from foretell.lm.files import ANSWERS, REQUESTS, read_answers, write_requests
from foretell.lm.model import Reply

RESULTS = Path("benchmarks/results/learned_answers.json")
FORMS = ("blind", "facts")
INDEX = "candidates.json"
SHOWN = ("pairs_10", "first_pick", "accuracy", "within_one", "ece_bins", "covered_80", "width_80")
WEIGHTS = np.linspace(0.0, 1.0, 11)
STEPS = 12
SEED = 25


def chosen(found: Sequence[Known], told: Sequence[Forecast], count: int) -> tuple[list[Known], list[Forecast]]:
    """Whole pools of which two or more worked, our own first, until there are `count` candidates."""
    starts = np.cumsum([0, *(len(each.pool) for each in found)]).tolist()
    order = [i for i, each in enumerate(found) if sum(m.ok for m in each.pool.measured) >= 2]
    random.Random(SEED).shuffle(order)
    order.sort(key=lambda i: found[i].eager)
    kept: list[Known] = []
    forecasts: list[Forecast] = []
    for i in order:
        if len(forecasts) < count:
            kept.append(found[i])
            forecasts += told[starts[i] : starts[i + 1]]
    return kept, forecasts


def questions(each: Known, compared: Sequence[Compared | None] | None) -> list[Request]:
    """One request for each candidate of a pool, with step tables where they are handed over."""
    asked = []
    for i, subject in enumerate(each.pool.subjects):
        system, user = messages(each.pool.task, each.pool.device, subject, Evidence(), "distribution")
        text = user.content
        pair = compared[i] if compared else None
        if pair is not None:
            text = f"{text}\n\n{facts(pair, each.eager)}"
        how = "eagerly, host time included" if each.eager else "by replaying a CUDA graph with a cold cache"
        asked.append(Request((system, Message("user", f"{text}\n\nTimes are taken {how}.")), answer_schema()))
    return asked


def facts(pair: Compared, eager: bool) -> str:
    """The step tables of reference and candidate, as `program` estimates them."""
    said = 2.0 ** (pair.eager_log2 if eager else pair.log2)
    return "\n".join((
        "## Estimates of a model of the device, step by step (they may be wrong; doubt is in doublings)",
        _steps("reference", pair.reference), _steps("candidate", pair.candidate),
        f"Estimated speedup: {said:.2f}, doubt {pair.doubt_log2:.1f} doublings",
    ))  # fmt: skip


def _steps(name: str, times: ProgramTime) -> str:
    longest = sorted(times.steps, key=lambda step: -step.us)[:STEPS]
    lines = [
        f"{name}: {times.device_us:.1f} us on the device, {times.eager_us:.1f} us eagerly, {len(times.steps)} steps"
    ]
    for step in longest:
        bound = max(step.parts_us, key=step.parts_us.__getitem__) if step.parts_us else "unknown"
        lines.append(f"- {step.label}: {step.us:.1f} us, bound by {bound}, doubt {step.doubt_log2:.1f}, {step.basis}")
    return "\n".join(lines)


def write(folder: Path, found: Sequence[Known]) -> None:
    """Write the questions of both forms, and which candidate each is about."""
    for form in FORMS:
        index: dict[str, str] = {}
        for each in found:
            forecaster = ProgramForecaster(each.eager)
            if form == "facts":
                forecaster.forecast(each.pool.task, each.pool.device, each.pool.subjects)
            asked = questions(each, forecaster.compared if form == "facts" else None)
            write_requests(folder / form / REQUESTS, asked)
            index |= {request.id: name_of(each, i) for i, request in enumerate(asked)}
        (folder / form / INDEX).write_text(json.dumps(index, indent=1) + "\n")
        print(f"{len(index)} questions in {folder / form}")


def name_of(each: Known, i: int) -> str:
    """A candidate's name in files of questions and answers."""
    return f"{each.column} {each.pool.name} {each.pool.ids[i]}"


def answers(folder: Path) -> dict[str, Forecast]:
    """What was answered, by candidate; what cannot be read is left out."""
    index = json.loads((folder / INDEX).read_text())
    replies, _ = read_answers(sorted(folder.glob(ANSWERS)))
    found = {}
    for name, candidate in index.items():
        reply = replies.get(name)
        reading = answer.read(reply.text) if isinstance(reply, Reply) else None
        if isinstance(reading, answer.Answer):
            found[candidate] = Forecast.from_bins(reading.probs, reading.p_fail)
    return found


def stacked(found: Sequence[Known], mine: Sequence[Forecast], theirs: Sequence[Forecast]) -> list[Forecast]:
    """`mine` moved towards the medians of `theirs`, by the weight with the least error on the other problems."""
    problems = np.array([each.pool.group for each in found for _ in each.pool.ids])
    log2 = np.array([m.log2_speedup for each in found for m in each.pool.measured])
    own, other = (np.array([f.median for f in told]) for told in (mine, theirs))
    errors = np.abs(own[:, None] + (other - own)[:, None] * WEIGHTS - log2[:, None])
    moved = []
    for i, forecast in enumerate(mine):
        elsewhere = (problems != problems[i]) & np.isfinite(log2)
        weight = WEIGHTS[int(np.argmin(errors[elsewhere].mean(axis=0)))] if elsewhere.any() else 0.0
        moved.append(forecast.shifted(float(weight * (other[i] - own[i]))))
    return moved


def read(folder: Path, found: Sequence[Known], told: Sequence[Forecast]) -> dict[str, dict[str, Any]]:
    """Figures of `calibrated` and of both forms of question, alone and stacked, over pools that were answered whole.

    By column: our own kernels and those of others are timed differently.
    """
    said = {form: answers(folder / form) for form in FORMS}
    names = [[name_of(each, i) for i in range(len(each.pool))] for each in found]
    mine = dict(zip((name for own in names for name in own), told, strict=True))
    whole = [i for i, own in enumerate(names) if all(name in said[form] for form in FORMS for name in own)]
    if not whole:
        raise SystemExit(f"no pool was answered whole in {folder}")
    report: dict[str, dict[str, Any]] = {}
    for column in sorted({found[i].column for i in whole}):
        own = [i for i in whole if found[i].column == column]
        pools, kept = [found[i] for i in own], [name for i in own for name in names[i]]
        calibrated = [mine[name] for name in kept]
        figures = {"pools": len(pools), "candidates": len(kept), "calibrated": shown(pools, calibrated)}
        figures["program"] = shown(pools, [forecast for each in pools for forecast in each.said])
        for form in FORMS:
            theirs = [said[form][name] for name in kept]
            figures[form] = shown(pools, theirs)
            figures[f"{form}, stacked"] = shown(pools, stacked(pools, calibrated, theirs))
        report[column] = figures
    return report


def shown(found: Sequence[Known], told: Sequence[Forecast]) -> dict[str, Any]:
    figures = assess(judged(found, told), "", "held_out").to_dict()["figures"]
    return {name: figures[name] for name in SHOWN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--told", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    kept = pickle.loads(arguments.kept.read_bytes())
    found, told = chosen(kept, pickle.loads(arguments.told.read_bytes()), arguments.count)
    if arguments.write:
        write(arguments.folder, found)
        return
    report = read(arguments.folder, found, told)
    line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit_of(Path(__file__).parent)}
    with LOG.open("a") as file:
        file.write(json.dumps(line | {"why": "answers of a language model to questions"} | report) + "\n")
    update(RESULTS, report)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
