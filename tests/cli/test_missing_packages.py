"""Every command without any extra: it works, or names the missing package and the command that installs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
import typer.main

from foretell.cli.app import app
from foretell.extras import EXTRAS, Extra
from foretell.kernels.library import get
from tests.cli.absent import environment
from tests.cli.forked import Forked

ROOT = Path(__file__).parents[2]
WORKS, REFUSED = "", "-"  # in place of an extra: exit code 0; an error that is not about a package
ENDPOINT = "openai:m@http://127.0.0.1:9/v1?timeout_s=1"

# A command line, and the extra that it lacks.
COMMANDS: Sequence[tuple[str, str]] = (
    ("--version", WORKS),
    ("doctor", WORKS),
    ("tasks --kind gpu", WORKS),
    ("tasks mish --reference", WORKS),
    ("tasks", WORKS),
    ("tasks softmax --reference", WORKS),
    ("search softmax --measurements 1 --candidates 2", WORKS),
    ("search softmax --language triton", "gpu"),
    ("search softmax --language cuda", "gpu"),
    ("search softmax --forecaster local:weights", "train"),
    ("search softmax --proposer local:weights", "train"),
    ("ask new --task softmax", WORKS),
    ("ask other --task softmax --language triton", "gpu"),
    ("ask other --task softmax --language torch", "gpu"),
    ("tell run mine.cpp", WORKS),
    ("report run", WORKS),
    ("measure softmax mine.cpp", WORKS),
    ("measure softmax mine.py", "gpu"),
    ("record softmax mine.py", "gpu"),
    ("explain softmax mine.py", "gpu"),
    ("calibrate", "gpu"),
    ("audit data/corpus_gpu.parquet", "data"),
    ("measure problem.py mine.py", "gpu"),
    ("forecast softmax mine.cpp", WORKS),
    ("forecast softmax mine.py --device h200", WORKS),
    ("forecast softmax mine.cpp --forecaster local:weights", "train"),
    ("catalogue list", WORKS),
    ("catalogue show zzzz", REFUSED),
    ("catalogue clear --yes", WORKS),
    ("replay", "data"),
    ("replay data/corpus_gpu.parquet", "data"),
    ("eval", "data"),
    ("eval --data data/corpus_gpu.parquet", "data"),
    ("eval --forecaster local:weights", "data"),
    ("data plan --out new.gz --per-language 1 --rounds 1 --task softmax", WORKS),
    ("collect cpu.gz --into catalogue.jsonl --corpus nowhere", WORKS),
    ("collect gpu.gz --into catalogue.jsonl --corpus nowhere", "gpu"),
    ("collect cpu.gz --into catalogue.jsonl", "data"),
    ("data import catalogue.jsonl", "data"),
    ("data stats", "data"),
    ("data verify", "data"),
    ("data split --out split.json", "data"),
    ("data export --out rows.jsonl", "data"),
    ("data rebuild features.jsonl", "data"),
    ("data rebuild features.jsonl --apply", "data"),
    ("train features --out model.npz", "data"),
    ("train lm --into trained --base weights", "train"),
    ("train lm --into trained --base weights --alone", "train"),
    ("gui demo", "gui"),
    ("gui demo --critic rules", "gui"),
    ("gui replay trace", WORKS),
    ("gui rescore trace", "gui"),
    ("gui rescore trace --critic rules", "gui"),
    (f"gui rescore trace --critic {ENDPOINT}", "gui"),
)

DATA_FIRST = {"collect"}  # only with a corpus beside it, which the extra that it names is for

# These measure on the CPU for seconds, as tests of them do anyway.
MEASURING = (
    "search softmax --measurements",
    "measure softmax mine.cpp",
    "collect cpu.gz --into catalogue.jsonl --corpus",
)

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

def kernel(x):
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 1024)
    return y
"""

# What most commands import; none of it needs an extra.
PRELOAD = ("foretell.kernels.library", "foretell.kernels.search", "foretell.kernels.bench.cpu", "foretell.report")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs commands without the packages of any extra, in a folder that has what they read."""
    folder = tmp_path_factory.mktemp("bare")
    work = folder / "work"
    (work / "data").mkdir(parents=True)
    (work / "data" / "corpus_gpu.parquet").write_bytes(b"PAR1")
    (work / "mine.cpp").write_text(get("softmax", "cpu").references["cpp"])
    (work / "mine.py").write_text(KERNEL)
    (work / "problem.py").write_text((ROOT / "examples" / "kernelbench" / "gelu_problem.py").read_text())
    (work / "catalogue.jsonl").write_text("")
    trace(work / "trace")
    modules = {module for extra in EXTRAS.values() for module in extra.packages}
    variables = environment(folder / "without", modules) | {"FORETELL_CACHE": str(folder / "cache"), "COLUMNS": "200"}

    with Forked(variables, PRELOAD) as process:
        run = partial(process.run, folder=work)
        for kind in ("cpu", "gpu"):
            run(*f"data plan --out {kind}.gz --kind {kind} --per-language 1 --rounds 1 --task softmax".split())
        run("ask", "run", "--task", "softmax")
        yield run


def trace(folder: Path) -> None:
    """A trace of one judged step, as a guard leaves it."""
    pytest.importorskip("PIL")
    from tests.gui.test_trace import episode

    episode(folder)


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        pytest.param(*one, id=one[0], marks=[pytest.mark.full] if one[0].startswith(MEASURING) else [])
        for one in COMMANDS
    ],
)
def test_without_extras(bare: Run, line: str, extra: str) -> None:
    done = bare(*line.split())
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    if extra == WORKS:
        assert done.returncode == 0, said
        return
    assert done.returncode == 2, said
    assert done.stderr.count("error: ") == 1
    if extra == REFUSED:
        return
    assert "is not installed" in done.stderr
    assert f"[{extra}]" in done.stderr and "install -e" in done.stderr


def test_a_forecast_from_the_source_alone_says_what_more_takes(bare: Run) -> None:
    said = bare("forecast", "softmax", "mine.py", "--device", "h200").stdout
    assert "torch is not installed, so that nothing was built or recorded" in said and "[gpu]" in said
    assert "not installed" not in bare("forecast", "softmax", "mine.py", "--device", "h200", "--source-only").stdout


def test_doctor_names_extras_and_unavailable_verbs(bare: Run) -> None:
    done = bare("doctor", "--json")
    report = json.loads(done.stdout)
    details = {check["name"]: check for check in report["checks"]}
    for extra in EXTRAS.values():
        check = details[f"extra [{extra.name}]"]
        assert check["ok"] is None and f"unavailable: {extra.enables}" in check["detail"]
        assert f"[{extra.name}]'" in check["detail"]
        assert report["missing_packages"][extra.name] == list(extra.packages.values())
    assert report["ok"]


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=lambda extra: str(extra.name))
def test_doctor_and_readme_name_every_verb_that_needs_an_extra(extra: Extra) -> None:
    page = (ROOT / "README.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `pip install -e '.[{extra.name}]'`"))
    verbs = {line.split()[0] for line, lacks in COMMANDS if lacks == extra.name and "local:" not in line}
    assert verbs and all(verb in extra.enables for verb in verbs - DATA_FIRST)
    assert all(verb in row for verb in verbs - DATA_FIRST)


def test_every_command_is_tried() -> None:
    tried = {tuple(word for word in line.split() if not word.startswith("-")) for line, _ in COMMANDS}
    for path in commands(typer.main.get_command(app)):
        assert any(words[: len(path)] == path for words in tried), f"foretell {' '.join(path)} is not in COMMANDS"


def commands(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path
        return
    for name, child in children.items():
        yield from commands(child, (*path, name))


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=lambda extra: str(extra.name))
def test_extras_are_those_of_the_distribution(extra: object) -> None:
    import tomllib

    assert isinstance(extra, Extra)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = {requirement.partition(">")[0] for requirement in project["optional-dependencies"][extra.name]}
    assert listed == set(extra.packages.values())
