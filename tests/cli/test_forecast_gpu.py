"""`foretell forecast --device`: for a GPU that is not there, from the source and after a build, with its reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foretell.cli.app import app
from foretell.kernels.forecast import trained
from foretell.kernels.forecast.memory import Memory, Remembered

KERNEL = Path(__file__).parents[2] / "data" / "written" / "softmax" / "triton_1.py"


def _run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


def test_from_the_source_alone_with_reasons() -> None:
    code, text = _run("forecast", "softmax", KERNEL, "--device", "h200", "--source-only")
    assert code == 0, text
    assert "NVIDIA H200, not run" in text and "from the source alone" in text and "moved most by" in text
    code, text = _run("forecast", "softmax", KERNEL, "--device", "a100", "--source-only", "--json")
    told = json.loads(text)
    assert told["results"][0]["builds"] is None and 0 < told["results"][0]["speedup"] < 100
    assert len(told["why"][0]["moved"]) == 5


def test_the_nearest_measured_kernels_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Remembered("0123", "softmax", "softmax", "triton", "NVIDIA H200", "block 1024, form [odd]")
    memory = Memory.of(("source.tokens",), [{"source.tokens": 300.0}], [1.0], [row])
    known = replace(trained.shipped(), memories={"gpu": memory})
    monkeypatch.setattr(trained, "shipped", lambda: known)
    words = ("forecast", "softmax", KERNEL, "--device", "a100", "--source-only")
    code, text = _run(*words)
    assert code == 0 and "nearest measured kernels" in text, text
    assert "2.00x  softmax in triton, NVIDIA H200" in text and "block 1024, form [odd]" in text
    [told] = json.loads(_run(*words, "--json")[1])["why"]
    [near] = told["neighbours"]
    assert (near["id"], near["task"], near["speedup"]) == ("0123", "softmax", 2.0) and near["likeness"]


def test_after_a_build_for_a_gpu_that_is_not_there() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    code, text = _run("forecast", "softmax", KERNEL, "--device", "H200", "--json")
    assert code == 0, text
    told = json.loads(text)
    assert told["results"][0]["builds"] is True
    assert any(one["name"].startswith(("build.", "relative.")) for one in told["why"][0]["moved"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--device", "abacus"), "there is no description of a device"),
        (("--device", "xeon-x2"), "is not a GPU"),
        (("--device", "h200", "--forecaster", "oracle"), "there is no forecaster"),
        (("--device", "h200", "--forecaster", "openai:no-url"), "openai"),
    ],
)
def test_bad_input_is_told(words: tuple[str, ...], says: str) -> None:
    code, text = _run("forecast", "softmax", KERNEL, *words)
    assert code == 2 and says in text, text
    assert "expected: one of" not in text or "xeon" not in text


def test_files_that_are_no_kernels(tmp_path: Path) -> None:
    for name, data in (("binary.py", b"\0\1"), ("empty.py", b""), ("large.py", b"x" * (2 << 20))):
        (tmp_path / name).write_bytes(data)
        code, text = _run("forecast", "softmax", tmp_path / name, "--device", "h200", "--source-only")
        assert code == 2 and name in text.replace("\n", ""), text
