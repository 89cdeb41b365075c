"""Live searches in which a language model writes the candidates, and what was measured goes into its next prompt.

    python -m benchmarks.learned.live FOLDER NAME ... [--finish]       # on the GPU machine, after each round of writing
    python -m benchmarks.learned.live FOLDER NAME ... --figures        # benchmarks/results/learned_live.json

For each problem every arm is a run of its own with the same budget of measurements. Writers see letters, not arms:

    FOLDER/NAME/round-1/*.py               the first candidates, the same for all arms
    FOLDER/NAME/LETTER/prompt-K.txt        what to write for round K, by what that arm measured
    FOLDER/NAME/LETTER/round-K/*.py        what was written for it

The command tells each run the rounds that are there and were not told yet, and writes the next prompts. An arm measures
`PER_ROUND` of the candidates that it knows and has not measured: `first` those written first (no surrogate), `newest`
those written last, `random` any of the round, `top` those of the highest forecast, `value` by the policy of that name.
With `--finish` winners are measured again. Journals stay in FOLDER/NAME/LETTER/run.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import foretell as ft
from benchmarks.real.listing import problem_files
from foretell.belief.bootstrap import bootstrap_all
from foretell.kernels.policy import Action, Choice, Policy, View, make_policy
from foretell.kernels.profiles import STANDARD, Budgets
from foretell.kernels.protocols import Bench
from foretell.kernels.search import UNPROPOSED, FileJournal, load_run
from foretell.parts import Parts, Wishes, new_parts
from foretell.run import Run

RESULTS = Path("benchmarks/results/learned_live.json")
ARMS = ("first", "newest", "random", "top", "value")
ROUNDS, PER_ROUND, WRITTEN = 3, 2, 6
BLIND = ("first", "newest", "random")  # arms that have no forecasts, so their writers see none either
FORECASTS = "## Others that were not measured"  # the section of a prompt that shows them
LANGUAGE, STRATEGY = "triton", "greedy"
SEED = 25
CLOSING = f"""\
Write {WRITTEN} different programs, each a file of its own. They may differ much from the program above."""


class InOrder:
    """Measure a fixed number of each batch: those written first, or those written last."""

    reconsiders = 0

    def __init__(self, name: str, count: int, last: bool) -> None:
        self.name, self._count, self._last = name, count, last

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        count = len(view.forecasts)
        take = min(self._count, count, view.affordable)
        chosen = range(count - take, count) if self._last else range(take)
        yes, no = Choice(Action.MEASURE, f"{self.name} {take} written"), Choice(Action.DROP, f"not the {self.name}")
        return [yes if i in chosen else no for i in range(count)]


def policy_of(arm: str, profile: Any) -> Policy:
    return InOrder(arm, PER_ROUND, arm == "newest") if arm in ("first", "newest") else make_policy(arm, profile)


def letters(problem: str) -> dict[str, str]:
    """The letter that each arm has for a problem, drawn anew for each."""
    drawn = random.Random(f"{SEED} {problem}").sample("abcde", len(ARMS))
    return dict(zip(ARMS, drawn, strict=True))


def parts_of(task: Any, arm: str) -> Parts:
    """The parts of a search that differ between arms in the policy alone."""
    wishes = Wishes(seed=SEED, strategy=STRATEGY, proposer=UNPROPOSED)
    parts = new_parts(task, wishes, LANGUAGE)
    budgets = Budgets(PER_ROUND * ROUNDS, 1e6, 1000)
    profile = replace(
        STANDARD, budgets=budgets, batch_size=WRITTEN, measure_per_batch=PER_ROUND,
        max_measure_per_batch=PER_ROUND, audit_share=0.0, verify_count=1, verify_attempts=1,
    )  # fmt: skip
    return replace(parts, policy=policy_of(arm, profile), config=replace(parts.config, profile=profile))


def without_forecasts(prompt: str) -> str:
    """A prompt without what the forecaster says of candidates that were not measured."""
    before, found, after = prompt.partition(FORECASTS)
    return before + after[after.index("## Your turn") :] if found else prompt


def carry_on(place: Path, problem: Path, arm: str, bench: Bench, finish: bool) -> None:
    """Tell a run what was written for it since, and write what to write next."""
    task, folder = ft.task(problem, "gpu"), place / letters(problem.stem)[arm]
    directory = folder / "run"
    journal: Any = FileJournal(directory)
    resumed = journal.exists()
    with Run(task, lambda: parts_of(task, arm), journal if resumed else lambda: journal, bench, False) as run:
        told = run.state.rounds if resumed else 0
        for number in range(told + 1, ROUNDS + 1):
            source = place / "round-1" if number == 1 else folder / f"round-{number}"
            files = sorted(source.glob("*.py"))
            if not files:
                break
            run.tell(files)
            told = number
        if told < ROUNDS:
            question = run.ask(closing=CLOSING)
            folder.mkdir(parents=True, exist_ok=True)
            prompt = without_forecasts(question.prompt) if arm in BLIND else question.prompt
            (folder / f"prompt-{told + 1}.txt").write_text(prompt + "\n")
        if finish:
            run.finish()
        print(f"{problem.stem} {letters(problem.stem)[arm]}: round {told}, {run!r}", flush=True)


def rows(folder: Path, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What each run came to."""
    for name in names:
        for arm, letter in letters(name).items():
            state = load_run(folder / name / letter / "run")
            measured = [node for node in state.nodes.values() if node.measurement is not None]
            by_round = [
                max((n.measurement.speedup or 0.0 for n in measured if n.round <= k and n.measurement), default=0.0)
                for k in range(state.rounds)
            ]
            inside = [
                node.forecast.interval(0.8)[0] <= node.measurement.log2_speedup <= node.forecast.interval(0.8)[1]
                for node in measured
                if node.forecast is not None and node.measurement is not None and node.measurement.ok
            ]
            best = state.best.verified if state.best is not None else None
            yield {
                "problem": name,
                "arm": arm,
                "candidates": len(state.nodes),
                "measured": len(measured),
                "failed": sum(not n.measurement.ok for n in measured if n.measurement),
                "device_s": sum(n.measurement.cost.device_s for n in measured if n.measurement),
                "best_by_round": by_round,
                "verified": best.speedup if best is not None else None,
                "in_interval": [sum(inside), len(inside)],
            }


def summary(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each arm's best as a share of the best of all arms on its problem, with intervals over problems."""
    names = sorted({row["problem"] for row in found})
    best = {name: max(row["best_by_round"][-1] for row in found if row["problem"] == name) for name in names}
    shares = {
        arm: np.array([row["best_by_round"][-1] / best[row["problem"]] for row in found if row["arm"] == arm])
        for arm in ARMS
    }
    report: dict[str, Any] = {}
    for arm, values in shares.items():
        over = np.log2(shares["value"] / np.maximum(values, 1e-3))
        for key, one in (("share", values), ("value over it, doublings", over)):
            interval = bootstrap_all({"": lambda drawn, one=one: float(one[drawn].mean())}, np.arange(one.size))[""]
            report.setdefault(arm, {})[key] = [interval.value, interval.low, interval.high]
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--finish", action="store_true")
    parser.add_argument("--figures", action="store_true")
    arguments = parser.parse_args()
    if arguments.figures:
        found = list(rows(arguments.folder, arguments.names))
        report = {"rows": found, "arms": summary(found)}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
        print(json.dumps(report["arms"], indent=1))
        return
    from foretell.kernels.bench.gpu.bench import GpuBench

    files = problem_files()
    with closing(GpuBench()) as bench:
        for name in arguments.names:
            for arm in ARMS:
                carry_on(arguments.folder / name, files[name], arm, bench, arguments.finish)


if __name__ == "__main__":
    main()
