"""The process in which Programs are analysed: imported once by the sandbox's server, then `serve` in a fork per job.

A Program may be forged to hang, crash or take over whoever analyses it; so this runs nowhere else than in the sandbox,
asked by `apart`.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from foretell.kernels.cost.analyses import ANALYSES, Analysis
from foretell.kernels.cost.calls import corrections
from foretell.kernels.device import Device
from foretell.kernels.program_codec import from_bytes
from foretell.received import parsed

corrections()  # so that no job reads them


def serve(payload: bytes) -> bytes:
    """Answer what `apart` asks: for each Program a list of one result, or the name of the exception that it led to."""
    asked = parsed(payload)
    analysis, device = ANALYSES[asked["analysis"]], Device.from_dict(asked["device"])
    return json.dumps([_answer(analysis, text, device) for text in asked["programs"]], allow_nan=False).encode()


def _answer(analysis: Analysis[Any], text: str, device: Device) -> list[Any] | str:
    try:
        plain = analysis.plain(analysis.run(from_bytes(base64.b64decode(text)), device))
        json.dumps(plain, allow_nan=False)
        return [plain]
    except Exception as error:  # a forged Program may lead to any
        return type(error).__name__
