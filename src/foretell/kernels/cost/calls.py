"""Time of a library call on a device: its roofline there, corrected by what was measured on one GPU.

The correction is a smooth function of the call's shape (radial basis functions around a few measured calls of its
class, in doublings) which fades far from everything that was measured, so that an unusual call is left to its roofline,
with more doubt. `benchmarks/programs/fit_calls.py` fits it; the numbers are in `models/library_calls.npz`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.cost.call_features import CallFeatures, features_of
from foretell.kernels.cost.settings import CALL_MODEL
from foretell.kernels.device import Device
from foretell.kernels.devices import described
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of
from foretell.kernels.program import LibraryCall

MODEL = Path(__file__).with_name("models") / "library_calls.npz"
MEGA = 1e6
Array = NDArray[np.float64]


@dataclass(frozen=True)
class CallTime:
    """Device time of a call, its doubt (standard deviation, in doublings), and the roofline's two times."""

    us: float
    doubt_log2: float
    kind: str
    memory_us: float
    compute_us: float


@dataclass(frozen=True)
class Correction:
    """Radial basis functions of one class of calls: features are shifted and scaled, operators are coordinates."""

    names: tuple[str, ...]
    operators: tuple[str, ...]
    mean: Array
    scale: Array
    centres: Array
    weights: Array
    width: float
    spread_log2: float

    def place(self, features: CallFeatures, memory_us: float, compute_us: float) -> Array:
        """The coordinates of a call."""
        values = [features.shape.get(name, 0.0) for name in self.names]
        values += [math.log2(memory_us + 0.01), math.log2(compute_us + 0.001)]
        known = np.where(self._varied, (np.asarray(values) - self.mean) / self.scale, 0.0)
        which = [CALL_MODEL.operator_distance * float(features.operator == each) for each in self.operators]
        return np.concatenate([known, which])

    @property
    def _varied(self) -> NDArray[np.bool_]:
        """Which features were not the same in all measured calls."""
        return self.scale > 1.01 * CALL_MODEL.least_scale  # kept with few digits

    def is_unmeasured(self, features: CallFeatures) -> bool:
        """Whether the call differs from all measured ones in a feature that never varied."""
        fixed = zip(self.names, self._varied, self.mean, strict=False)
        return any(not varied and abs(features.shape.get(name, 0.0) - mean) > 0.5 for name, varied, mean in fixed)

    def at(self, place: Array) -> tuple[float, float]:
        """The correction in doublings, and how near the nearest measured call is (1: the same, 0: far)."""
        near = np.exp(-((self.centres - place) ** 2).sum(axis=1) / (2.0 * self.width))
        return float(near @ self.weights), float(near.max(initial=0.0))


def roofline_us(features: CallFeatures, device: Device) -> tuple[float, float]:
    """Microseconds for the bytes and for the operations, at data-sheet rates but for what plain units sustain."""
    unit = multiprocessor_of(capability_of(device))
    plain = device.peak_flops["float32"] * unit.sustained
    rate = device.peak_flops.get(features.dtype, plain) if features.dtype != "float32" else plain
    if features.dtype in ("float16", "bfloat16") and not features.tensor_cores:
        rate = plain * 2.0
    elif features.dtype == "float32" and features.tensor_cores and capability_of(device) >= 80:
        rate = device.peak_flops["float16"] / 2.0
    elif features.dtype == "float64":
        rate = plain * unit.double_lanes / unit.fma_lanes
    return features.bytes / (device.bandwidth_bytes_per_s / MEGA), features.flops / (rate / MEGA)


def plain_us(memory_us: float, compute_us: float) -> float:
    """Time by usual efficiencies, before correction."""
    return CALL_MODEL.fixed_us + memory_us / CALL_MODEL.memory_efficiency + compute_us / CALL_MODEL.compute_efficiency


def time_of(call: LibraryCall, device: Device) -> CallTime:
    """Device time of one library call."""
    features = features_of(call)
    memory_us, compute_us = roofline_us(features, device)
    home = described(CALL_MODEL.measured_on)
    at_home = roofline_us(features, home)
    us, doubt = plain_us(*at_home), CALL_MODEL.unknown_spread_log2
    correction = corrections().get(features.kind)
    if correction is not None and features.operator not in CALL_MODEL.uncorrected:
        change, near = correction.at(correction.place(features, *at_home))
        if correction.is_unmeasured(features):
            near = min(near, CALL_MODEL.unmeasured_near)
        us *= 2.0**change
        doubt = math.hypot(correction.spread_log2, (1.0 - near) * CALL_MODEL.unknown_spread_log2)
    if device != home:
        slower = _cycles(home) / _cycles(device)
        if features.tensor_cores:  # what is beyond the roofline of tensor cores goes partly by their rate
            slower = math.sqrt(slower * compute_us / at_home[1])
        us = _elsewhere(us, at_home, (memory_us, compute_us), slower)
    return CallTime(max(us, CALL_MODEL.least_us), doubt, features.kind, memory_us, compute_us)


def _elsewhere(us: float, at_home: tuple[float, float], there: tuple[float, float], slower: float) -> float:
    """A measured time carried over to another device: bytes by bandwidth, operations by rate, the rest by cycles."""
    busy = max(0.0, us - CALL_MODEL.fixed_us)
    computing = min(busy, at_home[1] / CALL_MODEL.busy_share)
    rate = there[1] / at_home[1] if at_home[1] else 1.0
    moving = there[0] * min(CALL_MODEL.most_over_memory, max(1.0, busy / max(at_home[0], 1e-9)))
    return min(us, CALL_MODEL.fixed_us) + max(moving, computing * rate + (busy - computing) * slower)


def _cycles(device: Device) -> float:
    return device.cores * device.clock_hz


@cache
def corrections() -> Mapping[str, Correction]:
    """The corrections by class."""
    with np.load(MODEL, allow_pickle=False) as file:
        kinds = [str(kind) for kind in file["kinds"]]
        return {kind: _correction(file, kind) for kind in kinds}


def _correction(file: Any, kind: str) -> Correction:
    def array(name: str) -> Array:
        return np.asarray(file[f"{kind}.{name}"], dtype=np.float64)

    names, operators = (tuple(str(each) for each in file[f"{kind}.{name}"]) for name in ("names", "operators"))
    return Correction(
        names,
        operators,
        array("mean"),
        array("scale"),
        array("centres"),
        array("weights"),
        float(array("width")),
        float(array("spread_log2")),
    )
