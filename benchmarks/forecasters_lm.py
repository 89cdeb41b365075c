"""Language models from files of weights as forecasters, zero-shot, on samples of what was kept from training.

    python -m benchmarks.forecasters_lm run WEIGHTS.gguf --name qwen2.5-coder-0.5b --form direct distribution \\
        --seconds 500 --into benchmarks/results/forecasters_lm_qwen2.5-coder-0.5b.json
    python -m benchmarks.forecasters_lm control --into benchmarks/results/forecasters_lm_control.json

`run` asks in chunks, keeps every answer beside the figures (`*.answers.jsonl`) and stops in time; the same command goes
on where the last one ended, and `--seconds 0` makes the figures of what has been answered, without the weights. Any
beginning of the questions is a fair sample of all pools. The reference's times are told, as a search knows them too.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.lm_answers import FIRST_MESSAGES, Kept
from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.evaluate.controls import CONTROLS, control
from foretell.kernels.evaluate.data import HELD_OUT, Data, read
from foretell.kernels.evaluate.judge import Judged, judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.evaluate.pools import Pool, Tier
from foretell.kernels.forecast import answer, make
from foretell.kernels.forecast.lm import LmForecaster
from foretell.kernels.forecast.prompt import FORMS
from foretell.kernels.forecast.roofline import reference_times_s
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.protocols import Forecaster, Subject
from foretell.kernels.task import Task
from foretell.lm import Failure, Reply, Request, Trouble
from foretell.lm.local import LocalModel, Weights

CORPUS = Path("data/corpus_gpu.parquet")
TIER: Tier = "build"
LIMIT = 24
RESAMPLES = 500
MAX_TOKENS = 400
# For an H200; what does not fit its memory is halved until it does.
CHUNK: Mapping[str, int] = {"direct": 400, "distribution": 600}  # questions between two savings
BATCH_TOKENS: Mapping[str, int] = {"direct": 262_144, "distribution": 1_048_576}
QUESTION_S: Mapping[str, float] = {"direct": 0.05, "distribution": 0.2}  # until some have been timed
EXAMPLES = 3

Lessons = Mapping[str, Sequence[tuple[Subject, Measurement]]]
_NOT_ASKED = f"request:{Trouble.MISSING.value}"


class Informed:
    """A forecaster that is told the reference's times before it is asked, and nothing else; notes all its troubles."""

    def __init__(self, teller: Forecaster, lessons: Lessons) -> None:
        self.name, self.cost_s = teller.name, teller.cost_s
        self.last_troubles: tuple[str | None, ...] = ()
        self.noted: list[tuple[str | None, ...]] = []
        self._teller, self._lessons = teller, lessons

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        self._teller.learn(task, device, self._lessons[task.name])
        found = self._teller.forecast(task, device, subjects)
        self.last_troubles = tuple(getattr(self._teller, "last_troubles", (None,) * len(subjects)))
        self.noted.append(self.last_troubles)
        return found

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Forget it: `lessons` are all it is taught."""


@dataclass(frozen=True)
class Sample:
    """What everyone is asked about: by split its pools with few candidates each; by task the reference's times."""

    pools: Mapping[str, list[Pool]]
    lessons: Lessons

    @staticmethod
    def of(data: Data, limit: int, seed: int) -> Sample:
        pools: dict[str, list[Pool]] = {}
        lessons: dict[str, list[tuple[Subject, Measurement]]] = {}
        for split in HELD_OUT:
            whole = data.pools(split, TIER)
            lessons |= {pool.task.name: [_reference(pool)] for pool in whole}
            pools[split] = [pool.take(pool.drawn(limit, seed)) for pool in whole]
        return Sample(pools, lessons)


def _reference(pool: Pool) -> tuple[Subject, Measurement]:
    """The reference beside itself, with the times it had while the pool was measured."""
    times_us = {name: seconds * 1e6 for name, seconds in reference_times_s(pool.measured).items()}
    timings = tuple(Timing(name, (us,), (us,), 1.0, 1.0, 1.0) for name, us in times_us.items())
    language, source = next(iter(pool.task.references.items()))
    subject = Subject(Candidate(pool.task.name, language, source, Origin("reference")))
    return subject, Measurement(Status.OK, speedup=1.0, low=1.0, high=1.0, timings=timings)


@dataclass(frozen=True)
class Told:
    """What a model said of one split so far: the candidates it has been asked about, and its answers."""

    split: str
    sampled: int
    judged: Judged
    served: list[tuple[Request, Reply | Failure]]

    def row(self, model: str, form: str) -> dict[str, Any] | None:
        """The figures, laid out as those of other forecasters, and what the answers cost; None before any answer."""
        if not self.judged.pools:
            return None
        costs = _costs(self.served)
        judged = replace(self.judged, seconds=costs["seconds"])
        head = {"model": model, "form": form, "sampled": self.sampled}
        return head | _figures(judged, f"{model}, {form}", self.split) | {"language_model": costs}


def tell(sample: Sample, kept: Kept, form: str, max_tokens: int) -> tuple[list[Told], list[Request]]:
    """All splits with the answers there are, and the questions that are still to be asked, in a random order."""
    found: list[Told] = []
    wanted: dict[str, Request] = {}
    for split, pools in sample.pools.items():
        kept.begin()
        forecaster = Informed(LmForecaster(kept, form, neighbours=0, max_tokens=max_tokens), sample.lessons)
        judged = _answered(judge(forecaster, pools), forecaster.noted)
        found.append(Told(split, sum(len(pool) for pool in pools), judged, kept.served))
        wanted |= kept.wanted
    return found, [wanted[key] for key in sorted(wanted)]  # keys are hashes


def _answered(judged: Judged, noted: Sequence[tuple[str | None, ...]]) -> Judged:
    """Without the candidates that nobody has asked about yet, and with troubles by kind."""
    pools, forecasts, troubled = [], [], []
    for pool, told, troubles in zip(judged.pools, judged.forecasts, noted, strict=True):
        if at := [i for i, trouble in enumerate(troubles) if trouble != _NOT_ASKED]:
            pools.append(pool.take(at))
            forecasts.append(tuple(told[i] for i in at))
            troubled.append(tuple(troubles[i] is not None for i in at))
    kinds = Counter(trouble for troubles in noted for trouble in troubles if trouble not in (None, _NOT_ASKED))
    named = {str(kind): count for kind, count in kinds.items()}
    return Judged(tuple(pools), tuple(forecasts), judged.seconds, named, tuple(troubled))


def _costs(served: Sequence[tuple[Request, Reply | Failure]]) -> dict[str, Any]:
    """What the answers cost, and how the first ones read: unreadable by kind, cut off, mass on the choices."""
    given = [(request, one) for request, one in served if one.seconds > 0.0 or _fails(one)]
    first = [one for request, one in given if len(request.messages) == FIRST_MESSAGES]
    replies = [one for one in first if isinstance(one, Reply)]
    readings = [answer.read_choices(r.choice_probs) if r.choice_probs else answer.read(r.text) for r in replies]
    unread = Counter(f"answer:{r.kind.value}" for r in readings if isinstance(r, answer.Unreadable))
    unread.update(f"request:{one.kind.value}" for one in first if isinstance(one, Failure))
    masses = [sum(reply.choice_probs.values()) for reply in replies if reply.choice_probs is not None]
    read_tokens = sum(one.usage.prompt_tokens for _, one in given)
    written_tokens = sum(one.usage.answer_tokens for _, one in given)
    seconds = sum(one.seconds for _, one in given)
    return {
        "asked": len(first),
        "asked_again": len(given) - len(first),
        "first_troubles": dict(unread),
        "cut_off": sum(reply.cut_off for reply in replies),
        "choice_mass": sum(masses) / len(masses) if masses else None,
        "prompt_tokens": read_tokens,
        "answer_tokens": written_tokens,
        "seconds": seconds,
        "forecasts_per_second": len(first) / max(seconds, 1e-9),
        "tokens_per_second": (read_tokens + written_tokens) / max(seconds, 1e-9),
        "examples": [reply.text for reply in replies[:: max(1, len(replies) // EXAMPLES)][:EXAMPLES]],
    }


def _fails(one: Reply | Failure) -> bool:
    return isinstance(one, Failure) and one.kind is not Trouble.MISSING


def _figures(judged: Judged, name: str, split: str) -> dict[str, Any]:
    result = assess(judged, name, split, 0, RESAMPLES).to_dict()
    return {key: value for key, value in result.items() if key not in ("curves", "by_pool")}


class Asker:
    """The weights, loaded when they are first needed."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._chosen = chosen
        self._loaded: tuple[Any, Any] | None = None

    def ask(self, form: str, requests: Sequence[Request]) -> list[Reply | Failure]:
        return LocalModel(self._weights(form), self.load()).ask(requests)

    def load(self) -> tuple[Any, Any]:
        """Model and tokenizer; written to a file of its own for the next time, where one is named."""
        if self._loaded is None:
            began = time.monotonic()
            torch: Any = importlib.import_module("torch")
            unpacked: Path | None = self._chosen.unpacked
            if unpacked is not None and unpacked.exists():
                self._loaded = torch.load(unpacked, weights_only=False)
            else:
                self._loaded = LocalModel(self._weights(FORMS[0])).load()
                if unpacked is not None:
                    torch.save(self._loaded, unpacked)
            print(f"loaded in {time.monotonic() - began:.0f} s", flush=True)
        return self._loaded

    def machine(self) -> dict[str, str] | None:
        """What it ran on; None where nothing was loaded."""
        if self._loaded is None:
            return None
        cuda: Any = importlib.import_module("torch").cuda
        name = cuda.get_device_name() if cuda.is_available() else "cpu"
        return {"device": name, "torch": version("torch"), "transformers": version("transformers")}

    def _weights(self, form: str) -> Weights:
        chosen = self._chosen
        return Weights(str(chosen.weights), dtype=chosen.dtype, batch_tokens=chosen.batch_tokens or BATCH_TOKENS[form])


def run(chosen: argparse.Namespace) -> None:
    deadline_s = time.monotonic() + chosen.seconds
    sample = Sample.of(read(CORPUS), chosen.limit, chosen.seed)
    kept = Kept(chosen.into.with_suffix(".answers.jsonl"), chosen.name)
    asker = Asker(chosen)
    for form in chosen.form:
        told, wanted = tell(sample, kept, form, chosen.max_tokens)
        while wanted and _asked(chosen, asker, kept, form, wanted, deadline_s):
            told, wanted = tell(sample, kept, form, chosen.max_tokens)
        if wanted:
            told, wanted = tell(sample, kept, form, chosen.max_tokens)
        _save(chosen, form, told, len(wanted), asker.machine())


def _asked(
    chosen: argparse.Namespace, asker: Asker, kept: Kept, form: str, wanted: list[Request], deadline_s: float
) -> bool:
    """Ask and keep, chunk by chunk; False when the time is up before the end."""
    size, question_s = chosen.chunk or CHUNK[form], QUESTION_S[form]
    for at in range(0, len(wanted), size):
        chunk = wanted[at : at + size]
        if time.monotonic() + question_s * len(chunk) < deadline_s:
            asker.load()
        if time.monotonic() + question_s * len(chunk) >= deadline_s:
            print(f"{form}: the time is up, {len(wanted) - at} questions are left", flush=True)
            return False
        began = time.monotonic()
        kept.add(chunk, asker.ask(form, chunk))
        took_s = time.monotonic() - began
        question_s = took_s / len(chunk)
        print(f"{form}: {at + len(chunk)} of {len(wanted)}, {took_s:.1f} s", flush=True)
    return True


def _save(
    chosen: argparse.Namespace, form: str, told: Sequence[Told], left: int, machine: dict[str, str] | None
) -> None:
    """Write the figures of this form beside those of the other, which a run before may have left."""
    before = json.loads(chosen.into.read_text()) if chosen.into.exists() else {}
    others = [row for row in before.get("rows", ()) if row["form"] != form]
    rows = [row for row in (one.row(chosen.name, form) for one in told) if row is not None]
    settings = {key: getattr(chosen, key) for key in ("limit", "seed", "max_tokens", "dtype")}
    found = {
        "model": chosen.name,
        "weights": chosen.weights.name,
        "settings": settings | {"tier": TIER},
        "machine": machine or before.get("machine"),
        "left": before.get("left", {}) | {form: left},
        "rows": others + rows,
    }
    _write(chosen.into, found)
    for row in rows:
        _show(row)
        costs = {key: value for key, value in row["language_model"].items() if key != "examples"}
        print(" ", costs, row["troubles"], flush=True)


def controls(chosen: argparse.Namespace) -> None:
    """The same candidates for forecasters that look at nothing, at physics, and at features."""
    data = read(CORPUS)
    sample, past = Sample.of(data, chosen.limit, chosen.seed), data.past()
    rows = []
    for name in (*CONTROLS, "roofline", "features"):
        for split, pools in sample.pools.items():
            teller = control(name, past, chosen.seed) if name in CONTROLS else make(name, chosen.seed)
            informed = Informed(teller, sample.lessons) if name == "roofline" else teller
            rows.append(_figures(judge(informed, pools), name, split))
            _show(rows[-1])
    settings = {"limit": chosen.limit, "seed": chosen.seed, "tier": TIER}
    _write(chosen.into, {"settings": settings, "rows": rows})


def _show(row: Mapping[str, Any]) -> None:
    names = ("spearman", "recovery_10", "ece_outcomes", "covered_80", "failure_auroc", "outcome_accuracy", "crps")
    values = {name: row["figures"][name]["value"] for name in names}
    short = {name: None if value is None else round(value, 3) for name, value in values.items()}
    print(row["forecaster"], row["split"], row["candidates"], short, flush=True)


def _write(path: Path, found: Mapping[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(found, indent=1) + "\n")
    partial.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    asking, comparing = verbs.add_parser("run"), verbs.add_parser("control")
    asking.add_argument("weights", type=Path)
    asking.add_argument("--name", required=True)
    asking.add_argument("--form", nargs="+", choices=FORMS, default=["direct", "distribution"])
    asking.add_argument("--seconds", type=float, default=300.0)
    asking.add_argument("--max-tokens", type=int, default=MAX_TOKENS, help="of an answer in the form distribution")
    asking.add_argument("--dtype", default="bfloat16")
    asking.add_argument("--batch-tokens", type=int)
    asking.add_argument("--chunk", type=int, help="questions between two savings")
    asking.add_argument("--unpacked", type=Path, help="file for the weights unpacked, to load fast the next time")
    for verb in (asking, comparing):
        verb.add_argument("--limit", type=int, default=LIMIT, help="candidates of a pool")
        verb.add_argument("--seed", type=int, default=0)
        verb.add_argument("--into", type=Path, required=True)
    chosen = parser.parse_args()
    run(chosen) if chosen.verb == "run" else controls(chosen)


if __name__ == "__main__":
    main()
