"""Commands in the sandbox: what they may use and reach, and how their end is told."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from foretell.kernels.limits import COMPILER_LIMITS
from foretell.kernels.sandbox import Finished, Kind, Limits, NoSandbox, available, kinds, run
from foretell.kernels.sandbox.allowed import import_path, python_paths, system_paths
from foretell.kernels.sandbox.command import run_in
from foretell.kernels.sandbox.kinds import KIND_VARIABLE, UNSAFE_VARIABLE, works
from foretell.kernels.walls import seccomp

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")
KINDS = [pytest.param(kind, marks=pytest.mark.skipif(not works(kind), reason=f"no {kind} here")) for kind in Kind]


def shell(kind: Kind, script: str, folder: Path | None = None, limits: Limits = COMPILER_LIMITS) -> Finished:
    return run_in(kind, ["sh", "-c", script], writable=folder, limits=limits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_works_in_its_folder(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("text")
    done = shell(kind, "cat in > out; pwd; echo words >&2; exit 3", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "words\n")
    assert (tmp_path / "out").read_text() == "text"


@pytest.mark.parametrize("kind", KINDS)
def test_more_can_be_made_readable(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("text")
    command = ["cat", str(tmp_path / "data" / "x")]
    assert run_in(kind, command).returncode != 0
    assert run_in(kind, command, readable=[tmp_path / "data"]).stdout == "text"
    assert (
        run_in(kind, ["touch", str(tmp_path / "data" / "y")], readable=[tmp_path / "data"]).returncode != 0
        or not (tmp_path / "data" / "y").exists()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_may_be_allowed_twice(kind: Kind, tmp_path: Path) -> None:
    """As where a compiler lies in the folder of this Python."""
    file = tmp_path / "x"
    file.write_text("text")
    assert run_in(kind, ["cat", str(file)], readable=[file, file]).stdout == "text"


@pytest.mark.parametrize("kind", KINDS)
def test_the_environment_is_clean(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_TEST_SECRET", "very-secret-value")
    done = run_in(kind, ["env"], environment={"GIVEN": "1"})
    assert "very-secret-value" not in done.stdout and "GIVEN=1" in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_limits_are_kept(kind: Kind, tmp_path: Path) -> None:
    spun = shell(kind, "while :; do :; done", tmp_path, replace(COMPILER_LIMITS, cpu_s=1.0))
    assert spun.timed_out and not spun.starved
    slept = shell(kind, "sleep 60", tmp_path, replace(COMPILER_LIMITS, wall_s=0.5))
    assert slept.starved and not slept.timed_out
    wrote = shell(kind, "head -c 9000000 /dev/zero > big", tmp_path, replace(COMPILER_LIMITS, file_bytes=1 << 20))
    assert wrote.returncode != 0 and (tmp_path / "big").stat().st_size <= 1 << 20
    many = shell(
        kind, "for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; wait", tmp_path, replace(COMPILER_LIMITS, processes=4)
    )
    assert many.returncode != 0


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_a_command(kind: Kind, tmp_path: Path) -> None:
    script = "(setsid sh -c 'sleep 1; touch late' &) ; (trap '' TERM HUP; sleep 1; touch later) & echo done"
    assert shell(kind, script, tmp_path).stdout == "done\n"
    time.sleep(1.6)
    assert not (tmp_path / "late").exists() and not (tmp_path / "later").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_its_caller(kind: Kind, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom foretell.kernels.sandbox import Kind\n"
        "from foretell.kernels.sandbox.command import run_in\n"
        f"run_in(Kind({kind.value!r}), ['sh', '-c', 'touch begun; sleep 3; touch late'], writable=Path(sys.argv[1]))\n"
    )
    source = str(Path(__file__).resolve().parents[3] / "src")
    caller = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env={**os.environ, "PYTHONPATH": source})
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    caller.kill()
    caller.wait()
    time.sleep(3.6)
    assert (tmp_path / "begun").exists() and not (tmp_path / "late").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_that_is_not_there_is_told(kind: Kind) -> None:
    done = run_in(kind, ["no-such-tool"])
    assert done.returncode == 127 and "no-such-tool" in done.stderr


def test_a_sandbox_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in Kind:
        monkeypatch.setenv(KIND_VARIABLE, kind)
        assert available() == (kind if works(kind) else None)
    monkeypatch.setenv(KIND_VARIABLE, "none of them")
    assert available() is None


def test_without_a_sandbox_foreign_code_is_refused_unless_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(KIND_VARIABLE, "none of them")
    with pytest.raises(NoSandbox, match="--unsafe"):
        run(["true"])
    monkeypatch.setenv(UNSAFE_VARIABLE, "1")
    assert run(["sh", "-c", "echo ran; exit 2"], writable=tmp_path).returncode == 2
    monkeypatch.setenv(UNSAFE_VARIABLE, "0")
    assert not kinds.unsafe()


def test_the_allow_list_holds_nothing_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = [Path(path) for path in (*system_paths(), *python_paths())]
    home = Path.home()
    assert home not in allowed and Path("/") not in allowed and Path("/etc") not in allowed
    assert not any(path in home.parents for path in allowed)
    assert Path.cwd() not in allowed and not any(path in Path.cwd().parents for path in allowed)
    assert not any(str(path).startswith(("/etc/passwd", "/usr/local/etc", "/var")) for path in allowed)
    monkeypatch.setenv("FORETELL_READABLE", f"{tmp_path}:relative:")
    assert str(tmp_path) in system_paths() and "relative" not in system_paths()
    assert all(Path(path).exists() or path.endswith(".zip") for path in import_path())


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("gpu", [True, False])
def test_the_filter_is_a_program_that_ends(machine: str, own: bool, gpu: bool) -> None:
    """Every jump lands within it, and every path comes to a return, on both architectures."""
    lines = seccomp.program(own, own, own, 4711, gpu, machine)
    assert len(lines) < 4096
    for at, (operation, yes, no, _) in enumerate(lines):
        if operation & 0x07 == 0x05:
            assert at + 1 + max(yes, no) < len(lines)
    assert lines[-1][0] == 0x06
    refused = [
        operand for operation, _, _, operand in lines if operation == 0x06 and operand & 0x7FFF0000 == 0x00050000
    ]
    assert len(refused) > 60


SOCKETS = """
import os, socket, sys
from foretell.kernels.walls import seccomp
seccomp.install(False, False, True, os.getpid(), gpu=sys.argv[1] == "gpu")
def tried(act):
    try:
        act()
        return "done"
    except OSError as error:
        return type(error).__name__
def served(kind):
    with socket.socket(socket.AF_UNIX, kind) as made:
        made.bind(chr(0) + f"foretell-{os.getpid()}-{int(kind)}")
        made.listen()
def connected():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.connect(sys.argv[2])
print(*[tried(lambda kind=kind: served(kind)) for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)],
      tried(connected), tried(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)),
      tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)))
"""


@pytest.mark.skipif(not seccomp.is_supported(), reason="seccomp's numbers are known for x86_64 and aarch64")
@pytest.mark.parametrize(
    ("walls", "expected"), [("gpu", "done done " + "PermissionError " * 3), ("cpu", "PermissionError " * 5)]
)
def test_the_driver_may_have_local_sockets_that_reach_nobody(walls: str, expected: str, tmp_path: Path) -> None:
    """CUDA gives up if it cannot make one; where there is no GPU there are none at all."""
    import socket

    place = str(tmp_path / "s") if len(str(tmp_path)) < 90 else f"/tmp/foretell-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(place)
        listener.listen()
        done = subprocess.run(
            [sys.executable, "-c", SOCKETS, walls, place], capture_output=True, text=True, timeout=60, check=False
        )
        Path(place).unlink()
    assert done.stdout.split() == expected.split(), done.stderr[-500:]
