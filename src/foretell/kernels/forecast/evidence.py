"""Features of the forecaster `calibrated`, mostly from the step tables of reference and candidate.

Times enter as logarithms and shares, so that the numbers mean the same on every device. A number that is not known is
left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from foretell.kernels.candidate import Candidate
from foretell.kernels.cost.settings import PROGRAM_FORECAST
from foretell.kernels.cost.steps import TOO_LONG, UNKNOWN_ADDRESSES, UNKNOWN_BRANCHES, ProgramTime, StepTime
from foretell.kernels.device import Device
from foretell.kernels.forecast.program import Compared
from foretell.kernels.forecast.static import static_features
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.record.refusal import Reason
from foretell.kernels.small.apart import SmallRun
from foretell.kernels.small.outcome import NOT_RUN

_SMALL_US = 10.0  # steps shorter than this are mostly launch
_LIBRARY = ("convolution", "depthwise", "transposed", "product", "elementwise", "copy", "normalisation", "reduction",
            "pooling", "attention", "recurrent", "row", "indexing", "scan")  # fmt: skip
_BOUNDS = ("memory", "cache", "unit", "lines", "issue", "arithmetic", "special", "tensor", "atomics", "waiting")
SMALL = "small."  # before the names of what runs at small sizes showed
SMALL_NAMES = ("sensitive", "wrong", "near", "exact", "loose")
_STEPS_LOG2, _WRONG_LOG2 = 12.0, 20.0
_NEARLY_ALL = 0.95
_REASONS = {"long": TOO_LONG, "addresses": UNKNOWN_ADDRESSES, "branches": UNKNOWN_BRANCHES}


def evidence(
    candidate: Candidate,
    device: Device,
    pair: Compared | None,
    reason: Reason | None,
    p_fail: float,
    eager: bool,
    small: SmallRun | None = None,
) -> dict[str, float]:
    """All features of a candidate that are known before a measurement.

    `pair` is None for a candidate without an estimate and `reason` says why, unless the task is to blame; `p_fail` is
    the chance of failure that `program` states; `eager` says which time is asked for; `small` is what runs at small
    sizes showed, if there were any.
    """
    found = {
        "recorded": float(pair is not None),
        "p_fail": p_fail,
        "eager": float(eager),
        **{f"language.{name}": float(candidate.language == name) for name in ("triton", "cuda", "torch")},
        **_device(device),
        **{f"text.{name}": value for name, value in static_features(candidate.source, candidate.language).items()},
        **(small_evidence(small) if small is not None else {}),
    }
    if pair is None:
        return found | {f"refused.{each.name.lower()}": float(each is reason) for each in Reason}
    return found | _compared(pair, eager) | _side("reference", pair.reference) | _side("candidate", pair.candidate)


def small_evidence(small: SmallRun) -> dict[str, float]:
    """What runs at small sizes say of wrong results, each between 0 and about 1; 0 for what was not run.

    `sensitive`: rounding at another place may make results wrong, by the reference alone. Of a candidate that was run:
    how many values are `wrong`, whether others are `near` the tolerance, whether nearly all are `exact` to the last
    bit, and whether it is `loose`, with other bits, where the task is sensitive.
    """
    outcome, moved = small.outcome, small.sensitivity
    sensitive = 0.0
    if moved is not None:
        steps = math.log2(1.0 + moved.steps * 2.0**_STEPS_LOG2) / _STEPS_LOG2
        sensitive = max(steps, _nearness(moved.narrow_log2))
    found = dict.fromkeys((f"{SMALL}{name}" for name in SMALL_NAMES), 0.0) | {f"{SMALL}sensitive": sensitive}
    if outcome is None or outcome.verdict == NOT_RUN:
        return found
    exact = outcome.exact >= _NEARLY_ALL
    return found | {
        f"{SMALL}wrong": math.log2(1.0 + outcome.wrong * 2.0**_WRONG_LOG2) / _WRONG_LOG2,
        f"{SMALL}near": _nearness(outcome.excess_log2),
        f"{SMALL}exact": float(exact),
        f"{SMALL}loose": 0.0 if exact else sensitive,
    }


def _nearness(excess_log2: float) -> float:
    """How near errors come to the tolerance: 1 at it, 0 at a sixteenth of it."""
    return min(1.0, max(0.0, 1.0 + excess_log2 / 4.0))


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
        **{f"{name}.doubtful.{key}": _share(times, reason, total) for key, reason in _REASONS.items()},
        f"{name}.own": sum(share for key, share in by_class.items() if key.startswith("own")),
        **{f"{name}.call.{key}": by_class[f"measured {key}"] for key in _LIBRARY},
        **{f"{name}.own.{key}": by_class[f"own {key}"] for key in (*_BOUNDS, "unknown")},
        **_second(name, longest),
    }


def _share(times: ProgramTime, reason: str, total: float) -> float:
    return sum(step.us for step in times.steps if reason in step.reason) / total


def _class(step: StepTime) -> str:
    if step.basis == "dry run":
        parts = step.parts_us or {}
        return f"own {max(parts, key=parts.__getitem__, default='unknown')}"
    return "own unknown" if step.basis == "roofline" and step.reason else step.basis


def _second(name: str, step: StepTime | None) -> dict[str, float]:
    """The longest step: log2 of how it fills the device, and of the time that each part of the device alone would need
    over the step's."""
    parts: Mapping[str, float] = step.parts_us or {} if step is not None else {}
    if step is None or not parts:
        return {}
    facts = {f"{name}.longest.{key}": math.log2(1e-3 + value) for key, value in (step.facts or {}).items()}
    return facts | {
        f"{name}.part.{key}": math.log2(max(parts.get(key, 0.0), 1e-3) / step.us) for key in _BOUNDS if key in parts
    }
