"""What a process in the sandbox answers about small runs; asked by `apart`."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from foretell.kernels.program_check import check
from foretell.kernels.program_codec import from_bytes
from foretell.kernels.small.emulated import emulated
from foretell.kernels.small.outcome import NOT_RUN, Outcome
from foretell.kernels.small.sensitive import sensitivity
from foretell.kernels.small.sizes import changes
from foretell.kernels.tasks import from_spec
from foretell.received import parsed


def serve(payload: bytes) -> bytes:
    """Answer a question of `apart`."""
    asked: Mapping[str, Any] = parsed(payload)
    answers: dict[str, Callable[[], Any]] = {
        "changes": lambda: changes(from_spec(asked["spec"])),
        "sensitivity": lambda: asdict(sensitivity(from_spec(asked["spec"]))),
        "emulate": lambda: _emulated(asked),
    }
    return json.dumps(answers[asked["question"]]()).encode()


def _emulated(asked: Mapping[str, Any]) -> dict[str, Any]:
    try:
        program = check(from_bytes(base64.b64decode(asked["program"])))
        found = emulated(from_spec(asked["spec"]), program)
    except Exception as error:  # whatever the task's code raises
        found = Outcome(NOT_RUN, f"{type(error).__name__}: {error}")
    return asdict(found)
