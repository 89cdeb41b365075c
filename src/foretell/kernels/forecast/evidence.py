"""Features of the forecaster `calibrated`, mostly from the step tables of reference and candidate.

Times enter as logarithms and shares, so that the numbers mean the same on every device. A number that is not known is
left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from foretell.kernels.candidate import Candidate
from foretell.kernels.cost.steps import ProgramTime, StepTime
from foretell.kernels.device import Device
from foretell.kernels.forecast.program import Compared
from foretell.kernels.forecast.static import static_features
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.profiles import PROGRAM_FORECAST
from foretell.kernels.record.refusal import Reason

_SMALL_US = 10.0  # steps shorter than this are mostly launch
_LIBRARY = ("convolution", "depthwise", "transposed", "product", "elementwise", "copy", "normalisation", "reduction",
            "pooling", "attention", "recurrent", "row", "indexing", "scan")  # fmt: skip
_BOUNDS = ("memory", "cache", "unit", "lines", "issue", "arithmetic", "special", "tensor", "atomics", "waiting")


def evidence(
    candidate: Candidate, device: Device, pair: Compared | None, reason: Reason | None, p_fail: float, eager: bool
) -> dict[str, float]:
    """All features of a candidate that are known before a measurement.

    `pair` is None for a candidate without an estimate and `reason` says why, unless the task is to blame; `p_fail` is
    the chance of failure that `program` states; `eager` says which time is asked for.
    """
    found = {
        "recorded": float(pair is not None),
        "p_fail": p_fail,
        "eager": float(eager),
        **{f"language.{name}": float(candidate.language == name) for name in ("triton", "cuda", "torch")},
        **_device(device),
        **{f"text.{name}": value for name, value in static_features(candidate.source, candidate.language).items()},
    }
    if pair is None:
        return found | {f"refused.{each.name.lower()}": float(each is reason) for each in Reason}
    return found | _compared(pair, eager) | _side("reference", pair.reference) | _side("candidate", pair.candidate)


def _device(device: Device) -> dict[str, float]:
    fast = device.peak_flops.get("float32", max(device.peak_flops.values()))
    major, minor = divmod(capability_of(device), 10)
    return {
        "device.bandwidth": math.log2(device.bandwidth_bytes_per_s),
        "device.float32": math.log2(fast),
        "device.intensity": math.log2(fast / device.bandwidth_bytes_per_s),
        "device.cache": math.log2(max(1, device.cache_bytes)),
        "device.cores": float(device.cores),
        "device.capability": major + minor / 10.0,
    }


def _compared(pair: Compared, eager: bool) -> dict[str, float]:
    shares = [_shares(each) for each in (pair.reference, pair.candidate)]
    common = sum(min(share, shares[1].get(key, 0.0)) for key, share in shares[0].items())
    mean = pair.eager_log2 if eager else pair.log2
    return {
        "ratio": mean,
        "ratio.device": pair.log2,
        "ratio.host": pair.eager_log2 - pair.log2,
        "ratio.steps": math.log2((1 + len(pair.reference.steps)) / (1 + len(pair.candidate.steps))),
        "doubt": pair.doubt_log2 / PROGRAM_FORECAST.least_doubt_log2,
        "common": common,
    }


def _shares(times: ProgramTime) -> dict[str, float]:
    total = sum(step.us for step in times.steps) or 1.0
    found: dict[str, float] = defaultdict(float)
    for step in times.steps:
        found[step.key] += step.us / total
    return found


def _side(name: str, times: ProgramTime) -> dict[str, float]:
    total = sum(step.us for step in times.steps) or 1.0
    by_class: dict[str, float] = defaultdict(float)
    for step in times.steps:
        by_class[_class(step)] += step.us / total
    longest = max(times.steps, key=lambda step: step.us, default=None)
    doubtful = sum(step.us for step in times.steps if step.reason) / total
    return {
        f"{name}.us": math.log2(times.device_us),
        f"{name}.host": math.log2(max(1.0, times.host_us) / times.device_us),
        f"{name}.steps": math.log2(1 + len(times.steps)),
        f"{name}.small": sum(step.us < _SMALL_US for step in times.steps) / max(1, len(times.steps)),
        f"{name}.longest": longest.us / total if longest else 0.0,
        f"{name}.doubt": times.doubt_log2,
        f"{name}.doubtful": doubtful,
        f"{name}.own": sum(share for key, share in by_class.items() if key.startswith("own")),
        **{f"{name}.call.{key}": by_class[f"measured {key}"] for key in _LIBRARY},
        **{f"{name}.own.{key}": by_class[f"own {key}"] for key in (*_BOUNDS, "unknown")},
        **_second(name, longest),
    }


def _class(step: StepTime) -> str:
    if step.basis == "dry run":
        parts = step.parts_us or {}
        return f"own {max(parts, key=parts.__getitem__, default='unknown')}"
    return "own unknown" if step.basis == "roofline" and step.reason else step.basis


def _second(name: str, step: StepTime | None) -> dict[str, float]:
    """The longest step by part of the device: log2 of the time that the part alone would need over the step's."""
    parts: Mapping[str, float] = step.parts_us or {} if step is not None else {}
    if step is None or not parts:
        return {}
    return {
        f"{name}.part.{key}": math.log2(max(parts.get(key, 0.0), 1e-3) / step.us) for key in _BOUNDS if key in parts
    }
