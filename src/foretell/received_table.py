"""Parquet tables that may have come from someone else: read within bounds and checked, or refused by BadParquet.

A small file may hold very many rows, one long text many times over or lists without end; so each column is read
by itself, in steps that its size in the file allows: that of its pages, for the footer may say anything. Of all of them
no more is kept than MOST_BYTES, or in a smaller file FEW_BYTES and TIMES_FILE of it, nor more values than FEW_VALUES
and VALUES_PER_BYTE of the file: each takes some 200 bytes once it is an object of Python's. Equal texts of a column
become one object.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foretell.extras import require
from foretell.received import BadFile, open_plain
from foretell.received_limits import size_of, within_limits
from foretell.received_pages import unpacked

MOST_ROWS, MOST_BYTES = 1_000_000, 1 << 30
FEW_BYTES, TIMES_FILE = 64 << 20, 50  # honest tables unpack to some twenty times their size
FEW_VALUES, VALUES_PER_BYTE = 1_000_000, 4
_STEP_ROWS = 4096
_NOT_AS_EXPECTED = (ValueError, TypeError, LookupError, ArithmeticError, NotImplementedError, RecursionError)


class BadParquet(BadFile):
    """A file that is not a Parquet table that can be read, or too large a one."""


def column_names(path: Path) -> list[str]:
    """The names of a table's columns; BadParquet if it is none or has a name twice, NotPlain or OSError otherwise."""
    with _opened(path) as file:
        return _names(file, path)


def read_table(path: Path, columns: Sequence[str] | None = None) -> Any:
    """An arrow table of these columns, or of all. Raises as `column_names`, and BadParquet if it lacks one."""
    arrow = require("pyarrow", "data")
    with _opened(path) as file, within_limits(path, size_of(path)):
        names = list(columns) if columns is not None else _names(file, path)
        absent = [name for name in names if name not in _names(file, path)]
        if absent:
            raise BadParquet(f"{path} lacks {', '.join(absent)}")
        sizes = _sizes(file, names, path)
        found, held = [], 0
        for name in names:
            pieces = []
            for batch in file.iter_batches(_step(sizes[name], path), columns=[name]):
                column = batch.column(0)
                if arrow.types.is_dictionary(column.type):  # as pandas writes texts of a few kinds
                    column = column.dictionary_decode()
                pieces.append(column)
                held += max(batch.nbytes, column.nbytes)
                if held > _most_bytes(path):
                    raise _too_large(path)
            kind = file.schema_arrow.field(name).type
            found.append(arrow.chunked_array(pieces, kind.value_type if arrow.types.is_dictionary(kind) else kind))
        table = arrow.Table.from_arrays(found, names=names)
        table.validate(full=True)
        return table


def read_rows(path: Path, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The rows of a table as Python has them; as `read_table`."""
    with within_limits(path, size_of(path)), _typed(path):
        table = read_table(path, columns)
        return rows_of(table)


def read_columns(path: Path, columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """The columns of a table as Python has them; as `read_table`."""
    with within_limits(path, size_of(path)), _typed(path):
        table = read_table(path, columns)
        return {name: _values(table.column(name)) for name in table.column_names}


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of an arrow table as Python has them; texts of a column that are equal are one object."""
    names = table.column_names
    columns = [_values(table.column(name)) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _values(column: Any) -> list[Any]:
    types = require("pyarrow", "data").types
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        values: list[Any] = column.to_pylist()
        return values
    known: dict[str, str] = {}
    return [
        None if text is None else known.setdefault(text, text)
        for chunk in column.chunks
        for text in (scalar.as_py() for scalar in chunk)
    ]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    require("pyarrow.parquet", "data")
    place = path.resolve()
    os.close(open_plain(place))
    with _typed(path), require("pyarrow", "data").parquet.ParquetFile(place) as file:
        yield file


@contextmanager
def _typed(path: Path) -> Iterator[None]:
    """BadParquet for whatever pyarrow raises about a file."""
    try:
        yield
    except BadFile:
        raise
    except (*_NOT_AS_EXPECTED, OSError, require("pyarrow", "data").ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the system; one without a number is what pyarrow says of bytes that it cannot read
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise BadParquet(f"{path} is not a Parquet file that can be read: {reason}") from error


def _names(file: Any, path: Path) -> list[str]:
    if file.metadata.num_rows > MOST_ROWS:
        raise _too_large(path)
    names: list[str] = file.schema_arrow.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadParquet(f"{path} has the column {twice[0]} twice")
    return names


def _sizes(file: Any, names: Sequence[str], path: Path) -> dict[str, int]:
    """The bytes of each of these columns in the file, unpacked; BadParquet if one has too many or all too many values.

    Values of a fixed length take it even where there are none, and texts within lists and structs are not shared.
    """
    lengths = [max(0, file.schema.column(i).length) for i in range(len(file.schema))]
    sizes, values = dict.fromkeys(names, 0), 0
    descriptor = open_plain(path.resolve())
    try:
        for name in names:
            if _is_nested_dictionary(file.schema_arrow.field(name).type):
                raise BadParquet(f"{path} has the column {name} of lists or structs that share texts")
            for index, chunk in _chunks(file.metadata, name):
                found = unpacked(descriptor, chunk)
                values += found.values
                sizes[name] += found.size
                if values > _most_values(path):
                    raise _too_large(path)
                if max(sizes[name], found.values * lengths[index]) > _most_bytes(path):
                    raise _too_large(path)
    finally:
        os.close(descriptor)
    return sizes


def _step(stored: int, path: Path) -> int:
    """How many rows of a column can be read at once, though each may hold as much as all of it does in the file."""
    return max(1, min(_STEP_ROWS, _most_bytes(path) // max(1, stored)))


def _chunks(metadata: Any, name: str) -> Iterator[tuple[int, Any]]:
    """What the file tells of each piece of a column, with the place of its kind in the schema."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    for index, chunk in ((i, group.column(i)) for group in groups for i in range(group.num_columns)):
        if f"{chunk.path_in_schema}.".startswith(f"{name}."):
            yield index, chunk


def _is_nested_dictionary(kind: Any, is_top: bool = True) -> bool:
    types = require("pyarrow", "data").types
    if types.is_dictionary(kind):
        return not is_top or _is_nested_dictionary(kind.value_type, False)
    return any(_is_nested_dictionary(kind.field(i).type, False) for i in range(kind.num_fields))


def _most_bytes(path: Path) -> int:
    return min(MOST_BYTES, FEW_BYTES + TIMES_FILE * size_of(path))


def _most_values(path: Path) -> int:
    return FEW_VALUES + VALUES_PER_BYTE * size_of(path)


def _too_large(path: Path) -> BadParquet:
    most = f"{_most_bytes(path) >> 20:,} MiB and {_most_values(path):,} values"
    return BadParquet(
        f"{path} is too large: tables have at most {MOST_ROWS:,} rows and, in a file of this size, {most}"
    )
