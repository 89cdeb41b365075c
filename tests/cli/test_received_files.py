"""Hostile files of others, each as an attacker once sent it: a command ends in words, and touches nothing else."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from foretell import received_table
from foretell.kernels.devices import described
from foretell.kernels.store import catalogue
from foretell.lm.files import FileModel
from foretell.lm.model import Failure, Message, Request
from tests.kernels.evaluate.world import corpus_row, write_corpus

Invoke = Callable[..., Result]
Attack = Callable[[Path], tuple[str, ...]]
HUGE = "1" + "0" * 400
NESTED = "[" * 100_000
EVENT: dict[str, Any] = {
    "event": "proposed", "t": 1.0, "step": 0, "goal": "g", "platform": "web", "proposal": {"actions": []},
    "history": {}, "critic": "rules", "verdict": {}, "seconds": 0.1, "images": {},
    "judgement": {"p_bad": 0.1, "error": None, "explanation": "", "evidence": {}},
}  # fmt: skip
ROW = {"cell_id": "c", "op_id": "matmul/x", "gpu": "A100", "language": "cuda", "candidate_code": "void k(){}",
       "status": "ok", "speedup": 1.0}  # fmt: skip
EVAL = ("--forecaster", "roofline", "--resamples", "5")


def _table(folder: Path, **changes: Any) -> str:
    rows = [{**ROW, "candidate_code": f"void k{i}(){{}}", **changes} for i in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "t.parquet")
    return str(folder / "t.parquet")


def gpu_that_is_a_pipe(folder: Path) -> tuple[str, ...]:
    os.mkfifo(folder / "gpu.json")
    return ("eval", _table(folder, gpu=str(folder / "gpu.json")), *EVAL)


def gpu_that_is_a_file(folder: Path) -> tuple[str, ...]:
    (folder / "gpu.json").write_text(NESTED)
    return ("eval", _table(folder, gpu=str(folder / "gpu.json")), *EVAL)


def nested_device(folder: Path) -> tuple[str, ...]:
    (folder / "gpu.json").write_text(NESTED)
    return ("explain", "softmax", "--device", str(folder / "gpu.json"))


def piped_device(folder: Path) -> tuple[str, ...]:
    os.mkfifo(folder / "gpu.json")
    return ("explain", "softmax", "--device", str(folder / "gpu.json"))


def device_without_cores(folder: Path) -> tuple[str, ...]:
    (folder / "gpu.json").write_text(json.dumps(asdict(described("h200")) | {"cores": 0, "clock_hz": -1.0}))
    return ("explain", "softmax", "--device", str(folder / "gpu.json"))


def cache_with_a_huge_time(folder: Path) -> tuple[str, ...]:
    (folder / "c.json").write_text(
        '{"kernel_name": "k", "device_name": "d", "tune_params_keys": ["a"], "tune_params": {"a": [1, 2]},'
        f' "cache": {{"1": {{"a": 1, "time": 1.5}}, "2": {{"a": 2, "time": -{HUGE}}}}}}}'
    )
    return ("replay", str(folder / "c.json"))


def _trace(folder: Path, text: str) -> tuple[str, ...]:
    (folder / "trace.jsonl").write_text(text + "\n")
    return ("gui", "replay", str(folder))


def trace_with_a_huge_number(folder: Path) -> tuple[str, ...]:
    return _trace(folder, json.dumps(EVENT).replace('"p_bad": 0.1', f'"p_bad": {HUGE}'))


def trace_with_a_list_for_a_verdict(folder: Path) -> tuple[str, ...]:
    return _trace(folder, json.dumps(EVENT | {"verdict": [1]}))


def trace_with_a_list_for_pictures(folder: Path) -> tuple[str, ...]:
    return _trace(folder, json.dumps(EVENT | {"images": [1]}))


def table_that_is_not_utf8(folder: Path) -> tuple[str, ...]:
    path = _table(folder)
    table = pq.read_table(path)
    bad = pa.Array.from_buffers(pa.string(), 3, pa.array([b"\xff\xfe"] * 3, pa.binary()).buffers())
    pq.write_table(table.set_column(table.schema.get_field_index("op_id"), "op_id", bad), path)
    return ("eval", path, *EVAL)


def table_with_a_column_twice(folder: Path) -> tuple[str, ...]:
    path = _table(folder)
    table = pq.read_table(path)
    pq.write_table(table.append_column("gpu", table.column("gpu")), path)
    return ("eval", path, *EVAL)


def cpu_with_very_many_cores(folder: Path) -> tuple[str, ...]:
    row = corpus_row("softmax", 0, 0.5, "train", kind="cpu", language="cpp", device="cpu x" + "9" * 5000)
    return ("eval", "--data", str(write_corpus(folder / "data", [row])), "--split", "all", *EVAL)


def _space(folder: Path, rows: int) -> tuple[str, ...]:
    card = {"space": "s", "kernel": "k", "gpu": "g", "parameters": ["a"], "parameter_values": {"a": [1]}}
    (folder / "s.json").write_text(json.dumps(card))
    columns = {"a": pa.repeat(1, rows), "status": pa.repeat("ok", rows), "time_ms": pa.repeat(1.0, rows)}
    pq.write_table(pa.table(columns), folder / "s.parquet")
    return ("replay", str(folder / "s.parquet"))


def space_of_many_rows(folder: Path) -> tuple[str, ...]:
    return _space(folder, received_table.MOST_ROWS + 1)


def catalogue_with_a_view(folder: Path) -> tuple[str, ...]:
    path = folder / "c.sqlite"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS key FROM n"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {catalogue._APPLICATION_ID}")
        connection.execute(f"CREATE VIEW measurements AS {endless}")
    return ("data", "import", str(path), "--data", str(folder / "data"))


def sparse_journal(folder: Path) -> tuple[str, ...]:
    with (folder / "journal.jsonl").open("wb") as file:
        file.truncate(2 << 30)
    return ("report", str(folder))


def nested_parts(folder: Path) -> tuple[str, ...]:
    (folder / "p.json").write_text(NESTED)
    return ("eval", _table(folder, split_group="a"), "--parts", str(folder / "p.json"), *EVAL)


def piped_parts(folder: Path) -> tuple[str, ...]:
    os.mkfifo(folder / "p.json")
    return ("eval", _table(folder, split_group="a"), "--parts", str(folder / "p.json"), *EVAL)


def plan_with_half_a_character(folder: Path) -> tuple[str, ...]:
    line = {"task": "softmax", "language": "cpp", "source": "SOURCE", "spec": {}}
    text = json.dumps(line).replace("SOURCE", "\\ud800")
    (folder / "plan.gz").write_bytes(gzip.compress(text.encode() + b"\n"))
    return ("collect", str(folder / "plan.gz"), "--into", str(folder / "c.sqlite"))


REFUSED: dict[Attack, str] = {
    gpu_that_is_a_pipe: "there is no description of a device",
    gpu_that_is_a_file: "there is no description of a device",
    nested_device: "nested too deeply",
    piped_device: "not a regular file",
    device_without_cores: "not above zero",
    cache_with_a_huge_time: "beyond 64 bits",
    trace_with_a_huge_number: "beyond 64 bits",
    trace_with_a_list_for_a_verdict: "no event of a guard",
    trace_with_a_list_for_pictures: "no event of a guard",
    table_that_is_not_utf8: "UTF8",
    table_with_a_column_twice: "has the column gpu twice",
    space_of_many_rows: "is too large",
    catalogue_with_a_view: "has the view measurements",
    sparse_journal: "has more than",
    nested_parts: "nested too deeply",
    piped_parts: "not a regular file",
    plan_with_half_a_character: "not text in UTF-8",
}


@pytest.mark.parametrize("attack", REFUSED, ids=lambda attack: attack.__name__)
def test_the_command_ends_in_words(attack: Attack, invoke: Invoke, own_place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "received"
    folder.mkdir()
    done = invoke(*attack(folder))
    assert done.exit_code == 2, done.output
    assert REFUSED[attack] in " ".join(done.output.split()), done.output


def test_the_cores_in_a_name_are_a_reasonable_number(invoke: Invoke, own_place: Path, tmp_path: Path) -> None:
    done = invoke(*cpu_with_very_many_cores(tmp_path))
    assert done.exit_code in (0, 2), done.output


@pytest.fixture
def answers(own_place: Path, tmp_path: Path) -> Path:
    (tmp_path / "ans").mkdir()
    return tmp_path / "ans"


def _asked(invoke: Invoke, folder: Path, answers: Path) -> Result:
    return invoke("eval", _table(folder), "--forecaster", f"files:{answers}", "--resamples", "5")


def test_answers_may_be_a_pipe_or_hold_huge_numbers(invoke: Invoke, answers: Path, tmp_path: Path) -> None:
    assert _asked(invoke, tmp_path, answers).exit_code != 70
    ids = [json.loads(line)["id"] for line in (answers / "requests.jsonl").read_text().splitlines()]
    lines = [f'{{"id": "{i}", "text": "x", "prompt_tokens": {HUGE}}}\n' for i in ids]
    (answers / "answers.jsonl").write_text("".join(lines))
    os.mkfifo(answers / "answers2.jsonl")
    done = _asked(invoke, tmp_path, answers)
    assert ids and done.exit_code != 70, done.output


def test_requests_are_not_written_through_a_link(invoke: Invoke, answers: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("precious")
    (answers / "requests.jsonl").symlink_to(own)
    assert _asked(invoke, tmp_path, answers).exit_code == 0
    assert own.read_text() == "precious"
    request = Request((Message("user", "a"),))
    [said] = FileModel(answers).ask([request])
    assert isinstance(said, Failure) and "symbolic link" in said.message
