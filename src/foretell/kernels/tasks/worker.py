"""A sandboxed process for code of a task that is executed on the CPU: asked in JSON, answers in bytes.

`call` names a function of this package that takes the request and returns bytes. What the code prints is dropped, and a
refusal comes back as BadTask.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.limits import TASK_CODE_LIMITS
from foretell.kernels.sandbox import Ending, ForkServer, JobFailed
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.received import MOST_ANSWER_VALUES, parsed

_ANSWER, _REFUSAL = b"=", b"!"
_TEXT_CHARACTERS = 2000
SMALL_ANSWER_BYTES = 4 << 20  # shapes, refusals


@cache
def _server() -> ForkServer:
    return ForkServer(("numpy", "foretell.kernels.tasks.cpu"))


def call(function: str, request: Mapping[str, Any], name: str, most_bytes: int = SMALL_ANSWER_BYTES) -> bytes:
    """The answer of `module:function`, of so many bytes at most, to a request about the task of that name.

    Raises BadTask; NoSandbox if the code of others cannot be walled in here.
    """
    asked = json.dumps({"function": function, "request": request}).encode()
    try:
        wanted = max(most_bytes, SMALL_ANSWER_BYTES) + len(_ANSWER)
        limits = replace(TASK_CODE_LIMITS, answer_bytes=min(wanted, TASK_CODE_LIMITS.answer_bytes))
        answer = _server().call(f"{__name__}:serve", asked, limits)
    except JobFailed as failure:
        if failure.ending is Ending.TIMED_OUT:
            what = f"the code of {name} did not finish within {TASK_CODE_LIMITS.wall_s:g} s"
            expected = "inputs and a reference that are made in seconds"
            raise BadTask(Refusal.DOES_NOT_RUN, what, expected, "use smaller sizes") from failure
        what = f"the code of {name} ended its process ({plain(str(failure), _TEXT_CHARACTERS)})"
        raise BadTask(Refusal.DOES_NOT_RUN, what, "code that returns") from failure
    if answer[:1] == _REFUSAL:
        raise _refusal(answer[1:], name)
    if answer[:1] != _ANSWER:
        raise BadTask(Refusal.DOES_NOT_RUN, f"the code of {name} ended its process", "code that returns")
    return answer[1:]


def _refusal(answer: bytes, name: str) -> BadTask:
    """The refusal in an answer, which foreign code may have written."""
    if len(answer) > SMALL_ANSWER_BYTES:
        return forged(name)
    try:
        told = parsed(answer, most_values=MOST_ANSWER_VALUES)
        texts = [plain(told[part], _TEXT_CHARACTERS) for part in ("what", "expected", "do")]
        return BadTask(Refusal(told["reason"]), *texts)
    except (ValueError, KeyError, TypeError, RecursionError):
        return forged(name)


def forged(name: str) -> BadTask:
    """The refusal of a task whose code wrote the answer itself."""
    return BadTask(Refusal.DOES_NOT_RUN, f"the code of {name} answers in its own way", "code that returns")


def serve(payload: bytes) -> bytes:
    """The other end of `call`, in the sandbox."""
    asked = json.loads(payload)
    module, _, function = asked["function"].partition(":")
    try:
        answer: bytes = getattr(import_module(module), function)(asked["request"])
    except BadTask as error:
        told = {"reason": error.reason.value, "what": error.what, "expected": error.expected, "do": error.do}
        return _REFUSAL + json.dumps(told).encode()
    return _ANSWER + answer
