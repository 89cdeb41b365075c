"""Language models trained to forecast: the supervised stage, the policy stage by each reward, and what each is worth.

    python -m benchmarks.train_lm WEIGHTS.gguf --into runs/lm --plan eval sft:300 eval grpo:crps:0:60 eval

One process does a plan one stage after the other, so that the weights are read once; what a process before has finished
is not done again. `sft:SECONDS`; `grpo:REWARD:SEED:SECONDS` begins from what `sft` left; `eval` judges the last stage
on operations, families and written kernels that no training saw; `speed` times forecasts of long prompts; `save` writes
the adapter. Figures are added to INTO/figures.jsonl; `python -m benchmarks.train_lm_page` makes the page. Drawing the
examples takes a while: `draw` puts them into the file --drawn, which `sft` then reads (no weights are needed for it).

`eval` takes forms: `direct`, `distribution`, and `told`, which is direct with what the trees of `features` expect told
in the question. Rewards are compared without: questions of the policy stage do not tell it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.forecasters_lm import CORPUS, Informed, Sample
from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.judge import Judged, judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.forecast import brief
from foretell.kernels.forecast.lm import LmForecaster
from foretell.lm import Message, Request
from foretell.lm.adapter import Calibration
from foretell.lm.local import LocalModel, Weights
from foretell.train.lm import base as bases
from foretell.train.lm import calibrate, stored
from foretell.train.lm.grpo import GrpoSettings, improve
from foretell.train.lm.pairs import KernelPairs
from foretell.train.lm.run import CHECKED
from foretell.train.lm.sampling import sample
from foretell.train.lm.stored import Stored
from foretell.train.lm.supervised import SftSettings, supervise
from foretell.train.lm.trees import left_out

FIGURES = (
    "accuracy", "within_one", "rps", "ece_outcomes", "spearman", "recovery_10", "aurc", "outcome_accuracy", "crps",
    "covered_80", "failure_auroc",
)  # fmt: skip
LIMIT = 32  # candidates of a pool
# Several stages can be judged at once on one device.
BATCH_TOKENS = {"direct": 98_304, "told": 98_304, "distribution": 131_072}
WRITTEN_TOKENS = 48
SAMPLED_QUESTIONS = 128  # at once, with 8 answers each, to time sampling by
RESAMPLES = 400


class Bench:
    """The weights, the data, and the stage that is looked at."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen, self.into = chosen, chosen.into
        self.into.mkdir(parents=True, exist_ok=True)
        self.data = read(CORPUS)
        self.world = KernelPairs(self.data)
        self.stage = "base"
        self.calibrations: dict[str, Calibration] = {}
        self.student: bases.Student = bases.load(
            chosen.base, self.world.choices, bases.LoraSettings(chosen.rank, 2 * chosen.rank), loaded=self._weights()
        )
        self._fresh = [p.detach().clone() for _, p in self.student.learning()]

    @cached_property
    def told_world(self) -> KernelPairs:
        """The same with what trees expect, which takes minutes to work out where it has not been kept."""
        return KernelPairs(self.data, left_out(self.data, _say, self.chosen.trees))

    def _weights(self) -> tuple[Any, Any]:
        torch: Any = importlib.import_module("torch")
        began, unpacked = time.monotonic(), self.chosen.unpacked
        if unpacked is not None and unpacked.exists():
            loaded: tuple[Any, Any] = torch.load(unpacked, weights_only=False)
        else:
            loaded = LocalModel(Weights(self.chosen.base, dtype="bfloat16")).load()
            if unpacked is not None:
                partial = unpacked.with_suffix(".partial")
                torch.save(loaded, partial)
                partial.replace(unpacked)
        print(f"weights in {time.monotonic() - began:.0f} s", flush=True)
        return loaded

    def begin_from(self, stage: str) -> None:
        """Put the parameters of a finished stage, or of none, into the adapter."""
        torch: Any = importlib.import_module("torch")
        named = self.student.learning()
        if stage == "base":
            values = self._fresh
        elif stage == "sft" and self.chosen.adapter is not None:
            peft: Any = importlib.import_module("peft")
            found = peft.load_peft_weights(str(self.chosen.adapter), device="cpu")
            values = [found[name.replace(".default.", ".")] for name, _ in named]
        else:
            found = torch.load(self.into / stage / "checkpoint.pt", map_location="cpu", weights_only=True)
            values = [found["masters"][name] for name, _ in named]
        with torch.no_grad():
            for (_, parameter), value in zip(named, values, strict=True):
                parameter.copy_(value)
        self.stage, self.calibrations = stage, {}

    def note(self, what: str, **figures: Any) -> None:
        with (self.into / "figures.jsonl").open("a") as file:
            file.write(json.dumps({"what": what, "stage": self.stage} | figures) + "\n")

    def known(self, what: str) -> dict[str, Any] | None:
        path = self.into / "figures.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return next((row for row in rows if (row["what"], row["stage"]) == (what, self.stage)), None)

    def sft(self, seconds: float) -> None:
        self.begin_from("base")
        self.stage = "sft"
        if self.known("trained") or self.chosen.adapter is not None:
            self.begin_from("sft")
            return
        settings = SftSettings(self.chosen.examples, self.chosen.batch_tokens, rate=self.chosen.rate)
        drawn = self.chosen.drawn
        world = self.told_world if drawn is None else Stored(drawn, self.told_world)
        done = supervise(self.student, world, self.into / "sft", settings, seconds, _say, 60.0)
        self.note("trained", settings=vars(settings), **done)

    def grpo(self, reward: str, seed: int, seconds: float) -> None:
        self.begin_from("sft")
        self.stage = f"grpo-{reward}-{seed}"
        if self.known("trained"):
            self.begin_from(self.stage)
            return
        settings = GrpoSettings(
            reward,
            steps=self.chosen.steps,
            questions=self.chosen.questions,
            groups_at_once=self.chosen.groups_at_once,
            rate=self.chosen.policy_rate,
            seed=seed,
        )
        world = KernelPairs.for_policy(self.data)
        done = improve(self.student, world, self.into / self.stage, settings, seconds, _say, 60.0)
        self.note("trained", settings=vars(settings), **done)

    def evaluate(self, forms: list[str]) -> None:
        self.student.model.eval()
        with bases.merged(self.student):  # as it is in use
            for form in forms:
                if not self.known(f"eval {form}"):
                    self._judge(form)

    def _judge(self, form: str) -> None:
        sample = Sample.of(self.data, self.chosen.limit, 0)
        weights = Weights(self.chosen.base, dtype="bfloat16", batch_tokens=BATCH_TOKENS[form])
        model = LocalModel(weights, (self.student.model, self.student.tokenizer))
        written = form == "distribution"
        calibration = None if written else self.calibrate(form)
        rows, began = {}, time.monotonic()
        for split, pools in sample.pools.items():
            asked = LmForecaster(
                model,
                form if written else "direct",
                max_tokens=WRITTEN_TOKENS,
                style=brief.TOLD if form == "told" else brief.ALONE,
                calibration=calibration,
            )
            judged = judge(Informed(asked, sample.lessons), pools)
            self._keep(form, split, judged)
            result = assess(judged, self.stage, split, 0, RESAMPLES).to_dict()
            rows[split] = {name: result["figures"][name] for name in FIGURES} | {
                "candidates": result["candidates"],
                "troubles": dict(asked.troubles),
            }
            told = {name: _value(rows[split][name]) for name in FIGURES}
            print(self.stage, form, split, told, dict(asked.troubles), flush=True)
        self.note(f"eval {form}", splits=rows, seconds=round(time.monotonic() - began, 1))

    def _keep(self, form: str, split: str, judged: Judged) -> None:
        """Every forecast, for what is made of them later (`python -m benchmarks.train_lm_stack`)."""
        with (self.into / f"told-{self.stage}-{form}.jsonl").open("a") as file:
            for pool, forecasts in zip(judged.pools, judged.forecasts, strict=True):
                for identity, one in zip(pool.ids, forecasts, strict=True):
                    told = [round(p, 4) for p in one.bins()]
                    row = {
                        "split": split,
                        "pool": pool.name,
                        "id": identity,
                        "p_fail": round(one.p_fail, 4),
                        "shaped": form == "told",  # within bins by the trees
                    }
                    file.write(json.dumps(row | {"bins": told}) + "\n")

    def calibrate(self, form: str) -> Calibration:
        """Fitted on training operations that were kept back; the same for every stage."""
        if form not in self.calibrations:
            what = "calibrated" if form == "direct" else f"calibrated {form}"
            known = self.known(what)
            if known:
                self.calibrations[form] = Calibration.from_dict(known["calibration"])
            else:
                world = self.told_world if form == "told" else self.world
                stated, came = calibrate.choice_probs(self.student, world, world.check(CHECKED, 0))
                self.calibrations[form] = calibrate.fit(stated, came)
                self.note(what, calibration=self.calibrations[form].to_dict(), questions=len(stated))
        return self.calibrations[form]

    def save(self) -> None:
        """The adapter of the stage at hand, with its card; it is to be told what trees expect."""
        trained = self.known("trained") or {}
        learnt, kept = self.world.operations
        about = {
            "stage": self.stage,
            "corpus": CORPUS.name,
            "trained": trained,
            "operations": len(learnt),
            "kept": kept,
        }
        bases.save(self.student, self.into / "adapters" / self.stage, brief.TOLD, self.calibrate("told"), about)

    def speed(self) -> None:
        """Direct forecasts per second of prompts of 2,000 tokens, and tokens per second of sampled answers."""
        tokenizer = self.student.tokenizer
        text = tokenizer.decode(np.random.default_rng(0).integers(1000, 60_000, 4000).tolist())
        words = tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"][:1960])
        requests = [Request((Message("user", f"{i} {words}"),), None, self.world.choices, 1) for i in range(256)]
        weights = Weights(self.chosen.base, dtype="bfloat16", batch_tokens=131_072)
        model = LocalModel(weights, (self.student.model, tokenizer))
        rates = {}
        for how in ("beside", "merged"):  # the adapter beside the weights, or added to them as in use
            with bases.merged(self.student) if how == "merged" else nullcontext():
                model.ask(requests[:64])
                began = time.monotonic()
                replies = model.ask(requests)
                rates[how] = round(len(requests) / (time.monotonic() - began), 1)
        mean = np.mean([reply.usage.prompt_tokens for reply in replies])
        asked = KernelPairs.for_policy(self.data).train(SAMPLED_QUESTIONS, 0)
        prompts = self.student.asked(asked)
        sample(self.student, prompts[:8], 8, 8, 0)
        written = sample(self.student, prompts, 8, WRITTEN_TOKENS, 0)
        self.note(
            "speed",
            forecasts_per_s=rates["merged"],
            unmerged_forecasts_per_s=rates["beside"],
            tokens=round(float(mean)),
            sampled_tokens_per_s=round(written.tokens / written.seconds),
        )
        print("speed", rates, "forecasts/s of", mean, "tokens", flush=True)
        print("sampling", written.tokens / written.seconds, "tokens/s", flush=True)


def _value(figure: Any) -> Any:
    value = figure["value"] if isinstance(figure, dict) else figure
    return None if value is None else round(value, 3)


def _say(words: str) -> None:
    print(words, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--plan", nargs="+", required=True)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no stage after this many")
    parser.add_argument("--unpacked", type=Path, help="file for the weights unpacked, to load fast the next time")
    parser.add_argument("--adapter", type=Path, help="folder of what the supervised stage left, to go on from there")
    parser.add_argument("--drawn", type=Path, help="file of the examples (.jsonl.gz)")
    parser.add_argument("--trees", type=Path, help="file of what trees say of rows they were not shown")
    parser.add_argument("--examples", type=int, default=SftSettings.examples)
    parser.add_argument("--batch-tokens", type=int, default=SftSettings.batch_tokens)
    parser.add_argument("--rate", type=float, default=SftSettings.rate)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=GrpoSettings.steps)
    parser.add_argument("--questions", type=int, default=GrpoSettings.questions)
    parser.add_argument("--groups-at-once", type=int, default=GrpoSettings.groups_at_once)
    parser.add_argument("--policy-rate", type=float, default=GrpoSettings.rate)
    parser.add_argument("--limit", type=int, default=LIMIT, help="candidates of a pool that are asked about")
    chosen = parser.parse_args()
    if chosen.plan == ["draw"]:
        data = read(CORPUS)
        world = KernelPairs(data, left_out(data, _say, chosen.trees))
        stored.write(chosen.drawn, world, world.train(chosen.examples, 0))
        return
    began = time.monotonic()
    bench = Bench(chosen)
    for stage in chosen.plan:
        if time.monotonic() - began > chosen.seconds:
            print("the time is up before", stage, flush=True)
            break
        name, *rest = stage.split(":")
        match name:
            case "sft":
                bench.sft(float(rest[0]))
            case "grpo":
                bench.grpo(rest[0], int(rest[1]), float(rest[2]))
            case "eval":
                bench.evaluate(rest or list(BATCH_TOKENS))
            case "speed":
                bench.speed()
            case "save":
                bench.save()
            case _:
                raise SystemExit(f"there is no stage {stage!r}")
        print(f"{stage} done at {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
