"""Commands that output and errors suggest can be pasted into a shell as they are."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from foretell.cli.output import command_line
from tests.cli.conftest import FakeBench, Invoke

KERNEL = 'extern "C" void kernel(const float* x, float* out, long long rows, long long cols) {}\n'
SMALL = ("--profile", "quick", "--measurements", "4", "--candidates", "16")
ODD = "my runs/a (b)"


def suggested(text: str) -> list[list[str]]:
    """The words of each suggested command that names the odd place, as a shell would split them."""
    parts = [part for line in text.splitlines() for part in re.split(r", or |, and at the end | measures |`", line)]
    commands = [part[part.index("foretell ") :] for part in parts if "foretell " in part and "a (b)" in part]
    return [shlex.split(command) for command in commands]


def named(text: str, path: str = ODD) -> None:
    found = suggested(text)
    assert found, text
    for words in found:
        assert any(word.startswith(path) for word in words), words


def test_every_word_is_quoted() -> None:
    assert command_line("tell", Path("a b"), "--finish") == "foretell tell 'a b' --finish"
    assert command_line("measure", "softmax", "x.cpp") == "foretell measure softmax x.cpp"


def test_search(bench: FakeBench, invoke: Invoke) -> None:
    named(invoke("search", "softmax", *SMALL, "--run", ODD).stdout)
    bench.interrupt_at = 1
    named(invoke("search", "softmax", *SMALL, "--run", f"{ODD} 2", "--no-catalogue").stdout)
    named(invoke("search", "softmax", "--resume", f"{ODD} 2", "--seed", "7").stderr)
    named(invoke("search", "log_softmax", "--resume", f"{ODD} 2").stderr)


def test_ask_and_tell(bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
    named(invoke("ask", ODD).stderr)
    named(invoke("ask", ODD, "--task", "softmax", *SMALL).stdout)
    document = json.loads(invoke("ask", ODD, "--json").stdout)
    assert shlex.split(document["tell"])[:4] == ["foretell", "tell", ODD, "FILE"]
    named(invoke("tell", ODD).stderr)
    (own_place / "mine.cpp").write_text(KERNEL)
    named(invoke("tell", ODD, "mine.cpp").stdout)
    named(invoke("ask", ODD, "--task", "log_softmax").stderr)
    named(invoke("tell", ODD, "--finish").stdout)
    named(invoke("ask", ODD).stderr)


def test_forecast(bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
    (own_place / "my a (b).cpp").write_text(KERNEL)
    named(invoke("forecast", "softmax", "my a (b).cpp").stdout, "my a (b).cpp")


def test_data_plan(invoke: Invoke, own_place: Path) -> None:
    wanted = ("--kind", "cpu", "--per-language", "1", "--task", "softmax")
    named(invoke("data", "plan", "--out", "my a (b).gz", *wanted).stdout, "my a (b).gz")


def test_no_gpu_advice_is_an_option_that_exists(
    invoke: Invoke, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foretell.kernels.bench.gpu import bench, device

    def none() -> None:
        raise device.NoGpu("there is no GPU here")

    monkeypatch.setattr(bench, "detect_gpu", none)
    wanted = ("--kind", "gpu", "--per-language", "1", "--task", "softmax")
    assert invoke("data", "plan", "--out", "plan.gz", *wanted).exit_code == 0
    result = invoke("collect", "plan.gz", "--into", "c.jsonl")
    assert result.exit_code == 2 and "--language" not in result.stderr
    advice = shlex.split(result.stderr[result.stderr.index("foretell data plan") :])[1:]
    assert invoke(*advice[:-1], "again.gz", "--per-language", "1", "--task", "softmax").exit_code == 0


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("forecast", "softmax", "x.cpp", "--devise", "h200"), "did you mean --device? "),
        (("measure", "softmax", "x.cpp", "--devise", "h200"), "did you mean --device (of ask, forecast"),
        (("search", "softmax", "--profile", "fast"), "there is no profile 'fast'"),
        (("explain", "examples/tasks/correlate.py", "--device", "h200"), "leave --device out"),
    ],
)
def test_what_was_meant(words: tuple[str, ...], meant: str, own_place: Path, invoke: Invoke) -> None:
    root = Path(__file__).resolve().parents[2]
    result = invoke(*(str(root / word) if word.startswith("examples/") else word for word in words))
    assert result.exit_code == 2 and meant in result.stderr, result.stderr
