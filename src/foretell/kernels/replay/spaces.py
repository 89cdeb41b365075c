"""Tuning spaces: every allowed configuration of one kernel on one device, with its measured time or its failure.

Two forms are read: a table (`NAME.parquet` with a column for each parameter, `time_ms` and `status`, and its card
`NAME.json`) and a cache file of Kernel Tuner (`.json` or `.json.gz`, also one that a run left unclosed).
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.measurement import Status
from foretell.kernels.typed import all_text
from foretell.received import BadJson, listed, parsed, read_json, read_plain
from foretell.received_table import read_columns

Value = int | float | str | bool
Config = Mapping[str, Value]

# Tables and Kernel Tuner name failures in their own words. What only broke a restriction was never tried: left out.
_STATUS = {
    "ok": Status.OK,
    "compile_failed": Status.COMPILE_ERROR,
    "runtime_failed": Status.LAUNCH_ERROR,
    "CompilationFailedConfig": Status.COMPILE_ERROR,
    "RuntimeFailedConfig": Status.LAUNCH_ERROR,
    "VerificationFailedConfig": Status.WRONG,
}
_BROKE_A_RESTRICTION = "InvalidConfig"
MOST_BYTES = 256 << 20  # of a cache file, unpacked
MOST_VALUES = 2048  # of all parameters together: a tuner compares each with each
MOST_PARAMETERS = 64
MOST_CELLS = 1 << 25  # configurations times values, of which a tuner keeps a number each
MOST_CHARACTERS = 1000  # of a name, and of a text that is a value
LEAST_MS, MOST_MS = 1e-9, 1e12  # what a kernel may take: far less than a cycle, and decades
# What files of others may lead to: they may hold anything.
_NOT_AS_EXPECTED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, OSError, zlib.error)
_NO_TIME = 1e20  # what early versions of Kernel Tuner wrote for any failure


class BadSpace(ValueError):
    """A file that holds no tuning space; the message says what is wrong with it."""


@dataclass(frozen=True, eq=False)
class Space:
    """One kernel's configurations on one device.

    `parameters` maps each parameter to its values, in the order they were given. Row i of `codes` has for each
    parameter the index of its value; `time_ms[i]` is nan where the configuration failed, `status[i]` says how. A
    combination without a row is not allowed. `restrictions` are those the kernel's owner wrote down, as text.
    """

    name: str
    kernel: str
    device: str
    parameters: Mapping[str, tuple[Value, ...]]
    restrictions: tuple[str, ...]
    codes: NDArray[np.int64]
    time_ms: NDArray[np.float64]
    status: tuple[Status, ...]

    def __post_init__(self) -> None:
        if not len(self.codes) == len(self.time_ms) == len(self.status):
            raise BadSpace(f"{self.name}: configurations, times and statuses differ in number")
        values = sum(map(len, self.parameters.values()))
        if len(self.parameters) > MOST_PARAMETERS:
            raise BadSpace(f"{self.name} has {len(self.parameters):,} parameters; at most {MOST_PARAMETERS} are tuned")
        if values > MOST_VALUES or values * len(self.codes) > MOST_CELLS:
            raise BadSpace(
                f"{self.name} is too large: {len(self.codes):,} configurations of {values:,} values; parameters have "
                f"at most {MOST_VALUES:,} values, times configurations {MOST_CELLS:,}"
            )
        worked = np.array([status is Status.OK for status in self.status], dtype=bool)
        if not worked.any():
            raise BadSpace(f"{self.name}: no configuration works")
        in_bounds = (self.time_ms >= LEAST_MS) & (self.time_ms <= MOST_MS)
        if not np.array_equal(worked, in_bounds) or not np.array_equal(worked, ~np.isnan(self.time_ms)):
            raise BadSpace(
                f"{self.name}: a configuration that is ok needs a time from {LEAST_MS:g} to {MOST_MS:g} ms, "
                "a failed one has none"
            )
        if len(np.unique(self.codes, axis=0)) != len(self.codes):
            raise BadSpace(f"{self.name}: a configuration is there twice")

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def best_ms(self) -> float:
        return float(np.nanmin(self.time_ms))

    def config(self, index: int) -> dict[str, Value]:
        """The parameters' values in one row."""
        names = self.parameters.items()
        return {name: values[code] for (name, values), code in zip(names, self.codes[index], strict=True)}

    def rows_in(self, other: Space) -> NDArray[np.int64]:
        """For each row the row of `other` with the same values of the parameters both have; -1 where there is none.

        Parameters that only one of the two has must not vary there: BadSpace otherwise.
        """
        shared = [name for name in self.parameters if name in other.parameters]
        for space in (self, other):
            for name in space.parameters:
                if name not in shared and len(np.unique(space.codes[:, list(space.parameters).index(name)])) > 1:
                    raise BadSpace(f"{space.name} varies {name}, which {self.name} and {other.name} do not share")
        there = {key: row for row, key in enumerate(other._keys(shared))}
        return np.array([there.get(key, -1) for key in self._keys(shared)], dtype=np.int64)

    def _keys(self, names: Sequence[str]) -> Iterable[tuple[Value, ...]]:
        where = list(self.parameters)
        columns = [[self.parameters[name][code] for code in self.codes[:, where.index(name)]] for name in names]
        return zip(*columns, strict=True)


def read(path: Path) -> Space:
    """The space in a table (`.parquet`) or in a Kernel Tuner cache file; BadSpace where it holds none."""
    return read_table(path) if path.suffix == ".parquet" else read_cache(path)


def read_folder(folder: Path) -> list[Space]:
    """All tables of a folder, by name; NotPlain if one is a link out of it."""
    return [read_table(path) for path in listed(folder, "*.parquet")]


def read_table(path: Path) -> Space:
    """A table with its card beside it."""
    card_path = path.with_suffix(".json")
    if not card_path.is_file():
        raise BadSpace(f"{path} has no card {card_path.name} beside it")
    try:
        card = read_json(card_path)
        parameters = {name: tuple(card["parameter_values"][name]) for name in card["parameters"]}
        columns = read_columns(path, [*parameters, "status", "time_ms"])
        configs = list(zip(*(columns[name] for name in parameters), strict=True))
        status = tuple(_STATUS[word] for word in columns["status"])
        times = [math.nan if time is None else time for time in columns["time_ms"]]
        words = (card["space"], card["kernel"], card["gpu"])
        restrictions = tuple(card.get("restrictions_upstream") or ())
        return _space(words, parameters, restrictions, configs, times, status)
    except _NOT_AS_EXPECTED as error:
        raise BadSpace(_odd(path, error)) from error


def read_cache(path: Path) -> Space:
    """A cache file of Kernel Tuner; it does not keep the restrictions."""
    try:
        cache = _load_cache(path, _content(path))
        parameters = {name: tuple(cache["tune_params"][name]) for name in cache["tune_params_keys"]}
        records = [r for r in cache["cache"].values() if r["time"] != _BROKE_A_RESTRICTION]
        configs = [tuple(record[name] for name in parameters) for record in records]
        status = tuple(_cached_status(record["time"]) for record in records)
        times = [r["time"] if s is Status.OK else math.nan for r, s in zip(records, status, strict=True)]
        words = (path.name.split(".")[0], cache["kernel_name"], cache["device_name"])
        return _space(words, parameters, (), configs, times, status)
    except _NOT_AS_EXPECTED as error:
        raise BadSpace(_odd(path, error)) from error


def _content(path: Path) -> bytes:
    """The content of a plain file, unpacked if it is packed: never more than MOST_BYTES of it."""
    data = read_plain(path, MOST_BYTES)
    if path.suffix == ".gz":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError(f"unpacked it has more than {MOST_BYTES} bytes")
    return data


def _odd(path: Path, error: Exception) -> str:
    """Why a file of a space cannot be read; it names the file."""
    if isinstance(error, BadSpace):
        return str(error) if str(path) in str(error) else f"{path}: {error}"
    reason = f"{error} is missing or unknown" if isinstance(error, KeyError) else str(error)
    return f"{path} cannot be read as a tuning space: {reason}"


def _load_cache(path: Path, data: bytes) -> dict[str, Any]:
    reason = "it is no object"
    for ending in (b"", b"}}"):  # Kernel Tuner closes the file only when it is done
        try:
            found = parsed(data.rstrip().rstrip(b",") + ending if ending else data, nan=True)
        except BadJson as error:
            reason = reason if ending else str(error)
            continue
        if isinstance(found, dict):
            return found
    raise BadSpace(f"{path} is not a cache file of Kernel Tuner: {reason}")


def _cached_status(time: float | str) -> Status:
    if isinstance(time, str):
        return _STATUS[time]
    if type(time) not in (int, float):
        raise ValueError(f"the time {time!r} is no number")
    return Status.OK if time < _NO_TIME else Status.LAUNCH_ERROR


def _space(
    words: tuple[str, str, str],
    parameters: Mapping[str, tuple[Value, ...]],
    restrictions: tuple[str, ...],
    configs: Sequence[tuple[Value, ...]],
    times: Sequence[float],
    status: tuple[Status, ...],
) -> Space:
    for name in (*words, *parameters):
        if not isinstance(name, str) or len(name) > MOST_CHARACTERS or not name.isprintable():
            raise BadSpace(f"a name is {str(name)[:60]!r}, not a line of at most {MOST_CHARACTERS:,} characters")
    if not all_text(restrictions):
        raise BadSpace(f"{words[0]}: its restrictions are not texts")
    for name, values in parameters.items():
        if any(not isinstance(value, Value) or len(str(value)) > MOST_CHARACTERS for value in values):
            raise BadSpace(f"{words[0]}: a value of the parameter {name} is neither a number nor a short text")
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise BadSpace(f"{words[0]}: a value of the parameter {name} is not finite")
    odd = next((time for time in times if type(time) not in (int, float)), None)
    if odd is not None:
        raise BadSpace(f"{words[0]}: the time {str(odd)[:60]!r} is no number")
    codes = [{value: code for code, value in enumerate(values)} for values in parameters.values()]
    try:
        rows = [[code[value] for code, value in zip(codes, config, strict=True)] for config in configs]
    except KeyError as error:
        raise BadSpace(f"{words[0]}: the value {error} is not among those of its parameter") from error
    table = np.array(rows, dtype=np.int64).reshape(len(configs), len(parameters))
    return Space(*words, parameters, restrictions, table, np.array(times, dtype=np.float64), status)
