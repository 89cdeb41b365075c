"""Every probe is held by every kind of sandbox, as root and as an ordinary user; without walls most get through."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from foretell.kernels.sandbox import Kind, available, forkserver
from foretell.kernels.sandbox.allowed import gpu_devices
from foretell.kernels.sandbox.kinds import works
from foretell.kernels.sandbox.probes.cuda import cuda_within
from foretell.kernels.sandbox.probes.verdict import Verdict, probe_command, probe_server
from tests.kernels.sandbox import ordinary

KINDS = [pytest.param(kind, marks=pytest.mark.skipif(not works(kind), reason=f"no {kind} here")) for kind in Kind]
HERE = "tests.kernels.sandbox.test_probes"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")


def command_breaches(kind: str) -> str:
    """For `ordinary.call`."""
    verdict = probe_command(Kind(kind) if kind else None)  # type: ignore[arg-type]
    return json.dumps([verdict.attempts, verdict.breaches])


def server_breaches(kind: str) -> str:
    verdict = probe_server(Kind(kind))
    return json.dumps([verdict.attempts, verdict.breaches])


@pytest.mark.parametrize("kind", KINDS)
def test_compilers_sandbox_holds(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_TEST_SECRET", "very-secret-value")
    verdict = probe_command(kind, tmp_path)
    assert verdict.breaches == () and verdict.attempts >= 60


@pytest.mark.parametrize("kind", KINDS)
def test_servers_sandbox_holds(kind: Kind, tmp_path: Path) -> None:
    verdict = probe_server(kind, tmp_path)
    assert verdict.breaches == () and verdict.attempts >= 66


@pytest.mark.parametrize("kind", KINDS)
def test_a_sandbox_that_is_given_gpus_holds(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = gpu_devices() or ("/dev/null",)  # its walls are those for a GPU, even where there is none
    monkeypatch.setattr(forkserver, "gpu_devices", lambda: devices)
    verdict = probe_server(kind, tmp_path, gpu=True)
    assert verdict.breaches == () and verdict.attempts >= 66


@pytest.mark.gpu
def test_cuda_works_in_it() -> None:
    kind = available(server=True, gpu=True)
    assert kind is not None
    works_there, words = cuda_within(kind)
    assert works_there, words


@pytest.mark.skipif(os.getuid() != 0, reason="all tests run as an ordinary user already")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", ["command_breaches", "server_breaches"])
def test_an_ordinary_users_sandbox_holds(kind: Kind, function: str) -> None:
    attempts, breaches = json.loads(ordinary.call(f"{HERE}:{function}", kind))
    assert breaches == [] and attempts >= 60


def test_without_walls_probes_get_through() -> None:
    """As an ordinary user, since root without walls could do harm."""
    _, breaches = json.loads(ordinary.call(f"{HERE}:command_breaches", ""))
    assert len(breaches) >= 40, breaches


def test_a_verdict_counts_what_held() -> None:
    assert Verdict(60, ("it could connect by TCP",)).held == 59
