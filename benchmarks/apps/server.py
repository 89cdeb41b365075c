"""Starts an application of the suite with fresh demo data, waits until it answers, and stops it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.apps.application import Application

STARTS_WITHIN_S = 150.0
STOPS_WITHIN_S = 8.0


class NotStarted(RuntimeError):
    """An application could not be started; the text says why, with the end of its log."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def environment(home: Path) -> dict[str, str]:
    """The environment of applications: a home of their own, no display, no telemetry."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TZ")}
    return kept | {
        "HOME": str(home / "data"),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "GRADIO_ANALYTICS_ENABLED": "False",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "1",
    }


@contextmanager
def started(application: Application, folder: Path) -> Iterator[str]:
    """The root address of the running application; it is stopped on leaving. Raises NotStarted."""
    home = folder / application.name
    data = home / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    port, port2 = free_port(), free_port()
    for command in application.seed:
        _run(application.words(command, home, port, port2), home)
    log = (home / "log").open("wb")
    words = application.words(application.start, home, port, port2)
    process = subprocess.Popen(
        words, cwd=data, env=environment(home), stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(process, address + application.paths[0], home / "log")
        for command in application.filled:
            _run(application.words(command, home, port, port2), home)
        yield address
    finally:
        stop(process)
        log.close()


def _run(words: list[str], home: Path) -> None:
    done = subprocess.run(words, cwd=home / "data", env=environment(home), capture_output=True, text=True, timeout=240)
    if done.returncode:
        raise NotStarted(f"{' '.join(words[:4])} failed: {(done.stdout + done.stderr)[-800:]}")


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until_s = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until_s:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address.partition("#")[0], timeout=10):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.5)
    raise NotStarted(f"{address} does not answer: {log.read_text('utf-8', 'replace')[-800:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it started, gently first."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None and kind is signal.SIGTERM:
            continue
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            return
        try:
            process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            continue
