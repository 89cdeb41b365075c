"""A CUDA compiler that crashes takes nothing with it."""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from foretell.kernels.languages import nvrtc

SOURCE = 'extern "C" __global__ void one(float* x) { x[0] = 1.0f; }'


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    monkeypatch.setattr(nvrtc, "_nvrtc_version", lambda: "nvrtc of a test")
    monkeypatch.setattr(nvrtc, "_nvrtc", lambda: object())


def _crash(*_: Any) -> Any:
    faulthandler.disable()  # pytest has it print
    os.kill(os.getpid(), signal.SIGSEGV)


def test_nvcc_is_asked_if_nvrtc_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_by_nvrtc", _crash)
    monkeypatch.setattr(nvrtc, "_nvcc_version", lambda: "nvcc of a test")
    monkeypatch.setattr(nvrtc, "_by_nvcc", lambda source, arch, options: (b"cubin", f"{source} for {arch}"))
    assert nvrtc.compiled(SOURCE, "sm_90a", ()) == (b"cubin", f"{SOURCE} for sm_90a")


def test_without_nvcc_the_crash_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_by_nvrtc", _crash)
    monkeypatch.setattr(nvrtc, "_nvcc_version", lambda: None)
    with pytest.raises(nvrtc.CompileError, match="Segmentation fault"):
        nvrtc.compiled(SOURCE, "sm_90a", ())


def test_what_nvrtc_makes_or_says_comes_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    image, ptx = bytes(range(256)) * 4096, "// é\n" * 100_000
    monkeypatch.setattr(nvrtc, "_by_nvrtc", lambda *_: (image, ptx))
    assert nvrtc.compiled(SOURCE, "sm_90a", ()) == (image, ptx)

    def wrong(*_: Any) -> Any:
        raise nvrtc.CompileError("kernel.cu(1): error: é is undefined")

    monkeypatch.setattr(nvrtc, "_by_nvrtc", wrong)
    with pytest.raises(nvrtc.CompileError, match="é is undefined"):
        nvrtc.compiled(SOURCE, "sm_80", ())
