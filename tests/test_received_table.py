"""Parquet tables from strangers: read within bounds and whole, or refused in words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from foretell import received_table
from foretell.received import NotPlain
from foretell.received_table import BadParquet, column_names, read_columns, read_rows, read_table

ROWS: list[dict[str, Any]] = [
    {"a": i, "text": "x" * (i % 7), "list": [float(i)] * (i % 3), "more": {"b": None, "c": [{"d": i}]}}
    for i in range(10_000)
]


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=3000)
    assert column_names(path) == ["a", "text", "list", "more"]
    assert read_table(path).schema.equals(pq.read_schema(path))
    assert read_rows(path) == ROWS
    assert read_columns(path, ["text", "a"]) == {"text": [r["text"] for r in ROWS], "a": [r["a"] for r in ROWS]}
    (tmp_path / "link").symlink_to(path)
    assert len(read_table(tmp_path / "link", ["a"])) == len(ROWS)
    pq.write_table(pa.Table.from_pylist(ROWS).slice(0, 0), path)
    assert read_rows(path) == []


def test_one_long_text_many_times_over_is_not_unfolded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_table, "MOST_BYTES", 1 << 20)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x" * (1 << 16)] * 256}), path)
    assert path.stat().st_size < 1 << 18
    with pq.ParquetFile(path) as file:
        assert received_table._step(received_table._sizes(file, ["a"], path)["a"], path) <= 16
    with pytest.raises(BadParquet, match="too large"):
        read_table(path)


@pytest.mark.parametrize("limit", ["MOST_ROWS", "MOST_BYTES"])
def test_tables_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    pq.write_table(pa.table({"a": [[1, 2, 3]] * 100}), tmp_path / "t.parquet")
    monkeypatch.setattr(received_table, limit, 99)
    with pytest.raises(BadParquet, match="too large"):
        read_table(tmp_path / "t.parquet")


def test_a_small_file_has_few_values(tmp_path: Path) -> None:
    """Each is an object of Python's once rows are made of it."""
    many = pa.ListArray.from_arrays([0, 2_000_000], pa.nulls(2_000_000, pa.int8()))
    pq.write_table(pa.table({"a": many}), tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 10_000
    with pytest.raises(BadParquet, match="in a file of this size"):
        read_rows(tmp_path / "t.parquet")


def test_odd_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(BadParquet, match="the column a twice"):
        column_names(path)
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"], pa.binary()).buffers())
    pq.write_table(pa.table({"a": bad}), path)
    with pytest.raises(BadParquet, match="UTF8"):
        read_rows(path)
    with pytest.raises(BadParquet, match="lacks b"):
        read_rows(path, ["b"])
    pq.write_table(pa.table({"a": pa.array([2**62], pa.timestamp("us"))}), path)
    with pytest.raises(BadParquet, match="not a Parquet file that can be read"):
        read_rows(path)
    path.write_bytes(b"PAR1" * 9)
    with pytest.raises(BadParquet, match="not a Parquet file"):
        column_names(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotPlain):
        column_names(path)
    with pytest.raises(FileNotFoundError):
        column_names(tmp_path / "absent")
