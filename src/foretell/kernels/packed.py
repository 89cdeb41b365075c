"""Numbers packed for storage: samples and forecasts as little-endian doubles instead of decimal text.

They are most of what a run writes down. As base64 they take half the space of JSON numbers and a fraction of the time
to read, without loss. Readers also accept the plain forms, which earlier versions wrote.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from operator import lt
from typing import Any, NamedTuple

import numpy as np

from foretell.belief import Forecast
from foretell.belief.forecast import MAX_ABS_LOG2
from foretell.kernels.measurement import LARGEST, Measurement, Timing, are_times
from foretell.kernels.typed import unchecked

_DOUBLE_BYTES = 8
_FIGURES = ("status", "speedup", "low", "high")
_KNOWN_LAYOUTS = 1024
_KNOWN_LEVELS = 256  # forecasts of one kind share their levels: those of a normal are always the same


def pack_measurement(measurement: Measurement) -> tuple[dict[str, Any], bytes]:
    """A measurement as plain JSON in which `timings` are texts (see `_layout`), and bytes.

    The bytes are doubles: for each timing speedup, low, high, all samples of the reference, all of the candidate.
    """
    data = measurement.to_dict()
    data["timings"] = [f"{len(t.reference_us)} {len(t.candidate_us)} {t.workload}" for t in measurement.timings]
    values: list[float] = []
    for t in measurement.timings:
        values += (t.speedup, t.low, t.high, *t.reference_us, *t.candidate_us)
    return data, _to_bytes(values)


def unpack_measurement(data: Mapping[str, Any], packed: bytes, are_checked: bool = False) -> Measurement:
    """The measurement that `pack_measurement` packed; `are_checked` if `are_packed_times` holds for the bytes.

    Raises ValueError, KeyError or TypeError if it makes no sense.
    """
    if packed and not are_checked and not are_times(_from_bytes(packed)):
        raise ValueError("a workload has samples or a speedup that are not positive numbers")
    layouts = [_layout(text) for text in data["timings"]]
    count = sum([3 + layout.references + layout.candidates for layout in layouts])
    if count * _DOUBLE_BYTES != len(packed):
        raise ValueError(f"it has {len(packed)} bytes of numbers where {count} numbers are described")
    return Measurement.from_dict(data, partial(_timings, layouts, packed))


def are_packed_times(packed: Sequence[bytes]) -> bool:
    """Whether all of these are doubles that are positive and finite: far quicker than a look at each."""
    if any(len(one) % _DOUBLE_BYTES for one in packed):
        return False
    values = np.frombuffer(b"".join(packed), dtype="<f8")
    return bool(np.all((values > 0) & (values < LARGEST)))


class _Layout(NamedTuple):
    """How many samples of reference and candidate a timing has, and of which workload."""

    references: int
    candidates: int
    workload: str


@lru_cache(_KNOWN_LAYOUTS)
def _layout(text: str) -> _Layout:
    """The layout that a text such as "5 5 rows=16 cols=8192" describes."""
    if not isinstance(text, str):
        raise ValueError(f"a timing is described by {text!r}")
    references, candidates, workload = text.split(" ", 2)
    layout = _Layout(int(references), int(candidates), workload)
    if layout.references < 1 or layout.candidates < 1:
        raise ValueError(f"a timing has {references} and {candidates} samples")
    return layout


def _timings(layouts: Sequence[_Layout], packed: bytes) -> Mapping[str, Any]:
    """The timings as a field of a measurement."""
    values = _from_bytes(packed)
    timings: list[Timing] = []
    start = 0
    for references, candidates, workload in layouts:
        speedup, low, high = values[start : start + 3]
        middle, end = start + 3 + references, start + 3 + references + candidates
        timings.append(Timing(workload, values[start + 3 : middle], values[middle:end], speedup, low, high))
        start = end
    return {"timings": tuple(timings)}


def measurement_to_json(measurement: Measurement) -> dict[str, Any]:
    """A packed measurement with its bytes as base64 in the member `samples`."""
    data, packed = pack_measurement(measurement)
    return data | {"samples": _to_text(packed)}


def split_measurement(data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `Measurement.from_figures` needs of a packed or plain measurement, and the rest."""
    figures = {name: data[name] for name in _FIGURES}
    rest = {name: value for name, value in data.items() if name not in figures}
    return figures | {"device_s": data["cost"]["device_s"]}, rest


def measurement_from_json(data: Mapping[str, Any]) -> Measurement:
    """The measurement that `measurement_to_json` or `Measurement.to_dict` described; raises as `unpack_measurement`."""
    if "samples" not in data:
        return Measurement.from_dict(data)
    return unpack_measurement(data, _from_text(data["samples"]))


def forecast_to_json(forecast: Forecast) -> dict[str, Any]:
    """A forecast with its knots and levels packed."""
    return {
        "p_fail": forecast.p_fail,
        "knots": _to_text(_to_bytes(forecast.knots)),
        "levels": _to_text(_to_bytes(forecast.levels)),
    }


def forecast_from_json(data: Mapping[str, Any]) -> Forecast:
    """The forecast that `forecast_to_json` or `Forecast.as_dict` described.

    Raises ValueError, KeyError or TypeError if it makes no sense.
    """
    text = data["knots"]
    if not isinstance(text, str):
        return Forecast.from_dict(data)
    p_fail, knots, levels = data["p_fail"], _from_bytes(_from_text(text)), _levels(data["levels"])
    if type(p_fail) is float and 0.0 <= p_fail <= 1.0 and levels.are_canonical and _are_knots(knots, levels.values):
        return unchecked(Forecast, {"p_fail": p_fail, "knots": knots, "levels": levels.values})
    return Forecast(p_fail, knots, levels.values)


class _Levels(NamedTuple):
    """Levels, and whether a forecast keeps them as they are."""

    values: tuple[float, ...]
    are_canonical: bool


@lru_cache(_KNOWN_LEVELS)
def _levels(text: str) -> _Levels:
    values = _from_bytes(_from_text(text))
    try:
        canonical = Forecast(0.0, tuple(range(len(values))), values).levels
    except ValueError:
        return _Levels(values, False)
    return _Levels(values, canonical == values)


def _are_knots(knots: tuple[float, ...], levels: tuple[float, ...]) -> bool:
    within = len(knots) == len(levels) and knots[0] >= -MAX_ABS_LOG2 and knots[-1] <= MAX_ABS_LOG2
    return within and all(map(lt, knots, knots[1:]))


def _to_bytes(values: Iterable[float]) -> bytes:
    listed = list(values)
    return struct.pack(f"<{len(listed)}d", *listed)


def _from_bytes(packed: bytes) -> tuple[float, ...]:
    count, rest = divmod(len(packed), _DOUBLE_BYTES)
    if rest:
        raise ValueError(f"{len(packed)} bytes are not a whole number of doubles")
    return struct.unpack(f"<{count}d", packed)


def _to_text(packed: bytes) -> str:
    return binascii.b2a_base64(packed, newline=False).decode()


def _from_text(text: str) -> bytes:
    return binascii.a2b_base64(text, strict_mode=True)
