"""Files and recordings with which attackers ended or held the reader: each is refused in a sentence, at once."""

from __future__ import annotations

import gzip
import json
import os
import random
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foretell.gui import trace
from foretell.kernels import devices
from foretell.kernels.bench.cpu import CpuBench, reference_candidate
from foretell.kernels.corpus.plan import read_plan
from foretell.kernels.cost import work_of
from foretell.kernels.evaluate import data, pools
from foretell.kernels.languages.dry.ptx import NotPtx, read_ptx
from foretell.kernels.program import LibraryCall, View
from foretell.kernels.program_check import InvalidProgram, check
from foretell.kernels.program_codec import from_bytes, to_bytes
from foretell.kernels.propose.knobs.arithmetic import evaluate
from foretell.kernels.replay import spaces
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.store.errors import StoreError
from foretell.kernels.store.journal import read_journal
from foretell.kernels.tasks import BadTask, load
from foretell.lm.adapter import CARD_NAME, Card
from foretell.lm.files import read_answers, write_requests
from foretell.received import NotPlain, parsed
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
