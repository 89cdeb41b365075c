"""What the trained models' answers are worth: alone, recalibrated, and stacked.

    python -m benchmarks.learned.lm.figures KEPT ANSWERS               # development problems that were kept back
    python -m benchmarks.learned.lm.figures KEPT ANSWERS --why TEXT    # held-out problems; logged

KEPT is the folder of `benchmarks.learned.train` and `.evaluate` (pools and what `calibrated` says of them), ANSWERS
that of the files of `benchmarks.learned.lm.run`. *Recalibrated*: a temperature and biases fitted on other development
problems that training did not see. *Stacked*: `calibrated` is moved towards their medians by the weight that is best on
the other problems of the same part. Figures go to benchmarks/results/learned_lm.json.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.learned.ask import name_of, shown, stacked
from benchmarks.learned.evaluate import LOG
from benchmarks.learned.evaluate import PART as HELD_OUT
from benchmarks.learned.examples import DEVICE, EAGER, Known
from benchmarks.learned.lm.build import part_of
from benchmarks.learned.lm.facts import CHECK
from benchmarks.learned.train import update
from foretell.belief import Forecast
from foretell.belief.bins import N_BINS
from foretell.kernels.evaluate.data import DEVELOPMENT
from foretell.kernels.evaluate.log import commit_of
from foretell.kernels.forecast.answer import Answer
from foretell.kernels.forecast.lm import believed
from foretell.lm.adapter import Calibration
from foretell.train.lm import calibrate
from foretell.train.lm.pairs import target_of

RESULTS = Path("benchmarks/results/learned_lm.json")

FloatArray = NDArray[np.float64]
Answers = Mapping[str, Sequence[float]]


def forecast_of(said: Forecast, probs: FloatArray) -> Forecast:
    """A forecast of these chances of failure and of the bins; within a bin it has the shape of what `program` said."""
    worked = probs[1:] / probs[1:].sum() if probs[1:].sum() > 0.0 else np.full(N_BINS, 1.0 / N_BINS)
    return believed(Answer(float(probs[0]), tuple(worked.tolist()), 1.0), said)


def calibration_of(found: Sequence[Known], answers: Answers) -> tuple[Calibration, int]:
    """Fitted on the answered kernels of development problems; with how many there were."""
    stated, came = [], []
    for each in found:
        for i, measured in enumerate(each.pool.measured):
            probs = answers.get(name_of(each, i))
            if probs and (not measured.ok or np.isfinite(measured.log2_speedup)):
                stated.append(probs)
                came.append(target_of(measured))
    return calibrate.fit(np.array(stated), np.array(came)), len(stated)


def recalibrated(found: Sequence[Known], kept: Sequence[Known], answers: Answers) -> list[Forecast]:
    """Forecasts corrected by what kept-back kernels of other problems show."""
    groups = {each.pool.group for each in kept}
    whole, _ = calibration_of(kept, answers)
    told: list[Forecast] = []
    for each in found:
        others = [other for other in kept if other.pool.group != each.pool.group]
        correction = calibration_of(others, answers)[0] if each.pool.group in groups else whole
        told += forecasts_of([each], answers, correction)
    return told


def forecasts_of(found: Sequence[Known], answers: Answers, correction: Calibration | None) -> list[Forecast]:
    """Forecasts of all candidates; what has no answer that can be read is left to `program`."""
    told = []
    for each in found:
        for i, said in enumerate(each.said):
            probs = np.array(answers.get(name_of(each, i)) or (), dtype=float)
            if len(probs) and correction is not None:
                probs = correction.corrected(probs)
            told.append(forecast_of(said, probs) if len(probs) else said)
    return told


def compared(
    found: Sequence[Known], told: Sequence[Forecast], kept: Sequence[Known], models: Mapping[str, Answers]
) -> dict[str, Any]:
    """Figures of `program`, `calibrated` and every model on the same kernels; `kept` are development pools."""
    programs = [forecast for each in found for forecast in each.said]
    report: dict[str, Any] = {
        "pools": len(found),
        "candidates": len(told),
        "program": shown(found, programs),
        "calibrated": shown(found, told),
        "models": {},
    }
    for name, answers in models.items():
        alone = recalibrated(found, kept, answers)
        known = [name_of(each, i) for each in kept for i in range(len(each.pool))]
        missing = sum(not answers.get(name_of(each, i)) for each in found for i in range(len(each.pool)))
        report["models"][name] = {
            "calibrated by": sum(bool(answers.get(name)) for name in known),
            "unanswered": missing,
            "as answered": shown(found, forecasts_of(found, answers, None)),
            "recalibrated": shown(found, alone),
            "stacked": shown(found, stacked(found, told, alone)),
        }
    return report


def models_of(folder: Path) -> tuple[dict[str, Answers], dict[str, Any]]:
    """Answers by model, stage and form, and what was noted while training, by model."""
    models, notes = {}, {}
    for path in sorted(folder.glob("answers-*.json")):
        name = path.stem.removeprefix("answers-")
        data = json.loads(path.read_text())
        notes[name] = data["notes"]
        for stage, forms in data["answers"].items():
            for form, answers in forms.items():
                models[f"{name} {stage} {form}"] = answers
    return models, notes


def gathered(folder: Path, column: str, held_out: bool) -> tuple[list[Known], list[Forecast], list[Known]] | None:
    """Pools to judge on with what `calibrated` says of them, and development pools; None if they were not gathered."""
    paths = [folder / f"{part}_{column}.pickle" for part in (DEVELOPMENT, HELD_OUT if held_out else DEVELOPMENT)]
    if not all(path.exists() for path in paths):
        return None
    kept, found = (pickle.loads(path.read_bytes()) for path in paths)
    told = pickle.loads(paths[1].with_name(f"{paths[1].stem}_told.pickle").read_bytes())
    if held_out:
        return found, told, kept
    starts = np.cumsum([0, *(len(each.pool) for each in found)]).tolist()
    own = [i for i, each in enumerate(found) if part_of(each) == CHECK]
    return [found[i] for i in own], [f for i in own for f in told[starts[i] : starts[i + 1]]], kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--why", help="why held-out problems are looked at, for the log; without, kept-back ones are")
    arguments = parser.parse_args()
    models, notes = models_of(arguments.answers)
    report: dict[str, Any] = {}
    for column in (DEVICE, EAGER):
        if pools := gathered(arguments.kept, column, bool(arguments.why)):
            names = {name_of(each, i) for each in pools[0] for i in range(len(each.pool))}
            own = {name: answers for name, answers in models.items() if names & set(answers)}
            report |= {column: compared(*pools, own)} if own else {}
    if arguments.why:
        line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit_of(Path(__file__).parent)}
        with LOG.open("a") as file:
            file.write(json.dumps(line | {"why": arguments.why} | report) + "\n")
    update(RESULTS, {"training": notes, "held_out" if arguments.why else "kept_back": report})
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
