"""What the twelfth round found: numbers, names and paths in received files that no honest file has.

The numbers in the ids of cases and in docstrings are those of the attempts; cases without one are their siblings.
"""

from __future__ import annotations

import json
import os
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell import received_table
from foretell.belief import Forecast
from foretell.cli import forecast as verb
from foretell.cli import output
from foretell.cli.errors import Problem
from foretell.forecasting import Prediction
from foretell.gui.trace import FILE, TraceWriter
from foretell.kernels.candidate import Candidate
from foretell.kernels.devices import described
from foretell.kernels.forecast import recorded as recorded_as
from foretell.kernels.library import get
from foretell.kernels.program import Program
from foretell.kernels.record import apart
from foretell.kernels.record.refusal import Reason, Recording, Refusal
from foretell.kernels.replay import spaces
from foretell.kernels.store import Journal, JournalDamaged, StoreError, read_journal
from foretell.kernels.store import journal as journals
from foretell.kernels.store import lines as journal_lines
from foretell.kernels.tasks import from_spec, load
from foretell.kernels.tasks.solution import BadSolution, module_of
from foretell.kernels.tune.encode import encode
from foretell.kernels.tune.tuner import Tuner
from foretell.received import BadFile
from foretell.received_arrays import read_arrays
from foretell.received_pages import unpacked
from foretell.received_table import BadParquet, read_rows, read_table
from tests.kernels.replay import world
from tests.kernels.tasks.test_flashinfer import DEFINITION, TIMES, solution
from tests.kernels.tasks.test_sources import LISTED, REFERENCE, folder, refusal, write

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

HUGE = "0x" + "f" * 4200

LISTS = {
    "100 a size": f"benchmarks: [{{size: {HUGE}}}]",
    "a size of 63 bits": f"benchmarks: [{{size: {1 << 62}}}]",
    "the name of a size": f"benchmarks: [{{{HUGE}: 1}}]",
    "a name that is no name": "benchmarks: [{1: 1}]",
    "a number in a list": f"benchmarks: [{{size: 1, shape: [1, {HUGE}]}}]",
    "a number without end": "benchmarks: [{size: 1, scale: .inf}]",
    "the name of a file": f"files: [{{name: {HUGE}, source: a.py}}]\nbenchmarks: [{{size: 1}}]",
    "102 a path": 'files: [{name: a.py, source: "a\\0b.py"}]\nbenchmarks: [{size: 1}]',
    "a long path": "files: [{name: a.py, source: %s.py}]\nbenchmarks: [{size: 1}]" % ("a" * 300),
    "links in a circle": "files: [{name: a.py, source: circle.py}]\nbenchmarks: [{size: 1}]",
    "a fraction in base 60": "benchmarks: [{size: 1%s.0}]" % (":1" * 400),
    "no number": 'benchmarks: [{size: !!int ""}]',
    "no truth value": "benchmarks: [{size: !!bool perhaps}]",
    "no date": "benchmarks: [{size: !!timestamp today}]",
    "a date before all": "benchmarks: [{size: 0001-01-01T00:00:00+23:00}]",
}  # fmt: skip


@pytest.mark.parametrize("case", LISTS)
def test_a_list_of_what_no_size_or_path_is(case: str, tmp_path: Path) -> None:
    place = folder(tmp_path, LISTS[case] + "\n")
    (place / "circle.py").symlink_to(place / "circle.py")
    assert len(refusal(place).sentence) < 1000


@pytest.mark.parametrize("limit", [HUGE, "1e999", "-1.0", "'0.1'", "True"])
def test_a_tolerance_that_no_check_has(limit: str, tmp_path: Path) -> None:
    """101"""
    changed = REFERENCE.replace("rtol=1e-3", f"rtol={limit}")
    assert changed != REFERENCE
    assert "rtol" in refusal(folder(tmp_path, reference=changed)).what


def test_lists_and_tolerances_of_honest_problems(tmp_path: Path) -> None:
    listed = f"benchmarks: [{{size: {1 << 61}, scale: -1.5e+300, shape: [1, 2], seed: {1 << 63}}}]\n"
    task = load(folder(tmp_path, LISTED.partition("tests:")[0] + listed))
    assert from_spec(task.spec) == task and task.tolerance.relative == 1e-3


BIG = (1 << 62) - 1
DEFINITIONS: dict[str, dict[str, Any]] = {
    "103 a list as an axis": {"inputs": {"x": {"shape": [["hidden"]], "dtype": "float32"}}},
    "an object as an axis": {"outputs": {"y": {"shape": [{}], "dtype": "float32"}}},
    "104 very many axes": {
        "axes": {"n": {"type": "const", "value": (1 << 63) - 1}},
        "inputs": {"x": {"shape": ["n"] * 40, "dtype": "float32"}},
        "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
    },
    "many axes": {
        "axes": {"n": {"type": "const", "value": 2}},
        "inputs": {"x": {"shape": ["n"] * 33, "dtype": "float32"}},
        "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
    },
    "large axes": {
        "axes": {"n": {"type": "const", "value": BIG}},
        "inputs": {"x": {"shape": [], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["n"] * 30, "dtype": "float32"}},
    },
    "a name that is no name": {
        "axes": {"a b": {"type": "const", "value": 2}},
        "inputs": {"x": {"shape": ["a b"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["a b"], "dtype": "float32"}},
    },
    "very many inputs": {
        "axes": {},
        "inputs": {f"x{i}": {"shape": [], "dtype": "float32"} for i in range(300)},
        "outputs": {"y": {"shape": [], "dtype": "float32"}},
    },
}  # fmt: skip


@pytest.mark.parametrize("case", DEFINITIONS)
def test_a_definition_of_tensors_that_nothing_holds(case: str, tmp_path: Path) -> None:
    refusal(write(tmp_path / "own.json", json.dumps(DEFINITION | DEFINITIONS[case])))


def test_a_workload_of_tensors_that_nothing_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "own.json", json.dumps(DEFINITION))
    write(tmp_path / "own.jsonl", json.dumps({"axes": {"batch": BIG}}))
    assert "GiB" in refusal(path).what
    write(tmp_path / "own.jsonl", json.dumps({"axes": {"batch": 1 << 30}}))
    task = load(path)
    assert from_spec(task.spec) == task and task.least_bytes(task.workloads[0].sizes) > 1 << 30


def test_a_run_of_tensors_that_nothing_holds(tmp_path: Path) -> None:
    write(tmp_path / "own.jsonl", json.dumps({"axes": {"batch": 4}}))
    spec = load(write(tmp_path / "own.json", json.dumps(DEFINITION))).spec
    for workload in spec["workloads"]:
        workload["sizes"]["batch"] = 1 << 62
    spec["inputs"][0]["shape"] = ["batch"] * 32
    with pytest.raises(ValueError, match="shape"):
        from_spec(spec)
    spec["inputs"][0] |= {"shape": [], "dtype": "float12"}
    with pytest.raises(ValueError, match="type"):
        from_spec(spec)


@pytest.mark.parametrize("path", ["", ".", "./", "a\0.py", "a\nb.py", "no-name.py", "in/for.py/1.py"])
def test_a_solution_in_what_is_no_file(path: str, tmp_path: Path) -> None:
    """105"""
    write(tmp_path / "own.jsonl", json.dumps({"axes": {"batch": 4}}))
    task = load(write(tmp_path / "own.json", json.dumps(DEFINITION)))
    told = json.loads(solution(TIMES, "HELP = 1\n", entry_point=f"{path}::run"))
    told["sources"].append({"path": path, "content": TIMES})
    with pytest.raises(BadSolution, match=r"names no file|cannot be imported"):
        module_of(json.dumps(told), task)
    told["spec"]["entry_point"], told["sources"][-1]["path"] = "own/part.py::run", "own/part.py"
    assert "from own.part import run" in module_of(json.dumps(told), task)


def cached(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps(world.cache() | changes))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"kernel_name": ["tiny"]}, id="107 a list as a name"),
        pytest.param({"device_name": {"name": "Some GPU"}}, id="107 an object as a name"),
        pytest.param({"kernel_name": "tiny\nerror: none"}, id="lines as a name"),
        pytest.param({"device_name": "x" * 2000}, id="a long name"),
        pytest.param({"tune_params": world.VALUES | {"fixed": [7, None]}}, id="a value that is nothing"),
        pytest.param({"tune_params": world.VALUES | {"fixed": [7, "x" * 2000]}}, id="a long text as a value"),
    ],
)
def test_a_space_of_odd_names_and_values(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(spaces.BadSpace):
        spaces.read(cached(tmp_path / "tiny.json", **changes))
    assert len(spaces.read(cached(tmp_path / "tiny.json")))


@pytest.mark.parametrize("time_ms", [5e-324, 1e-10, 2e12, 9e19])
@pytest.mark.parametrize("as_table", [False, True])
def test_a_time_that_no_kernel_takes(time_ms: float, as_table: bool, tmp_path: Path) -> None:
    """106"""
    if as_table:
        path = world.write_table(tmp_path)
        rows = [row | {"time_ms": row["time_ms"] and time_ms} for row in pq.read_table(path).to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        cache = world.cache()["cache"]
        cache["32,2,1,7"]["time"] = time_ms
        path = cached(tmp_path / "tiny.json", cache=cache)
    with pytest.raises(spaces.BadSpace, match=r"1e-09 to 1e\+12 ms"):
        spaces.read(path)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values",
    [
        pytest.param([-1e308, 1e308, 0, 1], id="108 a span beyond all numbers"),
        pytest.param([1, 2, 3, 1e308], id="a value beyond all others that is not used"),
        pytest.param([0, 5e-324, 1e-320, 1e308], id="a span of next to nothing"),
    ],
)
def test_values_of_parameters_far_apart(values: list[float]) -> None:
    codes = np.arange(3)[:, None]
    points = encode({"a": values}, codes)
    assert np.isfinite(points.basis).all() and np.isfinite(points.features).all()
    assert (points.features >= 0.0).all() and (points.features <= 1.0).all()
    tuner = Tuner({"a": values}, codes)
    for _ in codes:
        tuner.tell(tuner.ask(), 1.0)


def test_a_parameter_of_very_many_values() -> None:
    """133"""
    values = list(range(1, 2001))
    began = time.process_time()
    points = encode({"a": values}, np.arange(len(values))[:, None])
    assert time.process_time() - began < 10
    few = encode({"a": values[:200]}, np.arange(200)[:, None])
    assert np.allclose(few.basis @ few.basis.T, _matern(few.features[:, 0], values[:200]), atol=1e-3)
    inner = points.basis[::100] @ points.basis[::100].T
    assert np.allclose(inner, _matern(points.features[:, 0], values)[::100, ::100], atol=0.02)


def _matern(place: Any, values: list[int]) -> Any:
    """The mean of the kernels over the places of values, over how often they halve and over powers of two."""
    halved = np.array([min(5, (n & -n).bit_length() - 1) for n in values]) / 5.0
    power = np.array([n & (n - 1) == 0 for n in values]) / 1.0
    kernels = []
    for each in (place, halved, power):
        distance = np.sqrt(5.0) * np.abs(each[:, None] - each[None, :]) / 0.5
        kernels.append((1.0 + distance + distance**2 / 3.0) * np.exp(-distance))
    return np.mean(kernels, axis=0)


def _forged(path: Path, **stated: int) -> Path:
    """The file with other numbers in its footer: `num_values` or `total_uncompressed_size` of its first column."""
    chunk = pq.read_metadata(path).row_group(0).column(0)
    names = ("num_values", "total_uncompressed_size")
    before, after = b"", b""
    for name in names:
        number = _varint(2 * getattr(chunk, name))
        before += b"\x16" + number
        after += b"\x16" + (_varint(2 * stated[name], len(number)) if name in stated else number)
    data = path.read_bytes()
    assert data.count(before) == 1
    path.write_bytes(data.replace(before, after))
    forged = pq.read_metadata(path).row_group(0).column(0)
    assert all(getattr(forged, name) == number for name, number in stated.items())
    return path


def _varint(value: int, length: int = 1) -> bytes:
    digits = []
    while value or len(digits) < length:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits[:-1], digits[-1] & 127])


@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
def test_a_footer_that_tells_less_than_there_is(codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """109"""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x" * (1 << 16)] * 4096}), path, compression=codec)
    _forged(path, total_uncompressed_size=100)
    monkeypatch.setattr(received_table, "FEW_BYTES", 1 << 22)
    steps: list[int] = []
    step = received_table._step
    monkeypatch.setattr(received_table, "_step", lambda *of: steps.append(step(*of)) or steps[-1])
    before = pa.total_allocated_bytes()
    with pytest.raises(BadParquet, match="too large"):
        read_rows(path)
    most = received_table._most_bytes(path)
    assert steps == [most // _whole(path)[0]] and steps[0] < 200
    assert pa.total_allocated_bytes() - before < most


def _whole(path: Path) -> tuple[int, int]:
    """The bytes and values of the first column by its pages."""
    metadata = pq.read_metadata(path)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = [unpacked(descriptor, metadata.row_group(i).column(0)) for i in range(metadata.num_row_groups)]
    finally:
        os.close(descriptor)
    return sum(each.size for each in found), sum(each.values for each in found)


def test_a_footer_that_tells_of_fewer_values(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [[None] * 3_000_000]}), path, compression="zstd", row_group_size=1)
    with pytest.raises(BadParquet, match="values"):
        read_table(_forged(path, num_values=1))


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(lambda: pa.array([None] * 4096, pa.binary(1 << 20)), id="of a great length"),
        pytest.param(
            lambda: pa.array([["x" * 1000]] * 9, pa.list_(pa.dictionary(pa.int32(), pa.string()))), id="shared"
        ),
    ],
)
def test_values_that_take_more_than_their_file_has(column: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": column()}), tmp_path / "t.parquet")
    with pytest.raises(BadParquet, match=r"too large|share texts"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("page_version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
def test_pages_tell_what_an_honest_footer_does(page_version: str, codec: str, tmp_path: Path) -> None:
    path, rows = tmp_path / "t.parquet", 5000
    table = pa.table({"a": [f"{i % 700} {'x' * (i % 40)}" if i % 5 else None for i in range(rows)]})
    pq.write_table(
        table, path, row_group_size=2000, data_page_size=4096, data_page_version=page_version, compression=codec
    )
    metadata = pq.read_metadata(path)
    stated = sum(metadata.row_group(i).column(0).total_uncompressed_size for i in range(metadata.num_row_groups))
    size, values = _whole(path)
    assert values == rows and 0.9 * stated < size <= stated
    assert read_table(path) == table


def test_pages_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path, use_dictionary=False)
    whole = path.read_bytes()
    for first in (
        b"\x00",
        b"\xff" * 40,
        b"\x15\x00\x15\xff\xff\xff\xff\x0f\x15\x00\x00",
        b"\x0c" * 40,
        b"\x08" + b"\xff" * 12,
    ):
        path.write_bytes(whole[:4] + first + whole[4 + len(first) :])
        with pytest.raises(BadParquet, match="can be read"):
            read_table(path)


@pytest.mark.parametrize(
    "checked",
    [pytest.param(True, id="110 with its checksum"), pytest.param(False, id="111 without")],
)
@pytest.mark.parametrize("read", [read_journal, Journal.open, journals.read_moments])
def test_a_line_without_end(read: Any, checked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "MOST_LINE_BYTES", 1 << 20)
    size = 64 << 20
    with (tmp_path / journals.JOURNAL_NAME).open("wb") as file:
        file.truncate(size)
        if checked:
            file.seek(size)
            file.write(b',"crc":"%08x"}\n' % zlib.crc32(bytes(size)))
    tracemalloc.start()
    try:
        with pytest.raises(JournalDamaged, match="bytes"):
            read(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_lines_that_are_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "MOST_LINE_BYTES", 1 << 12)
    with Journal.open(tmp_path, clock=lambda: 1.5) as journal:
        journal.append("tick", {"text": "x" * 4000})
        with pytest.raises(StoreError, match="4096"):
            journal.append("tick", {"text": "x" * 5000})
        journal.append("tock", {})
    assert [entry.event for entry in read_journal(tmp_path).entries] == ["tick", "tock"]
    assert journals.read_moments(tmp_path) == [(1.5, "tick"), (1.5, "tock")]


def test_a_line_of_very_many_values(tmp_path: Path) -> None:
    line = journal_lines.encode({"n": 0, "t": 1.0, "event": "tick", "payload": {"a": [0] * (1 << 20)}})
    (tmp_path / journals.JOURNAL_NAME).write_bytes(line)
    with pytest.raises(JournalDamaged, match="values"):
        read_journal(tmp_path)


@pytest.mark.parametrize("moment", ["1e999", "1.2.3", "e", "-1"])
def test_a_moment_that_is_none(moment: str, tmp_path: Path) -> None:
    body = b'{"n":0,"t":%s,"event":"tick","payload":{}' % moment.encode()
    (tmp_path / journals.JOURNAL_NAME).write_bytes(b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body)))
    with pytest.raises(JournalDamaged):
        journals.read_moments(tmp_path)


def test_a_trace_of_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"{}\n{}\n" + bytes(16 << 20))
    tracemalloc.start()
    try:
        with TraceWriter(tmp_path) as trace:
            assert (tmp_path / FILE).read_bytes() == b"{}\n{}\n"
            trace.append("end", {})
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert (tmp_path / FILE).read_bytes().count(b"\n") == 3


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        pytest.param("|S0", "(300000000,)", id="143"),
        pytest.param("<U0", "(300000000,)", id="texts"),
        pytest.param("|V0", "(300000000,)", id="nothing"),
        pytest.param("|V8", "(1,)", id="anything"),
        pytest.param("<M8[s]", "(1,)", id="dates"),
        pytest.param("<f8", "(0, 1000000000)", id="a great side"),
        pytest.param("<f8", "(2,)", id="more than its file"),
    ],
)
def test_an_array_of_values_that_take_no_bytes(kind: str, shape: str, tmp_path: Path) -> None:
    said = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said.encode() + bytes(8)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as packed:
        packed.writestr("roots.npy", content)
    with pytest.raises(BadFile):
        read_arrays(tmp_path / "a.npz")


def test_arrays_of_honest_files(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(3),
        "b": np.zeros((0, 9)),
        "c": np.array(["x", "yz"]),
        "d": np.array(1.5),
        "e": np.eye(2).T,
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found = read_arrays(tmp_path / "a.npz")
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


FORGED = "it broke\n\n\x1b[2Kx9.99  mine.py\u2028  1 % chance\r\tthat it fails" + "\nx3.00  mine.py" * 2000


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.BUILD])
def test_a_refusal_is_one_line(reason: Reason) -> None:
    shown = apart._shown(Refusal(reason, FORGED), None)
    assert shown.reason is reason and len(shown.sentence.splitlines()) == 1
    assert shown.sentence.isprintable() and shown.sentence.startswith("it broke")


def _show(reason: Reason, path: Path) -> None:
    """Print the forecast of a candidate whose recorder answered so."""
    task, device = get("softmax", "gpu"), described("h200")
    recorded = recorded_as.verdict(
        Recording(Program("", {}, (), (), (), (), (), (), (), {})), Recording(refusal=Refusal(reason, FORGED))
    )
    build = recorded_as.build_of(Recording(), recorded, device)
    candidate = Candidate("softmax", "triton", "x = 1\n")
    said = Forecast.from_normal(0.0, 1.0, 0.99)
    verb._show_failed(path, Prediction(task, device, candidate, said, "program", 0, build, recorded))


@pytest.mark.parametrize("reason", [Reason.BUILD, Reason.FAILED])
def test_a_forged_refusal_passes_for_no_line_of_a_forecast(reason: Reason, capsys: pytest.CaptureFixture[str]) -> None:
    _show(reason, Path("mine.py"))
    head, first, *rest = capsys.readouterr().out.rstrip().splitlines()
    assert head.startswith("cannot run") and first.startswith(f"  {reason}: it broke")
    assert rest and all(each.startswith("  | ") for each in rest)


def test_what_is_printed_of_foreign_texts_is_on_one_line() -> None:
    assert output.line(FORGED).isprintable() and output.line("a\n\tb\u2029c\x1b") == "a  bc"
    assert output.line("a  b \u00e4") == "a  b \u00e4"
    assert output.marked("[bold]{}[/]\n{}", "a\nb", "c\nd").plain == "a b\nc d"
    told = str(Problem("no\n  do: rm", "one\nline", "this\nthat"))
    assert told.splitlines() == ["error: no   do: rm", "  expected: one line", "  do:       this that"]
