"""`foretell train`: models learnt from the corpus."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell import extras
from foretell.cli import names
from foretell.cli.corpus import is_absent, no_corpus
from foretell.cli.errors import BadInput, plainly
from foretell.cli.group import help_alone
from foretell.cli.options import MAX_COUNT, CorpusFolder, Jobs, Seed, count, finite, positive
from foretell.cli.output import AsJson, document, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.device import Device

Out = Annotated[Path, typer.Option(metavar="FILE", help="The model to write (.npz).")]

train = typer.Typer(help="Train forecasters on the corpus of measured kernels.")
train.callback(invoke_without_command=True)(help_alone)


@train.command()
@plainly
def features(
    out: Out,
    folder: CorpusFolder = Path("data"),
    seed: Seed = 0,
    quick: Annotated[bool, typer.Option(help="A tenth of the trees: to try things out.")] = False,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Train the forecaster `features`: boosted trees for speedup and failure, with out-of-fold error estimates."""
    extras.check("data", "sklearn", "pyarrow")
    from foretell.train.features import Effort, train

    rows, devices = _corpus(folder)
    effort = replace(Effort(30, 20, 30, 2) if quick else Effort(), jobs=jobs or len(os.sched_getaffinity(0)))
    console = progress_console()
    model = train(rows, devices, seed, effort, lambda words: console.print(words))
    out.parent.mkdir(parents=True, exist_ok=True)
    model.save(out)
    size_bytes = out.stat().st_size
    if as_json:
        document({"model": str(out), "rows": model.about["rows"], "size_bytes": size_bytes})
    else:
        people().print(f"trained on {model.about['rows']} rows; {out} is {size_bytes / 1e6:.1f} MB")


@train.command()
@plainly
def lm(
    into: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder of the training run: log, checkpoint and, at the end, adapter/."),
    ],
    base: Annotated[
        str, typer.Option(metavar="WEIGHTS", help="Base weights: a folder, a GGUF file or a Hugging Face id.")
    ],
    stage: Annotated[
        str,
        typer.Option(
            "--stage",
            metavar="STAGE",
            help="sft (supervised) or grpo (reinforcement by rewards).",
            autocompletion=names.one_of(names.STAGES),
        ),
    ] = "sft",
    start: Annotated[
        Path | None,
        typer.Option("--from", metavar="ADAPTER", help="The adapter to continue from; grpo needs the one of sft."),
    ] = None,
    folder: CorpusFolder = Path("data"),
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            metavar="SECONDS",
            min=1.0,
            callback=positive,
            help="Stop training after this time; the same command resumes it.",
        ),
    ] = 1500.0,
    examples: Annotated[
        int, typer.Option(metavar="N", callback=count, help="Questions of the supervised stage.")
    ] = 26_000,
    steps: Annotated[int, typer.Option(metavar="N", callback=count, help="Steps of the policy stage.")] = 140,
    reward: Annotated[
        str,
        typer.Option(
            "--reward",
            metavar="REWARD",
            help="correctness, correctness+brier, correctness+crps, crps, or another sum of those.",
        ),
    ] = "correctness+brier",
    weights: Annotated[
        str,
        typer.Option(
            metavar="NAME=W,...",
            help="Weights of the reward's parts, such as correctness=0.3,crps=0.7.",
            show_default="by reward",
        ),
    ] = "",
    kl: Annotated[
        float,
        typer.Option(metavar="WEIGHT", min=0.0, callback=finite, help="Weight of the KL penalty in the policy stage."),
    ] = 0.0,
    answer_only: Annotated[
        bool, typer.Option(help="Learn from the answer's tokens, not from the reasoning before it.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="RATE", callback=positive, help="Learning rate.", show_default="by stage"),
    ] = None,
    rank: Annotated[int, typer.Option(metavar="N", min=1, max=4096, help="Rank of a new adapter.")] = 16,
    seed: Seed = 0,
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="DTYPE", help="Data type to compute in, as torch names it.")
    ] = "bfloat16",
    longest: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS", min=64, max=MAX_COUNT, help="Leave out longer questions.", show_default="by stage"
        ),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            metavar="N", callback=count, help="Questions per step of the policy stage.", show_default="by stage"
        ),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, max=MAX_COUNT, help="Answers sampled per question.", show_default="by stage"),
    ] = None,
    alone: Annotated[bool, typer.Option(help="Do not show the model what the forecaster `features` predicts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a language model to forecast, on this machine's GPU (or, slowly, its CPU): an adapter for any base."""
    extras.check("train", "torch", "transformers", "peft", "scipy", "pyarrow", *(() if alone else ("sklearn",)))
    if stage not in names.STAGES:
        raise BadInput(f"there is no stage {stage!r}", "sft or grpo")
    if is_absent(folder):
        raise no_corpus(folder, f"foretell train lm --into {into} --base {base} --data FOLDER")
    from foretell.kernels.evaluate.data import read
    from foretell.kernels.evaluate.pools import BadTable
    from foretell.train.lm.errors import TrainingTrouble
    from foretell.train.lm.run import Wanted, check, train_lm

    try:
        parts = _weights(weights)
        wanted = Wanted(
            stage, base, into, start, seconds, examples, steps, reward, tuple(parts.items()), kl, answer_only, rate,
            rank, seed, dtype, alone, longest, questions, answers,
        )  # fmt: skip
        check(wanted)  # before the corpus is read, which takes seconds
        done = train_lm(read(folder), wanted, lambda words: progress_console().print(words, highlight=False))
    except BadTable as error:
        raise BadInput(str(error), error.expected or "a corpus") from error
    except (TrainingTrouble, ValueError, OSError) as error:
        raise BadInput(str(error)) from error
    if as_json:
        document({"into": str(into), "summary": done})
    else:
        people().print(done)


def _weights(text: str) -> dict[str, float]:
    """`correctness=0.3,crps=0.7` as numbers by name."""
    found = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            found[name.strip()] = _number(value)
        except ValueError:
            raise BadInput(f"--weights has {part!r}", "parts with numbers, as in correctness=0.3,crps=0.7") from None
    return found


def _number(text: str) -> float:
    """Raises ValueError unless the text is a finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _corpus(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Device]]:
    """The corpus's rows and their devices; BadInput where it cannot be read or is not there."""
    from foretell.kernels.corpus.table import files, read
    from foretell.kernels.devices import UnknownDevice, named

    try:
        rows = read(folder) if files(folder) else []
        devices = {name: named(name) for name in sorted({r["device"] for r in rows})}
    except UnknownDevice as error:
        raise BadInput(str(error), "a corpus of known devices") from error
    if not rows:
        raise no_corpus(folder, "foretell train features --out MODEL.npz --data FOLDER")
    return rows, devices
