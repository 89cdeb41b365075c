"""Files and recordings with which attackers ended or held the reader: each is refused in a sentence, at once."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import sqlite3
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foretell import received_limits
from foretell.gui import trace
from foretell.kernels import devices
from foretell.kernels.bench.cpu import CpuBench, reference_candidate
from foretell.kernels.bench.gpu.builders import _read
from foretell.kernels.corpus.plan import read_plan
from foretell.kernels.cost import work_of
from foretell.kernels.evaluate import data, pools
from foretell.kernels.forecast.static_cuda import _PATTERNS
from foretell.kernels.languages import cpp
from foretell.kernels.languages.diagnostics import MESSAGE_CHARACTERS
from foretell.kernels.languages.dry.ptx import NotPtx, read_ptx
from foretell.kernels.languages.extension.bare import is_bare
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.program import LibraryCall, View
from foretell.kernels.program_check import InvalidProgram, check
from foretell.kernels.program_codec import Budget, from_bytes, to_bytes
from foretell.kernels.propose.knobs.arithmetic import evaluate
from foretell.kernels.record.job import decoded
from foretell.kernels.record.parameters import parameters_of
from foretell.kernels.record.refusal import Reason, Refused
from foretell.kernels.replay import spaces
from foretell.kernels.store.catalogue import _APPLICATION_ID, _SCHEMA, Catalogue
from foretell.kernels.store.errors import StoreError
from foretell.kernels.store.journal import read_journal
from foretell.kernels.task import evaluate_size
from foretell.kernels.tasks import BadTask, load
from foretell.kernels.walls.serve import _files
from foretell.lm.adapter import CARD_NAME, Card
from foretell.lm.files import read_answers, write_requests
from foretell.received import NotPlain, parsed
from foretell.received_limits import TooMuchWork, within_limits
from foretell.report import gui as page_of_trace
from foretell.runs import new_run
from tests.kernels.evaluate.world import foreign_row, write_foreign
from tests.kernels.programs import opened, random_program, sealed

HUGE = "1" + "0" * 400
EVENT: dict[str, Any] = {
    "event": "proposed", "t": 1.0, "step": 0, "goal": "g", "platform": "web", "proposal": {"actions": []},
    "history": {}, "critic": "rules", "verdict": {}, "seconds": 0.1, "images": {},
    "judgement": {"p_bad": 0.1, "error": None, "explanation": "", "evidence": {}},
}  # fmt: skip
MODULE = """
import numpy as np
{settings}
cpp = 'extern "C" void kernel(const float* x, float* out, long n) {{ for (long i = 0; i < n; ++i) out[i] = 2 * x[i]; }}'
def inputs(seed, n):
    return [{inputs}]
def reference(x):
    return 2 * x
"""


@pytest.mark.parametrize("text", [HUGE, "-" + HUGE, "1e999", "NaN", "[" * 100_000])
def test_numbers_that_no_float_holds_are_no_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"it|JSON"):
        parsed(text)
    assert parsed('[12345678901234567890, 1e300, "NaN"]') == [12345678901234567890, 1e300, "NaN"]


def test_a_table_names_devices_and_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gpu.json")
    for name in (str(tmp_path / "gpu.json"), "/dev/zero.json"):
        with pytest.raises(devices.UnknownDevice):
            devices.named(name)
        with pytest.raises(pools.BadTable):
            pools.device_of("gpu", name)
    assert pools.device_of("cpu", "processor x" + "9" * 5000).cores == 1


@pytest.mark.parametrize("text", ["[" * 100_000, '{"cores": 0}', "[]", HUGE])
def test_an_odd_description_of_a_device_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "gpu.json").write_text(text)
    with pytest.raises(devices.UnknownDevice):
        devices.described(str(tmp_path / "gpu.json"))
    known = devices.named("h200").to_dict()
    for change in ({"cores": 0}, {"clock_hz": -1.0}):
        (tmp_path / "gpu.json").write_text(json.dumps(known | change))
        with pytest.raises(devices.UnknownDevice):
            devices.described(str(tmp_path / "gpu.json"))


def test_a_table_with_odd_text_or_a_column_twice(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(write_foreign(tmp_path / "first.parquet", [foreign_row(0, 1)]))
    twice = table.append_column("gpu", table["gpu"])
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    odd = table.set_column(table.schema.get_field_index("candidate_code"), "candidate_code", bad)
    for each in (twice, odd):
        parquet.write_table(each, tmp_path / "t.parquet")
        with pytest.raises(pools.BadTable):
            data.read(tmp_path / "t.parquet")


def test_odd_files_beside_a_table(tmp_path: Path) -> None:
    path = write_foreign(tmp_path / "t.parquet", [foreign_row(0, 1)])
    (tmp_path / "parts.json").write_text("[" * 100_000)
    with pytest.raises(pools.BadTable):
        data.read(path, tmp_path / "parts.json")


def test_odd_tuning_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = {"kernel_name": "k", "device_name": "d", "tune_params_keys": ["a"], "tune_params": {"a": [1, 2]}}
    times = {"1": {"a": 1, "time": 1.5}, "2": {"a": 2, "time": -(10**400)}}
    (tmp_path / "c.json").write_text(json.dumps(cache | {"cache": times}))
    with pytest.raises(spaces.BadSpace):
        spaces.read(tmp_path / "c.json")
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("foretell.received_table.MOST_ROWS", 10)
    parquet.write_table(pa.table({"a": [1] * 11, "status": ["ok"] * 11, "time_ms": [1.0] * 11}), tmp_path / "s.parquet")
    card = {"parameter_values": {"a": [1]}, "parameters": ["a"], "space": "s", "kernel": "k", "gpu": "g"}
    (tmp_path / "s.json").write_text(json.dumps(card))
    with pytest.raises(spaces.BadSpace, match="at most 10 rows"):
        spaces.read(tmp_path / "s.parquet")


@pytest.mark.parametrize("change", [{"verdict": [1]}, {"judgement": {**EVENT["judgement"], "p_bad": 10**400}}])
def test_odd_traces(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / trace.FILE).write_text(json.dumps(EVENT) + "\n")
    assert len(trace.read(tmp_path).episodes) == 1
    (tmp_path / trace.FILE).write_text(json.dumps(EVENT | change) + "\n")
    with pytest.raises(trace.TraceError):
        trace.read(tmp_path)


def test_odd_answers_and_a_linked_file_of_requests(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "x", "prompt_tokens": ' + HUGE + "}\n")
    os.mkfifo(tmp_path / "b.jsonl")
    assert read_answers([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]) == ({}, 2)
    (tmp_path / "private").write_text("mine")
    (tmp_path / "requests.jsonl").symlink_to(tmp_path / "private")
    with pytest.raises(NotPlain):
        write_requests(tmp_path / "requests.jsonl", [])
    assert (tmp_path / "private").read_text() == "mine"


def test_an_odd_card_of_an_adapter(tmp_path: Path) -> None:
    (tmp_path / CARD_NAME).write_text('{"calibration": {"temperature": ' + HUGE + "}}")
    with pytest.raises(ValueError, match="beyond 64 bits"):
        Card.read(tmp_path)


def test_a_catalogue_that_is_a_view(tmp_path: Path) -> None:
    Catalogue(tmp_path / "c.sqlite").close()
    path = tmp_path / "view.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id = 0x464F5231")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        connection.execute(f"CREATE VIEW measurements AS {endless}")
    connection.close()
    with pytest.raises(StoreError):
        len(Catalogue(path))


def test_a_sparse_journal(tmp_path: Path) -> None:
    with (tmp_path / "journal.jsonl").open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(StoreError):
        read_journal(tmp_path)


def test_a_plan_with_half_of_a_character(tmp_path: Path) -> None:
    line = {"task": "softmax", "language": "cpp", "file": "k.cpp", "source": "\ud800", "spec": {}}
    with gzip.open(tmp_path / "plan.gz", "wt") as file:
        file.write(json.dumps(line) + "\n")
    with pytest.raises(ValueError, match="is not a plan"):
        list(read_plan(tmp_path / "plan.gz"))


SETTINGS = (
    "workloads = [{'n': 0x" + "f" * 5000 + "}]",
    "workloads = [{'n': 4}]\ntolerance = (1e-4, " + HUGE + ")",
)


@pytest.mark.parametrize("settings", SETTINGS, ids=("size", "tolerance"))
def test_odd_modules(tmp_path: Path, settings: str) -> None:
    (tmp_path / "op.py").write_text(MODULE.format(settings=settings, inputs="np.ones(n, dtype='float32')"))
    with pytest.raises(BadTask):
        load(tmp_path / "op.py")


def test_inputs_that_ignore_their_seed_are_refused(tmp_path: Path) -> None:
    text = MODULE.format(settings="workloads = [{'n': 64}]", inputs="np.ones(n, dtype='float32')")
    (tmp_path / "op.py").write_text(text)
    task = load(tmp_path / "op.py")
    bench = CpuBench()
    try:
        with pytest.raises(BadTask, match="same for every seed"):
            list(bench.measure(task, [reference_candidate(task)]))
    finally:
        bench.close()


CHANNELS = """    import os
    for descriptor in range(3, 64):
        try: os.write(descriptor, b"\\0" * 4096 + b'{"ok": 1}\\n')
        except OSError: pass
"""
SUBCLASS = """    class Odd(np.ndarray):
        def astype(self, *_, **__): raise SystemExit(0)
        @property
        def dtype(self): return type("d", (), {"name": "float32", "kind": "f"})()
    return (2 * x).view(Odd)
"""


@pytest.mark.parametrize(
    ("inputs", "body", "says"),
    [("", CHANNELS, "ended its process"), (" * (np.nan if seed else 1)", "", "nan"), ("", SUBCLASS, None)],
    ids=("channels", "nan", "subclass"),
)
def test_modules_that_lie_about_their_results(tmp_path: Path, inputs: str, body: str, says: str | None) -> None:
    """A module's own code may do anything: it is refused, or plain arrays are made of what it returns."""
    drawn = f"np.random.default_rng(seed).random(n, dtype='float32'){inputs}"
    text = MODULE.format(settings="workloads = [{'n': 64}]", inputs=drawn)
    (tmp_path / "op.py").write_text(text.replace("def reference(x):\n", f"def reference(x):\n{body}"))
    bench = CpuBench()
    try:
        if says is None:
            task = load(tmp_path / "op.py")
            [(_, outcome)] = bench.measure(task, [reference_candidate(task)])
            assert outcome.status in (Status.OK, Status.INFRASTRUCTURE), outcome.message
        else:
            with pytest.raises(BadTask, match=says):
                task = load(tmp_path / "op.py")
                list(bench.measure(task, [reference_candidate(task)]))
    finally:
        bench.close()


@pytest.mark.full
def test_a_source_that_includes_itself_without_end_does_not_build() -> None:
    task = get("row_sum")
    reference = reference_candidate(task)
    source = "#include __FILE__\n#include __FILE__\n" + reference.source
    assert not cpp.build(task, replace(reference, source=source)).ok


def test_forged_programs() -> None:
    program = random_program(random.Random(1))
    x = program.inputs[0]
    wide = replace(program, outputs=(replace(x, shape=(2**62,) * 4, strides=(0,) * 4),))
    with pytest.raises(InvalidProgram):
        check(wide)
    flat = View(x.buffer, 0, "float32", (1,), (1,))
    for call in (
        LibraryCall("aten::avg_pool2d.default", (x, ("x" * 1000, 10**9)), (), (x,)),
        LibraryCall("aten::convolution.default", (x, flat), (), (x,)),
    ):
        assert work_of(replace(program, run=(*program.run, call))).flops >= 0
    document, blobs = opened(to_bytes(program))
    with pytest.raises(InvalidProgram):
        from_bytes(sealed(document, blobs, as_text=lambda text: text.replace("2.5", "9e999")))


def test_texts_that_took_quadratic_or_endless_time() -> None:
    with pytest.raises(NotPtx):
        read_ptx("/* " * 300_000, "kernel")
    defined = {f"A{level}": "*".join([f"A{level + 1}"] * 60) for level in range(7)} | {"A7": "1"}
    assert evaluate("A0", defined, {}) in (1, None)
    assert evaluate("A", {"A": "A + 1"}, {}) is None


def test_catalogues_whose_rows_are_not_in_order(tmp_path: Path) -> None:
    """Reading by pages of rows would never end."""
    path = tmp_path / "catalogue.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(_SCHEMA.replace("id INTEGER PRIMARY KEY", "id TEXT PRIMARY KEY", 1))
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    with pytest.raises(StoreError, match="column id of measurements"):
        list(Catalogue(path, received=True).rows())


def catalogue_at(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.executescript(_SCHEMA)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    return connection


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_received_catalogue_deletes_no_file(tmp_path: Path) -> None:
    """SQLite plays a hot journal back on the first read, and deletes the super-journal that it names."""
    path, mine = tmp_path / "catalogue.sqlite", tmp_path / "mine.txt"
    catalogue_at(path, "DELETE").close()
    mine.write_text("mine")
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(mine).encode()
    head = magic + struct.pack(">IIIII", 0, 1, path.stat().st_size // 4096, 512, 4096)
    last = struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    path.with_name(path.name + "-journal").write_bytes(head.ljust(512, b"\0") + last)
    with pytest.raises(StoreError, match="names another file"):
        list(Catalogue(path, received=True).rows())
    assert mine.read_text() == "mine" and path.with_name(path.name + "-journal").exists()


def test_a_received_catalogue_overwrites_no_file(tmp_path: Path) -> None:
    """SQLite writes the index of a write-ahead log, whatever other name that file has."""
    path, mine = tmp_path / "catalogue.sqlite", tmp_path / "mine.txt"
    catalogue_at(path, "WAL").close()
    mine.write_text("mine")
    os.link(mine, path.with_name(path.name + "-shm"))
    assert list(Catalogue(path, received=True).rows()) == []
    assert mine.read_text() == "mine" and names_in(tmp_path) == [path.name, path.name + "-shm", "mine.txt"]


def test_what_is_still_in_a_received_catalogues_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    writer = catalogue_at(path, "WAL")
    row = ("key", "definition", "task", "device", "candidate", 1.0, "ok", "source", "{}", b"", 0)
    names = "key, definition, task, device, candidate, measured_at, status, source, record, samples, crc"
    writer.execute(f"INSERT INTO measurements ({names}) VALUES ({', '.join('?' * len(row))})", row)
    before = names_in(tmp_path)
    assert path.with_name(path.name + "-wal").stat().st_size > 0
    assert len(Catalogue(path, received=True)) == 1
    assert names_in(tmp_path) == before
    writer.close()


def test_json_of_very_many_values_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cache.json.gz"
    path.write_bytes(gzip.compress(b"[" + b'{"":0},' * 2_500_000 + b"0]"))
    with pytest.raises(ValueError, match="values"):
        parsed(gzip.decompress(path.read_bytes()))
    program = random_program(random.Random(2))
    with pytest.raises(InvalidProgram, match="values describe it"):
        from_bytes(to_bytes(program), Budget(values=10))


def test_a_recorders_answer_with_lists_beside_its_programs() -> None:
    plain: dict[str, Any] = {"programs": [], "refusal": None, "seconds": 0.1, "beside": [[]] * 2_000_000}
    recording = decoded(json.dumps(plain).encode())
    assert recording.refusal is not None and recording.refusal.reason is Reason.FORGED


@pytest.mark.parametrize("size", ["0x" + "f" * 100_000 + " // 3", "9" * 150 + " * 9", "n" + " * n" * 20])
def test_dimensions_of_numbers_without_end(size: str) -> None:
    with pytest.raises(ValueError, match="dimension"):
        evaluate_size(size, {"n": 1 << 40})


def test_a_data_set_whose_blob_is_endless(tmp_path: Path) -> None:
    with (tmp_path / "blob.safetensors").open("wb") as file:
        file.truncate(1 << 41)
    shape = {"shape": ["n"], "dtype": "float32"}
    definition = {"name": "d", "axes": {"n": {"type": "const", "value": 4}}, "inputs": {"x": shape},
                  "outputs": {"y": shape}, "reference": "def run(x):\n    return x\n"}  # fmt: skip
    (tmp_path / "d.json").write_text(json.dumps(definition))
    about = {"type": "safetensors", "path": "blob.safetensors", "tensor_key": "x"}
    (tmp_path / "d.jsonl").write_text(json.dumps({"axes": {}, "inputs": {"x": about}}) + "\n")
    with pytest.raises(BadTask, match="GB"):
        load(tmp_path / "d.json")


def test_tasks_with_very_many_workloads(tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    workloads = ", ".join(f'{{"n": {n}}}' for n in range(5000))
    path.write_text(MODULE.format(settings=f"workloads = [{workloads}]", inputs="np.zeros(n)"))
    with pytest.raises(BadTask, match="5000 entries"):
        load(path)


def test_a_task_whose_name_is_a_path_gets_a_run_among_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("../../outside/x", "/tmp/outside", "a/b", ".."):
        assert new_run(name, None).resolve().parent == (tmp_path / "runs").resolve()


def test_texts_of_candidates_that_took_quadratic_time() -> None:
    """Each took minutes, in the user's own process."""
    assert is_bare("__global__ void k(){}\n" + "/*a" * 300_000)
    assert not parameters_of(".entry k()" + " " * 500_000, "k")
    with pytest.raises(Refused):
        parameters_of(".entry k(.param .u64 q" + " " * 500_000 + "\x01)", "k")
    with pytest.raises(NotPtx):
        read_ptx(".entry k() {" + " " * 500_000, "k")
    assert re.search(_PATTERNS["shuffle"], "__reduce_" * 100_000) is None


def test_what_takes_far_too_long_or_too_much_memory_to_read_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_limits, "SECONDS", 0.2)
    with pytest.raises(TooMuchWork, match="takes more than 0 s"), within_limits("x", 0):
        while True:
            pass
    monkeypatch.setattr(received_limits, "SECONDS", 60.0)
    monkeypatch.setattr(received_limits, "MEMORY_BYTES", 64 << 20)
    with pytest.raises(TooMuchWork, match="MiB"), within_limits("x", 0):
        bytearray(256 << 20)
    bytearray(256 << 20)  # the limits are gone


def test_a_page_of_a_trace_holds_only_so_many_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(bytes(1000))
    monkeypatch.setattr(page_of_trace, "MOST_PICTURE_BYTES", 2500)
    pictures = page_of_trace.Pictures(trace.Trace(tmp_path, ()))
    assert [bool(pictures("a.png")) for _ in range(4)] == [True, True, False, False]


def test_files_without_content_that_a_job_leaves_are_not_kept(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    with (folder / "holes").open("wb") as file:
        file.truncate(200 << 20)
    (folder / "whole").write_bytes(bytes(range(256)) * 100)
    (folder / "small").write_bytes(b"a few")
    found = dict(_files(str(tmp_path), ["kept"], 1 << 30))
    assert set(found) == {"kept/whole", "kept/small"}


def test_what_a_builder_answers_has_bounds() -> None:
    """It may be foreign code's word: a long one is cut, one of very many values is not read."""
    plain = {"status": "compile_error", "message": "x" * 1_000_000, "features": {}}
    assert len(_read(json.dumps(plain).encode()).message) <= MESSAGE_CHARACTERS
    forged = _read(json.dumps(plain | {"beside": [{}] * 200_000}).encode())
    assert forged.status is Status.CHEAT
