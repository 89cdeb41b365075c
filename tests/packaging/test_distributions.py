"""The wheel and the source distribution: complete, and at work in a fresh environment outside the clone.

Needs a package index (or a mirror that pip knows) with setuptools and the core dependencies, and a C++ compiler.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 900

pytestmark = [pytest.mark.full, pytest.mark.timeout(LIMIT_S)]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Distributions:
    """The two files, and the folder that the source distribution unpacks to."""

    wheel: Path
    source: Path
    unpacked: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """The source distribution of this clone, and the wheel that is built from what it unpacks to."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, "--sdist", folder)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / source.name.removesuffix(".tar.gz")
    build(unpacked, "--wheel", folder)
    (wheel,) = folder.glob("*.whl")
    return Distributions(wheel, source, unpacked)


def build(project: Path, kind: str, into: Path) -> None:
    command = [sys.executable, "-m", "build", kind, "--outdir", str(into), str(project)]
    with (project / "pyproject.toml").open() as one_at_a_time:  # setuptools puts a folder of one name into the project
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def fresh(built: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs commands in an activated fresh environment that has the wheel without extras, outside the clone."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "venv", with_pip=True)
    work = folder / "work"
    work.mkdir()
    programs = folder / "venv" / "bin"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "FORETELL_CACHE": str(folder / "cache")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=work, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S
        )

    done = run("pip", "install", str(built.wheel))
    assert done.returncode == 0, done.stdout + done.stderr
    (work / "mine.cpp").write_text(run("foretell", "tasks", "softmax", "--reference").stdout)
    return run


def test_the_wheel_has_every_file_of_the_package(built: Distributions) -> None:
    package = ROOT / "src" / "foretell"
    expected = {
        f"foretell/{path.relative_to(package)}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(built.wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == expected


def test_the_source_distribution_has_the_corpus_and_the_docs(built: Distributions) -> None:
    for name in ("data/corpus_cpu.parquet", "data/corpus_gpu.parquet", "docs/architecture.md", "README.md", "LICENSE"):
        assert (built.unpacked / name).read_bytes() == (ROOT / name).read_bytes()
    assert not (built.unpacked / "tests").exists()


@pytest.mark.parametrize(
    "line",
    [
        "--version",
        "doctor",
        "tasks",
        "measure softmax mine.cpp",
        "forecast softmax mine.cpp",
        "search softmax --profile quick --measurements 2 --candidates 8",
    ],
)
def test_the_wheel_works_without_extras(fresh: Run, line: str) -> None:
    done = fresh("foretell", *line.split())
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_is_reported(fresh: Run) -> None:
    fresh("foretell", "ask", "run", "--task", "softmax")
    done = fresh("foretell", "report", "run", "-o", "page.html")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("verb", ["eval", "replay"])
def test_without_a_corpus_the_files_to_fetch_are_named(fresh: Run, verb: str) -> None:
    done = fresh("foretell", verb)
    assert done.returncode == 2
    assert "corpus_gpu.parquet" in done.stderr
    assert f"then foretell {verb} " in done.stderr


def test_the_command_in_the_error_installs_what_is_missing(fresh: Run, built: Distributions) -> None:
    corpus = str(built.unpacked / "data")
    judge = ("foretell", "eval", "--data", corpus, "--past", corpus, "--limit", "2", "--split", "held_family")
    replay = ("foretell", "replay", corpus, "--pools", "1", "--seeds", "1", "--policy", "random")
    refused = fresh(*judge)
    assert refused.returncode == 2
    assert "pyarrow is not installed" in refused.stderr
    command = refused.stderr.partition("do:")[2].strip()
    assert command == "pip install 'foretell[data]'"
    installed = fresh(*shlex.split(command))
    assert installed.returncode == 0, installed.stdout + installed.stderr
    for line in (judge, replay):
        done = fresh(*line)
        assert done.returncode == 0, done.stdout + done.stderr
