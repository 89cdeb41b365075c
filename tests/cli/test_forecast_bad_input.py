"""`foretell forecast TASK FILE --device GPU` with files, devices and models that are not what they should be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from foretell.belief import KEYS
from foretell.kernels import library
from tests.cli.conftest import Invoke
from tests.lm.endpoint_server import Say, completion, serving

KERNEL = "import torch\ndef kernel(x):\n    return torch.softmax(x, -1)\n"
STATED = json.dumps({"reasoning": "", "p_fail": 0.1, "bins": dict.fromkeys(KEYS, 0.0) | {"G": 1.0}})


@pytest.fixture
def place(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr("foretell.lm.openai.backoff_s", lambda attempt, rng: 0.0)
    (own_place / "good.py").write_text(KERNEL)
    yield own_place


def forecast(invoke: Invoke, *words: object) -> Result:
    return invoke("forecast", "softmax", *words, "--device", "h200", "--source-only")


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("binary.py", b"\x7fELF\0\1", "UTF-8"),
        ("latin.py", b"x = '\xff'", "UTF-8"),
        ("empty.py", b" \n", "empty"),
        ("large.py", b"x" * (2 << 20), "at most"),
        ("plain.cpp", b'extern "C" void kernel() {}', "not Python or CUDA by its ending"),
    ],
)
def test_files_that_cannot_be_candidates(name: str, data: bytes, word: str, place: Path, invoke: Invoke) -> None:
    (place / name).write_bytes(data)
    result = forecast(invoke, name)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert name in result.stderr
    assert word in result.stderr


@pytest.mark.parametrize(
    "text",
    ["def kernel(x:\n    return (((\n", "fn main() { println!(1); }", "int main() { return 0; }", "(" * 5000, "x = '"],
)
def test_what_is_no_python_does_not_build(text: str, place: Path, invoke: Invoke) -> None:
    (place / "broken.py").write_text(text)
    result = forecast(invoke, "broken.py", "good.py", "--json")
    assert result.exit_code == 1
    broken, good = json.loads(result.stdout)["results"]
    assert broken["builds"] is False
    assert broken["speedup"] is None
    assert "not a Python module" in broken["message"]
    assert good["speedup"] > 0.0


@pytest.mark.full
def test_a_megabyte_is_forecast(place: Path, invoke: Invoke) -> None:
    line = "    x = x + 1.0\n"
    (place / "long.py").write_text("def kernel(x):\n" + line * ((1 << 20) // len(line) - 2))
    result = forecast(invoke, "long.py", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["results"][0]["speedup"] > 0.0


def test_unknown_device(place: Path, invoke: Invoke) -> None:
    result = invoke("forecast", "softmax", "good.py", "--device", "h2000")
    assert result.exit_code == 2
    assert "no description of a device" in result.stderr
    assert "h200" in result.stderr


def asked(invoke: Invoke, url: str, *words: str) -> Result:
    return forecast(invoke, "good.py", "--forecaster", f"openai:m@{url}?tokens=200000&timeout_s=60", *words)


@pytest.mark.parametrize(
    ("say", "trouble"),
    [
        (Say(429, {}, {"Retry-After": "86400"}), "request:rate_limited"),
        (Say(401, {"error": {"message": "who are you"}}), "request:refused"),
        (Say(body=completion("sixteen times faster")), "answer:no_answer"),
        (Say(body=completion(STATED.replace("1.0", "NaN"))), "answer:bad_number"),
        (Say(body=b"<html>"), "request:malformed"),
    ],
)
def test_a_model_without_an_answer_is_told(say: Say, trouble: str, place: Path, invoke: Invoke) -> None:
    with serving(lambda i, body: say) as server:
        result = asked(invoke, server.url, "--json")
        told = asked(invoke, server.url)
    assert result.exit_code == told.exit_code == 1
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["troubles"] == [trouble]
    assert 0.0 < found["results"][0]["p_fail"] < 1.0
    assert f"no answer about good.py ({trouble}, " in told.stderr  # and why, in words


def test_a_model_that_is_not_there_is_told(place: Path, invoke: Invoke) -> None:
    with serving(lambda i, body: Say()) as server:
        pass
    result = asked(invoke, server.url, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["troubles"] == ["request:unreachable"]


def test_a_model_that_answers(place: Path, invoke: Invoke) -> None:
    with serving(lambda i, body: Say(body=completion(STATED))) as server:
        result = asked(invoke, server.url, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["troubles"] == [None]
    assert found["results"][0]["speedup"] > 2.0


def test_advice_about_c_is_that_of_the_task(place: Path, invoke: Invoke) -> None:
    (place / "plain.cpp").write_text('extern "C" void kernel() {}')
    assert "give .py or .cu; for C++ leave --device out" in forecast(invoke, "plain.cpp").stderr
    gpu_alone = next(name for name in library.tasks("gpu") if name not in library.tasks("cpu"))
    told = invoke("forecast", gpu_alone, "plain.cpp", "--device", "h200", "--source-only").stderr
    assert "this is a GPU task: give .py or .cu" in told and "leave --device out" not in told
