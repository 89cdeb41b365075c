"""Where no sandbox works: foreign code is refused with what to do, unless the user says that it is trusted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from foretell.kernels.sandbox.kinds import KIND_VARIABLE, UNSAFE_VARIABLE
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")
SOURCE = """#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {}
"""


@pytest.fixture
def bare(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a sandbox, and a candidate."""
    monkeypatch.setenv(KIND_VARIABLE, "none of them")
    monkeypatch.setenv(UNSAFE_VARIABLE, "0")
    (own_place / "mine.cpp").write_text(SOURCE)
    return own_place


@pytest.mark.parametrize("verb", ["forecast", "measure"])
def test_foreign_code_is_refused(verb: str, invoke: Invoke, bare: Path) -> None:
    told = invoke(verb, "softmax", "mine.cpp")
    assert told.exit_code == 2
    assert "no sandbox works on this machine" in told.stderr and "--unsafe" in told.stderr


@pytest.mark.parametrize("arguments", [("--unsafe", "forecast"), ("forecast", "--unsafe")])
def test_unless_the_user_trusts_it(arguments: tuple[str, ...], invoke: Invoke, bare: Path) -> None:
    told = invoke(*arguments, "softmax", "mine.cpp")
    assert told.exit_code == 0, told.stderr
