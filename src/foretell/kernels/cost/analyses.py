"""Results of analysing a Program (times, work, breakdown, build features) and how they are written as JSON and read.

An `Analysis` names the function that computes a result, called for trusted Programs or in a disposable process, and
how the result is serialised. What is read may come from a process that a hostile Program has taken over: only
finite numbers within bounds, short texts and known names pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Generic, TypeVar

from foretell.kernels.cost.breakdown import Breakdown, Part, breakdown
from foretell.kernels.cost.kernels import Kernel, features_of
from foretell.kernels.cost.steps import ProgramTime, StepTime, times_of
from foretell.kernels.cost.work import Work, work_of
from foretell.kernels.device import Device
from foretell.kernels.limits import PROGRAM
from foretell.kernels.program import DTYPE_BYTES, Program
from foretell.kernels.typed import typed

T = TypeVar("T")
MOST = 1e40  # no number of an analysis is larger
LEAST_US = 1e-9
MOST_NAMES = 256  # parts of a device, families of operators, features
_KEY_CHARACTERS = 200
_REASON_CHARACTERS = 500


@dataclass(frozen=True)
class Analysis(Generic[T]):
    """One kind of analysis: `run` works it out, `plain` gives it as JSON, `read` reads that; ValueError if it cannot
    be one's result. `by_device` says whether it depends on the device."""

    name: str
    run: Callable[[Program, Device], T]
    plain: Callable[[T], Any]
    read: Callable[[Any], T]
    by_device: bool = True


def _plain_times(times: ProgramTime) -> dict[str, Any]:
    """Steps that take the same time for the same reason are written once: `order` has the place and row of each."""
    rows: dict[str, int] = {}
    distinct: list[Any] = []
    order: list[int] = []
    for step in times.steps:
        row = _row(step)
        number = rows.setdefault(repr(row), len(distinct))
        if number == len(distinct):
            distinct.append(row)
        order += [step.at, number]
    whole = {"device_us": times.device_us, "eager_us": times.eager_us, "host_us": times.host_us}
    return {"rows": distinct, "order": order, **whole}


def _row(step: StepTime) -> dict[str, Any]:
    row = {field.name: getattr(step, field.name) for field in fields(step) if field.name != "at"}
    key = step.key if len(step.key) <= _KEY_CHARACTERS else hashlib.sha256(step.key.encode()).hexdigest()
    reason = "".join(each for each in step.reason if each.isprintable())[:_REASON_CHARACTERS]
    return row | {"key": key, "reason": reason}


def _read_times(plain: Any) -> ProgramTime:
    order = plain["order"]
    _require(isinstance(order, list) and len(order) <= 2 * PROGRAM.steps, "too many steps")
    rows = [_checked(StepTime(at=0, **row)) for row in plain["rows"]]
    places = [_whole(at, PROGRAM.steps) for at in order[::2]]
    steps = tuple(replace(rows[_whole(row, len(rows) - 1)], at=at) for at, row in zip(places, order[1::2], strict=True))
    times = _checked(ProgramTime(steps, plain["device_us"], plain["eager_us"], plain["host_us"]))
    shortest = min(times.device_us, times.eager_us, *(row.us for row in rows))
    _require(shortest >= LEAST_US, "a time of nothing")
    return times


def _read_work(plain: Any) -> Work:
    work = _checked(Work(**plain))
    _require(work.dtype in DTYPE_BYTES, "no such type")
    return work


def _read_breakdown(plain: Any) -> Breakdown:
    parts = plain["parts"]
    _require(isinstance(parts, list) and len(parts) <= PROGRAM.steps, "too many parts")
    return _checked(Breakdown(**{**plain, "parts": tuple(map(_read_part, parts))}))


def _read_part(plain: Any) -> Part:
    kernel = plain["kernel"]
    return _checked(Part(**{**plain, "kernel": None if kernel is None else _checked(Kernel(**kernel))}))


def _read_features(plain: Any) -> dict[str, float]:
    _check(plain, least=-MOST)
    return {name: float(value) for name, value in plain.items()}


def _checked(value: T) -> T:
    """The dataclass instance itself; ValueError if a field is not what its annotation says, or out of bounds."""
    typed(value)
    for field in fields(value):  # type: ignore[arg-type]
        _check(getattr(value, field.name))
    return value


def _check(value: Any, least: float = 0.0) -> None:
    """ValueError unless numbers, texts and names with numbers are within bounds; others were checked by themselves."""
    if isinstance(value, int | float):
        _require(least <= value <= MOST, "a number out of bounds")
    elif isinstance(value, str):
        _require(len(value) <= PROGRAM.name_characters and value.isprintable(), "not a short text")
    elif isinstance(value, dict):
        _require(len(value) <= MOST_NAMES, "too many names")
        for name, number in value.items():
            _check(name)
            _require(isinstance(number, int | float), "not a number")
            _check(number, least)


def _whole(value: Any, most: int) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most, "a place out of bounds")
    return int(value)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


TIMES = Analysis("times", times_of, _plain_times, _read_times)
WORK: Analysis[Work] = Analysis("work", lambda program, _: work_of(program), asdict, _read_work, by_device=False)
BREAKDOWN: Analysis[Breakdown] = Analysis("breakdown", breakdown, asdict, _read_breakdown)
FEATURES: Analysis[dict[str, float]] = Analysis("features", features_of, dict, _read_features)
ANALYSES: Mapping[str, Analysis[Any]] = {each.name: each for each in (TIMES, WORK, BREAKDOWN, FEATURES)}
