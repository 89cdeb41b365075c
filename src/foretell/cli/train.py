"""`foretell train`: models learnt from the corpus."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell import extras
from foretell.cli.errors import BadInput, plainly
from foretell.cli.output import people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.device import Device

Out = Annotated[Path, typer.Option(help="The model to write (.npz).")]
Folder = Annotated[Path, typer.Option("--data", help="The folder of the corpus.")]

train = typer.Typer(help="Train forecasters on the corpus of measured kernels.")


@train.command()
@plainly
def features(
    out: Out,
    folder: Folder = Path("data"),
    seed: int = 0,
    quick: Annotated[bool, typer.Option(help="A tenth of the trees: to try things out.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes that share the work; one a core by default.")
    ] = None,
) -> None:
    """Train the feature model: boosted trees for speed and failure, with their errors on what was left out."""
    extras.check("data", "sklearn", "pyarrow")
    from foretell.train.features import Effort, train

    rows, devices = _corpus(folder)
    effort = replace(Effort(30, 20, 30, 2) if quick else Effort(), jobs=jobs or len(os.sched_getaffinity(0)))
    console = progress_console()
    model = train(rows, devices, seed, effort, lambda words: console.print(words))
    out.parent.mkdir(parents=True, exist_ok=True)
    model.save(out)
    people().print(f"{model.about['rows']} rows learnt; {out} is {out.stat().st_size / 1e6:.1f} MB")


@train.command()
@plainly
def lm(
    into: Annotated[Path, typer.Option(help="Folder of the run: log, checkpoint and, at the end, adapter/.")],
    base: Annotated[str, typer.Option(help="Weights to start from: a folder, a GGUF file or a Hugging Face id.")],
    stage: Annotated[str, typer.Option(help="sft (supervised) or grpo (by rewards).")] = "sft",
    start: Annotated[
        Path | None, typer.Option("--from", help="The adapter to go on from: what sft left, for grpo.")
    ] = None,
    folder: Folder = Path("data"),
    seconds: Annotated[
        float, typer.Option(min=1.0, help="Stop training after this many; the same command goes on later.")
    ] = 1500.0,
    examples: Annotated[int, typer.Option(min=1, help="Questions of the supervised stage.")] = 26_000,
    steps: Annotated[int, typer.Option(min=1, help="Steps of the policy stage.")] = 140,
    reward: Annotated[
        str, typer.Option(help="correctness, correctness+brier, correctness+crps, crps, or other sums of those parts.")
    ] = "correctness+brier",
    weights: Annotated[str, typer.Option(help="Of the reward's parts, such as correctness=0.3,crps=0.7.")] = "",
    kl: Annotated[
        float, typer.Option(min=0.0, help="How much straying from the start costs in the policy stage.")
    ] = 0.0,
    answer_only: Annotated[
        bool, typer.Option(help="Learn from the answer's tokens, not from reasoning before it.")
    ] = False,
    rate: Annotated[float | None, typer.Option(help="Rate of learning; the stage's own by default.")] = None,
    rank: Annotated[int, typer.Option(min=1, help="Rank of a new adapter.")] = 16,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    dtype: Annotated[str, typer.Option(help="torch's name for what the model computes in.")] = "bfloat16",
    longest: Annotated[
        int | None, typer.Option(min=64, help="Leave questions of more tokens out; the stage's own limit by default.")
    ] = None,
    questions: Annotated[int | None, typer.Option(min=1, help="Questions a step of the policy stage.")] = None,
    answers: Annotated[int | None, typer.Option(min=2, help="Answers that are sampled to each of them.")] = None,
    alone: Annotated[bool, typer.Option(help="Do not tell the model what the trees of `features` expect.")] = False,
) -> None:
    """Train a language model to forecast, on this machine's GPU (or, slowly, its CPU): an adapter for any base."""
    extras.check("train", "torch", "transformers", "peft", "scipy", "pyarrow", *(() if alone else ("sklearn",)))
    if stage not in ("sft", "grpo"):
        raise BadInput(f"there is no stage {stage!r}", "sft or grpo")
    from foretell.kernels.evaluate.data import read
    from foretell.kernels.evaluate.pools import BadTable
    from foretell.train.lm.errors import TrainingTrouble
    from foretell.train.lm.run import Wanted, train_lm

    try:
        data = read(folder)
        parts = _weights(weights)
        wanted = Wanted(
            stage, base, into, start, seconds, examples, steps, reward, tuple(parts.items()), kl, answer_only, rate,
            rank, seed, dtype, alone, longest, questions, answers,
        )  # fmt: skip
        done = train_lm(data, wanted, lambda words: progress_console().print(words, highlight=False))
    except BadTable as error:
        raise BadInput(str(error), error.expected or "a corpus") from error
    except (TrainingTrouble, ValueError, OSError) as error:
        raise BadInput(str(error)) from error
    people().print(done)


def _weights(text: str) -> dict[str, float]:
    """`correctness=0.3,crps=0.7` as numbers by name."""
    found = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise BadInput(f"--weights has {part!r}", "parts with numbers, as in correctness=0.3,crps=0.7") from None
    return found


def _corpus(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Device]]:
    """The corpus's rows and their devices; BadInput where it cannot be read or is not there."""
    from foretell.kernels.corpus.table import files, read
    from foretell.kernels.devices import UnknownDevice, described

    try:
        rows = read(folder) if files(folder) else []
        devices = {name: described(name) for name in sorted({r["device"] for r in rows})}
    except UnknownDevice as error:
        raise BadInput(str(error), "a corpus of known devices") from error
    if not rows:
        raise BadInput(f"there is no corpus in {folder}", "corpus_*.parquet", "foretell data import FILE")
    return rows, devices
