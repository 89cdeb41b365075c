"""`foretell train lm` on the command line: what it refuses, and how it says so."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet
import pytest

from foretell.cli.errors import BAD_INPUT, explain
from foretell.cli.train import lm
from foretell.kernels.evaluate import foreign
from foretell.lm.adapter import WrongBase
from foretell.train.lm.run import Wanted
from tests.cli.conftest import Invoke

# They are looked for and not imported: that takes seconds, in every process that collects tests.
pytestmark = pytest.mark.skipif(not (find_spec("torch") and find_spec("peft")), reason="torch or peft is not installed")

CORPUS = Path(__file__).parents[2] / "data" / "corpus_gpu.parquet"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--stage", "rl"), "there is no stage 'rl'"),
        (("--stage", "grpo"), "--from RUN/adapter"),
        (("--stage", "grpo", "--weights", "crps"), "--weights has 'crps'"),
        (("--stage", "grpo", "--reward", "speed"), "there is no reward 'speed'"),
        (("--stage", "grpo", "--reward", "crps", "--weights", "crps=1,foo=2"), "has the parts crps"),
        (("--stage", "grpo", "--from", "nowhere"), "there is no adapter in nowhere"),
        (("--dtype", "float99"), "torch has no type 'float99'"),
        (("--seed", "-1"), "'--seed'"),
        (("--seconds", "0"), "'--seconds'"),
    ],
)
def test_what_cannot_work_is_told(options: tuple[str, ...], words: str, invoke: Invoke, tmp_path: Path) -> None:
    into = tmp_path / "into"
    result = invoke("train", "lm", "--base", "b.gguf", "--into", into, "--data", CORPUS, *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not into.exists()


def test_kernels_measured_elsewhere_are_not_learnt_from(invoke: Invoke, tmp_path: Path) -> None:
    columns = {name: ["a", "b"] for name in foreign.REQUIRED if name != "speedup"} | {"speedup": [1.0, 2.0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "elsewhere.parquet")
    (tmp_path / "b.gguf").touch()
    table, base = tmp_path / "elsewhere.parquet", tmp_path / "b.gguf"
    result = invoke("train", "lm", "--base", base, "--into", tmp_path / "into", "--data", table)
    assert result.exit_code == 2
    assert "kernels measured elsewhere" in result.stderr.replace("\n", " ")


def test_what_is_trained_by_default_is_what_the_trainer_does() -> None:
    offered = inspect.signature(lm).parameters
    for name in ("seconds", "examples", "steps", "reward", "answer_only", "rate", "rank", "seed", "dtype", "alone"):
        assert offered[name].default == getattr(Wanted, name), name


def test_an_adapter_on_another_base_is_bad_input() -> None:
    problem = explain(WrongBase("the adapter was trained on a, and b has other weights"))
    assert problem is not None
    assert problem.code == BAD_INPUT
    assert "?base=PATH" in problem.do
