"""A process of its own for code of a task that is executed on the CPU: asked in JSON, answers in bytes.

`call` names a function of this package that takes the request and returns bytes. What the code prints is dropped, and a
refusal comes back as BadTask. This is the seam for the sandbox: nothing else starts such processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from foretell.kernels.isolation import scrubbed_environment
from foretell.kernels.profiles import TASK_LIMITS
from foretell.kernels.tasks.refusal import BadTask, Refusal

_ANSWER, _REFUSAL = b"=", b"!"


def call(function: str, request: Mapping[str, Any], name: str) -> bytes:
    """The answer of `module:function` to a request about the task of that name. Raises BadTask."""
    environment = scrubbed_environment() | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile() as requests:
        requests.write(json.dumps(request).encode())
        requests.seek(0)
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, function, str(writing)],
                stdin=requests,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                pass_fds=(writing,),
                start_new_session=True,
            )
        finally:
            os.close(writing)
    with os.fdopen(reading, "rb") as answers, _Alarm(process, TASK_LIMITS.call_timeout_s) as alarm:
        answer = answers.read()
    if alarm.rang:
        what = f"the code of {name} did not finish within {TASK_LIMITS.call_timeout_s:g} s"
        raise BadTask(
            Refusal.DOES_NOT_RUN, what, "inputs and a reference that are made in seconds", "use smaller sizes"
        )
    if answer[:1] == _REFUSAL:
        told = json.loads(answer[1:])
        raise BadTask(Refusal(told["reason"]), told["what"], told["expected"], told["do"])
    if answer[:1] != _ANSWER:
        raise BadTask(Refusal.DOES_NOT_RUN, f"the code of {name} ended its process", "code that returns")
    return answer[1:]


class _Alarm:
    """Kills a process and what it started when it is left, or after a time; `rang` says that it was the time."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.rang = False
        self._process = process
        self._timer = threading.Timer(seconds, self._ring)

    def __enter__(self) -> _Alarm:
        self._timer.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _ring(self) -> None:
        self.rang = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def main() -> None:
    """The process: one request from standard input, one answer to the descriptor that the second argument names."""
    module, _, function = sys.argv[1].partition(":")
    request = json.loads(sys.stdin.buffer.read())
    try:
        answer = _ANSWER + getattr(import_module(module), function)(request)
    except BadTask as error:
        told = {"reason": error.reason.value, "what": error.what, "expected": error.expected, "do": error.do}
        answer = _REFUSAL + json.dumps(told).encode()
    with os.fdopen(int(sys.argv[2]), "wb") as out:
        out.write(answer)


if __name__ == "__main__":
    main()
