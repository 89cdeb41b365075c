"""Received folders that lead out of themselves, and small files that mean much work: refused in a sentence, at once."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sqlite3
import struct
import time
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from foretell.cli.app import app
from foretell.kernels.corpus import plan, real, table
from foretell.kernels.evaluate import data
from foretell.kernels.evaluate.pools import BadTable
from foretell.kernels.forecast import model_file
from foretell.kernels.propose import patch
from foretell.kernels.sandbox import Ending, JobFailed
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.store.errors import StoreError
from foretell.kernels.tasks import BadTask, worker
from foretell.lm import Failure, Trouble
from foretell.lm.adapter import PEFT_CONFIG, check_adapter
from foretell.received import BadFile, NotPlain, replacing, write_plain
from foretell.trees import Trees
from tests.lm.endpoint_server import Say, completion, serving
from tests.lm.test_openai import KEY, model, only, request


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "precious"
    path.parent.mkdir()
    path.write_text("precious")
    return path


def test_a_journal_that_names_another_file_deletes_nothing(tmp_path: Path, precious: Path) -> None:
    """SQLite deletes a super-journal that no journal needs any more."""
    file = tmp_path / "found.sqlite"
    file.touch()
    own = Catalogue(file)
    assert len(own) == 0
    own.close()
    name = str(precious).encode()
    record = name + struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    magic = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 1, 1, 512, 4096)
    file.with_name("found.sqlite-journal").write_bytes(magic.ljust(512, b"\0") + record)
    for received in (False, True):
        with pytest.raises(StoreError, match=r"journal|interrupted"):
            list(Catalogue(file, received=received).rows())
    plan.write_plan(tmp_path / "plan.gz", plan.make_plan("cpu", 1, wanted=["row_sum"]))
    CliRunner().invoke(app, ["collect", str(tmp_path / "plan.gz"), "--into", str(file), "--seconds", "1"])
    assert precious.read_text() == "precious"


def test_tables_of_other_kinds_are_no_catalogue(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite"
    file.touch()
    own = Catalogue(file)
    assert len(own) == 0
    own.close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE measurements")
        try:
            connection.execute("CREATE\tVIRTUAL TABLE measurements USING rtree(ID, a, b)")
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no R-trees")
        connection.commit()
    with pytest.raises(StoreError, match="virtual table"):
        list(Catalogue(file, received=True).rows())


def test_nothing_is_written_through_a_link(tmp_path: Path, precious: Path) -> None:
    for name in ("corpus_cpu", "model", "plain"):
        (tmp_path / f"{name}.partial").symlink_to(precious)
    (tmp_path / "corpus_cpu.parquet").symlink_to(precious)
    table.write(tmp_path / "corpus_cpu.parquet", [])
    model_file.save(tmp_path / "model.npz", {}, {"a": np.zeros(1)})
    write_plain(tmp_path / "plain", b"x")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "plain") as partial:
        partial.write_bytes(b"y")
        raise ZeroDivisionError
    assert precious.read_text() == "precious" and (tmp_path / "plain").read_bytes() == b"x"
    assert not list(tmp_path.glob(".*"))
    assert (tmp_path / "plain").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_files_are_written_in_one_way() -> None:
    """Who writes to a name that can be foreseen writes through a link that lies there."""
    root = Path(table.__file__).parents[2]
    foreseen = [path.name for path in root.rglob("*.py") if 'with_suffix(".partial")' in path.read_text("utf-8")]
    assert not foreseen, f"use foretell.received.replacing in {foreseen}"


def test_links_in_a_corpus_lead_nowhere(tmp_path: Path, precious: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "written").mkdir(parents=True)
    (corpus / "written" / "softmax").symlink_to(precious.parent)
    item = plan.Item("softmax", "triton", file="precious")
    with pytest.raises(NotPlain):
        item.candidate(corpus / "written")
    shutil.copy(precious, precious.with_name("precious.py"))
    with pytest.raises(NotPlain):
        plan.make_plan("gpu", 1, wanted=["softmax"], written=corpus / "written")
    (corpus / "corpus_cpu.parquet").symlink_to(precious)
    (corpus / real.FILE).symlink_to(precious)
    for read in (table.read, table.known_ids, real.read):
        with pytest.raises(NotPlain):
            read(corpus)


def test_a_spec_names_no_links(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from foretell.kernels.bench.gpu.server import data_of
    from foretell.kernels.library import get
    from foretell.kernels.task import Workload
    from foretell.kernels.tasks.flashinfer import INPUTS

    real_file, link = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    real_file.touch()
    link.symlink_to(real_file)
    sources = {str(path): {"path": str(path)} for path in (real_file, link, tmp_path / "c.txt")}
    task = copy(get("softmax", "gpu"))  # the library's own is shared
    object.__setattr__(task, "workloads", (Workload({}, {INPUTS: sources}),))
    assert data_of(task) == (real_file,)


def test_plans_are_plain_files_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo.gz")
    with pytest.raises(ValueError, match="regular file"):
        list(plan.read_plan(tmp_path / "fifo.gz"))
    line = json.dumps({"task": "t", "language": "cpp", "knobs": {str(i): i for i in range(50)}})
    (tmp_path / "plan.gz").write_bytes(gzip.compress(f"{line}\n".encode() * 50))
    assert len(list(plan.read_plan(tmp_path / "plan.gz"))) == 50
    monkeypatch.setattr(plan, "MOST_VALUES", 1000)
    with pytest.raises(ValueError, match="values"):
        list(plan.read_plan(tmp_path / "plan.gz"))


def test_kernels_of_one_problem_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are compared with each other."""
    monkeypatch.setattr(real, "MOST_OF_A_PROBLEM", 3)
    rows = [{"problem": "p", "id": str(i), "stripped": f"text {i}"} for i in range(4)]
    with pytest.raises(BadFile, match="4 kernels"):
        real.nearest(rows)


def test_texts_in_tables_are_no_longer_than_kernels(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from tests.kernels.evaluate.world import foreign_row, write_foreign

    path = write_foreign(tmp_path / "t.parquet", [foreign_row(0, 1) | {"candidate_code": "a\n" * (1 << 20)}])
    with pytest.raises(BadTable, match="a text of 2097152 bytes"):
        data.read(path)


@pytest.mark.parametrize(
    "settings",
    [
        {"target_modules": "(a|a)*$"},
        {"target_modules": ["(x+x+)+y"]},
        {"exclude_modules": ".*"},
        {"rank_pattern": {"(a|a)*": 4}},
        {"layers_pattern": "(a|a)*"},
        {"r": 1 << 40},
        {"r": -1},
        {"layer_replication": [[0, 1 << 30]]},
    ],
)
def test_adapters_match_modules_by_name(tmp_path: Path, settings: dict[str, Any]) -> None:
    usual = {"peft_type": "LORA", "r": 16, "target_modules": ["q_proj", "model.layers.0.k_proj"], "rank_pattern": {}}
    (tmp_path / PEFT_CONFIG).write_text(json.dumps(usual))
    check_adapter(tmp_path)
    (tmp_path / PEFT_CONFIG).write_text(json.dumps(usual | settings))
    with pytest.raises(ValueError, match=f"odd {next(iter(settings))}"):
        check_adapter(tmp_path)


def test_compressed_answers_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_LM_KEY", KEY)
    bomb = gzip.compress(gzip.compress(bytes(1 << 24)))
    say = [Say(body=bomb, headers={"Content-Encoding": "gzip, gzip"}), Say(body=completion())]
    with serving(lambda i, body: say[min(i, 1)]) as server:
        asked = model(server, attempts=1)
        refused = only(asked.ask([request("a")]))
        assert isinstance(refused, Failure) and refused.kind is Trouble.MALFORMED and "compressed" in refused.message
        assert only(asked.ask([request("b")])).text == "hello"
    assert all(headers["Accept-Encoding"] == "identity" for headers in server.headers)


def test_forests_of_very_uneven_trees_are_refused() -> None:
    """Each tree has as many slots as the largest has leaves."""
    small, depth = 3000, 13
    left, right, roots = [], [], []
    for _ in range(small):
        roots.append(len(left))
        left.append(len(left))
        right.append(len(right))
    roots.append(len(left))
    start, inner = len(left), (1 << depth) - 1
    for i in range(2 * inner + 1):
        left.append(start + (2 * i + 1 if i < inner else i))
        right.append(start + (2 * i + 2 if i < inner else i))
    count = len(left)
    with pytest.raises(ValueError, match="different sizes"):
        Trees(
            0.0, np.array(roots), np.zeros(count, np.int16), np.zeros(count, np.float32), np.array(left),
            np.array(right), np.ones(count, bool), np.zeros(count, np.float32),
        ).predict(np.zeros((1, 1)))  # fmt: skip


def test_runs_of_lines_are_found_in_linear_time() -> None:
    rng = random.Random(3)
    for _ in range(500):
        lines = rng.choices("ab", k=rng.randint(0, 30))
        part = rng.choices("ab", k=rng.randint(1, 6))
        start = rng.randint(0, 5)
        naive = [i for i in range(start, len(lines) - len(part) + 1) if lines[i : i + len(part)] == part]
        assert patch.occurrences(part, lines, start) == naive
    source = "a\n" * 100_000
    began = time.process_time()
    found = patch.apply_patch(source, "@@ -1 +1 @@\n" + " a\n" * 50_000 + "-b\n+c\n")
    assert isinstance(found, patch.Unapplied) and found.kind is patch.Misfit.NOT_FOUND
    assert time.process_time() - began < 20.0
    many = patch.apply_patch("a\n" * 500, "".join(f"@@ -{i} +{i} @@\n-a\n+b\n" for i in range(1, 400)))
    assert isinstance(many, patch.Unapplied) and "hunks" in many.message


def test_answers_are_bounded_by_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Server:
        def call(self, function: str, payload: bytes, limits: Any) -> bytes:
            seen.append(limits.answer_bytes)
            raise JobFailed(Ending.FORGED, "an answer of many bytes was announced")

    monkeypatch.setattr(worker, "_server", Server)
    for most_bytes in (0, 1 << 30, 1 << 40):
        with pytest.raises(BadTask):
            worker.call("module:function", {}, "mine", most_bytes)
    assert seen[0] <= worker.SMALL_ANSWER_BYTES + 1 and seen[1] == (1 << 30) + 1 and seen[2] <= 4 << 30


def test_what_a_busy_machine_ended_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from foretell.kernels.small import apart

    endings = iter(["died of SIGKILL", "died of SIGXCPU"])

    class Server:
        def call(self, *_: object) -> bytes:
            raise JobFailed(Ending.DIED, next(endings))

    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    monkeypatch.setattr(apart, "_server", Server)
    for _ in range(2):
        with pytest.raises(JobFailed):
            apart._asked({"question": "changes"})
    assert apart._asked({"question": "changes"}) is None


def test_what_a_source_says_is_not_the_machines_fault() -> None:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.languages import cpp
    from foretell.kernels.library import get
    from foretell.kernels.measurement import Status

    for words in ("No space left on device", "CPU time limit exceeded"):
        built = cpp.build(get("softmax"), Candidate("softmax", "cpp", f"#error {words}\n"))
        assert built.status is Status.COMPILE_ERROR, built.message
