"""The command as a user runs it: real processes, the real bench, a real Ctrl-C."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from foretell.kernels import library
from tests.cli.conftest import command, environment, real

needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler on this machine"
)


@needs_compiler
def test_a_kernel_of_ones_own_is_forecast_and_measured(own_place: Path, real_cache: Path) -> None:
    source = library.get("softmax").references["cpp"]
    (own_place / "same.cpp").write_text(f"// {own_place.name}\n{source}")
    (own_place / "wrong.cpp").write_text(source.replace("/= sum", "/= (sum + 1.0f)"))
    measured = real(real_cache, "measure", "softmax", "same.cpp", "wrong.cpp", "--json")
    assert measured.returncode == 1, measured.stderr
    same, wrong = json.loads(measured.stdout)["results"]
    assert same["status"] == "ok" and wrong["status"] == "wrong"
    told = real(real_cache, "forecast", "softmax", "same.cpp")
    assert told.returncode == 0 and "chance that it fails" in told.stdout


@needs_compiler
def test_a_search_is_stopped_by_ctrl_c_and_resumed(own_place: Path, real_cache: Path) -> None:
    budget = ("--profile", "quick", "--measurements", "2", "--candidates", "4")
    going = subprocess.Popen(
        command("search", "softmax", *budget),
        env=environment(real_cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    journal = own_place / "runs" / "softmax-1" / "journal.jsonl"
    deadline = time.monotonic() + 250
    while going.poll() is None and time.monotonic() < deadline:
        if journal.exists() and b'"event":"round"' in journal.read_bytes():
            going.send_signal(signal.SIGINT)
            break
        time.sleep(0.05)
    out, err = going.communicate(timeout=200)
    assert "Traceback" not in err
    assert going.returncode == 130, err
    assert "foretell search --resume runs/softmax-1" in out
    done = real(real_cache, "search", "--resume", "runs/softmax-1", "--json")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["measured"] == 2
    assert (own_place / "runs/softmax-1/report.html").exists()


def test_no_compiler(own_place: Path, tmp_path: Path) -> None:
    done = real(tmp_path / "cache", "search", "softmax", PATH="/nonexistent", CXX="")
    assert done.returncode == 2 and done.stdout == ""
    assert "no C++ compiler" in done.stderr
    assert real(tmp_path / "cache", "tasks", "softmax", PATH="/nonexistent", CXX="").returncode == 0


@pytest.fixture(scope="module")
def doctor(real_cache: Path) -> subprocess.CompletedProcess[str]:
    return real(real_cache, "doctor", "--json")


@needs_compiler
def test_a_full_disk(
    own_place: Path,
    real_cache: Path,
    doctor: subprocess.CompletedProcess[str],  # so what is measured once is in the cache before room runs out
) -> None:
    def cramped() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    done = subprocess.run(
        command("search", "softmax", "--profile", "quick"),
        env=environment(real_cache),
        capture_output=True,
        text=True,
        preexec_fn=cramped,
        timeout=250,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "no room left to write" in done.stderr and "Traceback" not in done.stderr


@needs_compiler
def test_doctor(doctor: subprocess.CompletedProcess[str]) -> None:
    assert json.loads(doctor.stdout)["checks"]
