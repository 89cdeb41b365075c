"""Shell completion: scripts for shells, names that complete, and nothing heavy imported on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from foretell.cli import names
from foretell.kernels import library
from tests.cli.forked import Forked

HEAVY = ("numpy", "scipy", "sklearn", "torch", "pyarrow", "jinja2")


@pytest.fixture(scope="module")
def process() -> Iterator[Forked]:
    variables = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    with Forked(variables, say_if_imported=HEAVY) as process:
        yield process


def complete(process: Forked, words: str, folder: Path, shell: str = "zsh") -> str:
    """What a shell is offered for a line that ends where the cursor is."""
    variables = {"_FORETELL_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": f"foretell {words}"}
    done = process.run(folder=folder, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "", f"completion imported {done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sea", "search"),
        ("search softm", "softmax"),
        ("search softmax --policy sel", "selective"),
        ("search softmax --forecaster on", "online"),
        ("search softmax --strategy isl", "islands"),
        ("search softmax --language tri", "triton"),
        ("search softmax --profile qui", "quick"),
        ("ask runs/x --task log_s", "log_softmax"),
        ("forecast softmax mine.py --device h2", "h200"),
        ("report runs/so", "runs/softmax-1"),
        ("replay --policy tun", "tuner"),
        ("eval --forecaster con", "constant"),
        ("gui demo --mode sha", "shadow"),
    ],
)
def test_names_complete(words: str, offered: str, own_place: Path, process: Forked) -> None:
    (own_place / "runs/softmax-1").mkdir(parents=True)
    (own_place / "runs/softmax-1/journal.jsonl").touch()
    assert offered in complete(process, words, own_place)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell: str, own_place: Path, process: Forked) -> None:
    done = process.run(folder=own_place, _FORETELL_COMPLETE=f"source_{shell}")
    assert done.returncode == 0 and "_FORETELL_COMPLETE=complete_" + shell in done.stdout


def test_completion_can_be_installed(own_place: Path, process: Forked) -> None:
    for option in ("--show-completion", "--install-completion"):
        done = process.run(option, "bash", folder=own_place, HOME=str(own_place))
        if "unexpected extra argument" in done.stderr:
            pytest.skip("this version of Typer detects the shell by itself")
        assert done.returncode == 0, done.stderr
    assert "foretell" in (own_place / ".bashrc").read_text()


def test_names_are_those_of_the_registries() -> None:
    from foretell.gui.verdict import Mode
    from foretell.kernels.corpus.plan import LANGUAGES as PLANNED
    from foretell.kernels.corpus.splits import SPLITS
    from foretell.kernels.evaluate.controls import CONTROLS
    from foretell.kernels.evaluate.pools import TIERS
    from foretell.kernels.forecast import FORECASTERS
    from foretell.kernels.policy import POLICIES
    from foretell.kernels.profiles import PROFILES
    from foretell.kernels.propose.names import PROPOSERS
    from foretell.kernels.replay.compare import CONTESTING
    from foretell.kernels.search import STRATEGIES

    assert set(names.POLICIES) == set(POLICIES) and set(names.REPLAY_POLICIES) == set(CONTESTING)
    assert set(names.STRATEGIES) == set(STRATEGIES) and set(names.FORECASTERS) == set(FORECASTERS)
    assert set(names.EVAL_FORECASTERS) == {*CONTROLS, *FORECASTERS}
    assert set(names.PROFILES) == set(PROFILES) and set(names.PROPOSERS) == set(PROPOSERS)
    assert set(names.KINDS) == set(PLANNED) and set(names.TIERS) == set(TIERS)
    assert set(names.SPLITS) == {*SPLITS, "all"} and set(names.MODES) == set(Mode)
    assert set(names.tasks("")) == {*library.tasks("cpu"), *library.tasks("gpu")}
