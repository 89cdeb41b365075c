"""Train a small model on the facts and ask it about kept-back and held-out kernels. On the machine with the GPU.

    python -m benchmarks.learned.lm.run WEIGHTS.gguf FACTS.json.xz --into RUN --output OUT --name 0.5b

Stages: `untrained`, `sft` (supervised, --sft seconds) and `policy` (the reward `correctness+brier`, --policy seconds,
0 for none). After each the answers go to OUT/answers-NAME.json: probabilities of failure and of the eight bins, by one
letter (`direct`) and, of kernels on the H200, as the mean of a few written answers (`written`); the untrained model is
asked about kernels on the H200 alone, by letter. The same command goes on where it was cut, and begins no stage
that --seconds leaves less than half of its time. Adapters go to OUT in pieces; with --resume OUT a run on another
machine goes on from there.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import shutil
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learned.lm import facts
from benchmarks.learned.lm.facts import CHECK, HELD_OUT, Kernel, Problem
from benchmarks.learned.lm.world import IN_USE, Facts
from foretell.lm.adapter import Calibration, check_adapter, check_base
from foretell.train.lm import base as bases
from foretell.train.lm.calibrate import choice_probs
from foretell.train.lm.grpo import GrpoSettings, improve
from foretell.train.lm.sampling import sample
from foretell.train.lm.supervised import SftSettings, supervise

LONGEST = 8_192  # tokens of a question; texts are cut, so that all are shorter
WRITTEN_TOKENS, WRITTEN_ANSWERS, WRITTEN_AT_ONCE = 48, 4, 64
LEAST_SHARE = 0.5  # of a stage's seconds: with less left it is not begun
PIECE_BYTES = 15_000_000
WRITTEN_COLUMN = "device"
ADAPTER = "adapter"
DIRECT, WRITTEN = "direct", "written"


class Run:
    """The model, the questions, and what was answered and noted so far."""

    def __init__(self, chosen: argparse.Namespace, loaded: tuple[Any, Any] | None = None) -> None:
        self._chosen, self._began = chosen, time.monotonic()
        self._into, self._output = chosen.into / chosen.name, chosen.output
        self._into.mkdir(parents=True, exist_ok=True)
        self._output.mkdir(parents=True, exist_ok=True)
        self._state = self._into / "state.json"
        if chosen.resume is not None and not self._state.exists():
            restore(chosen.resume, chosen.name, self._into, self._state)
        known = json.loads(self._state.read_text()) if self._state.exists() else {"notes": {}, "answers": {}}
        self._notes: dict[str, Any] = known["notes"]
        self._answers: dict[str, Any] = known["answers"]
        self._problems = facts.read(chosen.facts)
        self._world = Facts(self._problems)
        lora = bases.LoraSettings(chosen.rank, 2 * chosen.rank)
        self._student = bases.load(chosen.weights, self._world.choices, lora, dtype=chosen.dtype, loaded=loaded)
        say(f"weights after {self.elapsed_s:.0f} s, {self._student.dtype} on {self._student.device}")

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def all_stages(self) -> None:
        for stage, seconds in (("untrained", 0.0), ("sft", self._chosen.sft), ("policy", self._chosen.policy)):
            if stage != "untrained" and not seconds:
                continue
            if stage in self._notes:
                self._put_back(stage)
            elif (left := self._chosen.seconds - self.elapsed_s) < LEAST_SHARE * seconds:
                say(f"no room for {stage}: run the same command again")
                return
            else:
                self._notes[stage] = self._train(stage, min(seconds, left))
                self._save()
                say(f"{stage}: {self._notes[stage]}")
            self._ask(stage)

    def _train(self, stage: str, seconds: float) -> dict[str, Any]:
        into, chosen = self._into / stage, self._chosen
        if stage == "untrained":
            return {}
        if stage == "sft":
            taught = SftSettings(chosen.examples, chosen.batch_tokens, LONGEST, chosen.rate)
            done = supervise(self._student, self._world, into, taught, seconds, say, 60.0)
        else:
            rewarded = GrpoSettings(
                steps=chosen.steps, questions=chosen.questions, longest_prompt=LONGEST, groups_at_once=chosen.groups
            )
            done = improve(self._student, Facts(self._problems, IN_USE), into, rewarded, seconds, say, 60.0)
            self._student.model.eval()
        bases.save(self._student, into / ADAPTER, self._world.style, Calibration(), {"stage": stage, "trained": done})
        self._pack(stage)
        return done

    def _put_back(self, stage: str) -> None:
        """The parameters that a finished stage left."""
        adapter = self._into / stage / ADAPTER
        if not adapter.exists():
            return
        check_adapter(adapter)
        check_base(adapter, self._student.model.get_base_model(), self._chosen.weights)
        torch: Any = importlib.import_module("torch")
        peft: Any = importlib.import_module("peft")
        found = peft.load_peft_weights(str(adapter), device="cpu")
        with torch.no_grad():
            for name, parameter in self._student.learning():
                parameter.copy_(found[name.replace(".default.", ".")])
        self._student.model.eval()
        self._pack(stage)

    def _ask(self, stage: str) -> None:
        """Answers about all kernels that were kept back or held out, those on the H200 first."""
        answers = self._answers.setdefault(stage, {})
        rows = sorted(self._world.asked(CHECK, HELD_OUT), key=lambda row: row[0].column)
        device = [row for row in rows if row[0].column == WRITTEN_COLUMN]
        others = [row for row in rows if row[0].column != WRITTEN_COLUMN]
        every = ((DIRECT, device), (WRITTEN, device), (DIRECT, others))
        for form, own in every[:1] if stage == "untrained" else every:
            told = answers.setdefault(form, {})
            left = [row for row in own if row[1].name not in told][: self._chosen.limit]
            if left and self.elapsed_s < self._chosen.seconds:
                began = time.monotonic()
                told |= self._direct(left) if form == DIRECT else self._written(left)
                rate = len(left) / (time.monotonic() - began)
                self._notes[stage].setdefault("answers_per_s", {})[form] = round(rate, 1)
                say(f"{stage}, {form}: {len(left)} questions, {rate:.1f} a second")
                self._save()

    def _direct(self, rows: Sequence[tuple[Problem, Kernel]]) -> dict[str, list[float]]:
        examples = [self._world.example(*row) for row in rows]
        stated, _ = choice_probs(self._student, self._world, examples, LONGEST, self._chosen.asked_tokens)
        if len(stated) != len(rows):
            raise SystemExit(f"{len(rows) - len(stated)} questions have more than {LONGEST} tokens")
        return {kernel.name: _rounded(probs) for (_, kernel), probs in zip(rows, stated, strict=True)}

    def _written(self, rows: Sequence[tuple[Problem, Kernel]]) -> dict[str, list[float]]:
        """The mean of the answers that can be read; an empty list where none can."""
        found: dict[str, list[float]] = {}
        for at in range(0, len(rows), WRITTEN_AT_ONCE):
            few = rows[at : at + WRITTEN_AT_ONCE]
            prompts = self._student.asked([self._world.example(*row, "structured") for row in few])
            drawn = sample(self._student, prompts, WRITTEN_ANSWERS, WRITTEN_TOKENS, at)
            for (_, kernel), group in zip(few, drawn.answers, strict=True):
                read = [probs for one in group if (probs := self._world.read(one.text)) is not None]
                found[kernel.name] = _rounded(np.mean(read, axis=0)) if read else []
        return found

    def _save(self) -> None:
        text = json.dumps({"notes": self._notes, "answers": self._answers})
        partial = self._state.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(self._state)
        (self._output / f"answers-{self._chosen.name}.json").write_text(text)

    def _pack(self, stage: str) -> None:
        """The stage's adapter as a tar file in pieces."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(self._into / stage / ADAPTER, ADAPTER)
        data = packed.getvalue()
        for number, at in enumerate(range(0, len(data), PIECE_BYTES)):
            path = self._output / f"adapter-{self._chosen.name}-{stage}.tar.{number}"
            path.write_bytes(data[at : at + PIECE_BYTES])


def restore(output: Path, name: str, into: Path, state: Path) -> None:
    """Put the answers and adapters that another machine's run left in its OUT where a run looks for its own."""
    for first in sorted(output.glob(f"adapter-{name}-*.tar.0")):
        pieces = sorted(output.glob(f"{first.stem}.*"), key=lambda piece: int(piece.suffix[1:]))
        stage = first.name.removeprefix(f"adapter-{name}-").removesuffix(".tar.0")
        with tarfile.open(fileobj=io.BytesIO(b"".join(piece.read_bytes() for piece in pieces))) as archive:
            members = [member for member in archive.getmembers() if member.isfile()]
            folder = into / stage / ADAPTER
            folder.mkdir(parents=True, exist_ok=True)
            for member in members:
                file = archive.extractfile(member)
                assert file is not None
                (folder / Path(member.name).name).write_bytes(file.read())
    shutil.copy(output / f"answers-{name}.json", state)


def _rounded(probs: Any) -> list[float]:
    return [round(float(p), 5) for p in probs]


def say(words: str) -> None:
    print(words, flush=True)


def parser_of() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights")
    parser.add_argument("facts", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--resume", type=Path, help="the OUT of a run on another machine, to go on from there")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after that")
    parser.add_argument("--sft", type=float, default=150.0)
    parser.add_argument("--policy", type=float, default=90.0)
    parser.add_argument("--examples", type=int, default=6_000)
    parser.add_argument("--batch-tokens", type=int, default=32_768)
    parser.add_argument("--asked-tokens", type=int, default=131_072)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=140)
    parser.add_argument("--questions", type=int, default=32)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--limit", type=int, help="ask about so many kernels of a column, for small trials")
    return parser


if __name__ == "__main__":
    Run(parser_of().parse_args()).all_stages()
