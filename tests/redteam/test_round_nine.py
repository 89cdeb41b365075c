"""Received files of the ninth round: names with markup, poisoned catalogues, others' databases, odd numbers."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.table import Table
from typer.testing import CliRunner

from foretell.cli import output
from foretell.cli.app import app
from foretell.gui.dataset import save_image
from foretell.gui.trace import TraceError
from foretell.gui.trace import read as read_trace
from foretell.kernels.bench.fake import FAKE_DEVICE
from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus import imports, rebuild, table
from foretell.kernels.corpus.check import NotWritten
from foretell.kernels.corpus.plan import Item
from foretell.kernels.corpus.verify import problems
from foretell.kernels.evaluate.pools import BadTable
from foretell.kernels.library import get
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.protocols import Build
from foretell.kernels.python_text import tree
from foretell.kernels.replay import grounds, spaces
from foretell.kernels.replay.spaces import BadSpace
from foretell.kernels.store import Catalogue, CatalogueDamaged
from foretell.kernels.store.catalogue import _checksum
from foretell.kernels.tasks import BadTask, load
from foretell.received import BadFile, NotPlain
from foretell.received_table import BadParquet, read_rows
from foretell.report.gui import render_gui_replay

LINK = "[link=http://e/\x9b2J\x1bc]x[/link]"
CLOSE = "[/x]"
NAMES = pytest.mark.parametrize("name", [LINK, CLOSE])
MODULE = "def inputs(seed, **k): pass\ndef reference(x): pass\n"


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


class TestTexts:
    """Python texts that took the parser quadratic time, and honest ones of the same size."""

    @pytest.mark.parametrize(
        "text",
        [
            "y = f'''" + "\n" * 90_000 + "{x}" * 290_000 + "'''\n",
            "y = f'" + "{x}" * 200_000 + "'\n",
            "# '''\ry = Rf'" + "{x}" * 200_000 + "'\n",
            "y = '\\\r\n' f'" + "{x}" * 200_000 + "'\n",
            "y = f'''" + "{x}" * 200_000,
        ],
        ids=["lines", "one line", "return in a remark", "return in a string", "open"],
    )
    def test_long_f_strings_are_refused_at_once(self, tmp_path: Path, text: str) -> None:
        start = time.process_time()
        with pytest.raises(SyntaxError, match="f-strings"):
            tree(text)
        (tmp_path / "t.py").write_text(MODULE + text, newline="")
        with pytest.raises(BadTask, match="f-strings"):
            load(tmp_path / "t.py")
        assert time.process_time() - start < 20

    def test_candidates_pass_the_same_door(self) -> None:
        from foretell.forecasting import parsed

        build = parsed(Candidate("t", "triton", "def kernel(x): pass\ny = f'" + "{x}" * 200_000 + "'\n"))
        assert build is not None and build.status is Status.COMPILE_ERROR and "f-strings" in build.message

    @pytest.mark.parametrize(
        "text",
        [
            "src = r'''\n" + "__global__ void k(float* x) { if (x[0]) { x[1] = 2; } }\n" * 4000 + "'''\n",
            "src = f'''\n" + "__global__ void k(float* x) {{ x[1] = {N}; }}\n" * 2500 + "'''\n",
            'x = "# f\'{"\n' * 20_000,
            "\n".join(f"a{i} = f'{{x}} of {{y}}: {{z:>{{w}}}}'" for i in range(3000)),
        ],
        ids=["CUDA", "CUDA in an f-string", "quotes", "many short ones"],
    )
    def test_long_honest_texts_are_read(self, text: str) -> None:
        assert tree(text).body

    def test_a_module_with_a_byte_order_mark(self, tmp_path: Path) -> None:
        (tmp_path / "t.py").write_bytes(b"\xef\xbb\xbf" + MODULE.replace("\n", "\r\n").encode())
        assert load(tmp_path / "t.py", "gpu").name == "t"

    @pytest.mark.parametrize("value", ["b'a'", "1j", "...", "1e999", "[1, {'a': b'x'}]"])
    def test_values_that_no_workload_has(self, tmp_path: Path, value: str) -> None:
        (tmp_path / "t.py").write_text(f"{MODULE}workloads = [{{'n': 1, 'x': {value}}}]\n")
        with pytest.raises(BadTask, match="a workload of t has a value"):
            load(tmp_path / "t.py", "gpu")


class TestNames:
    """No markup is read in names, and no terminal gets their control characters."""

    @NAMES
    def test_consoles_read_no_markup(self, name: str) -> None:
        rows = Table(title=name)
        rows.add_column(name)
        rows.add_row(name)
        for console in (output.people(), output.progress_console()):
            for colour in (None, "truecolor"):
                console._color_system = None if colour is None else console._detect_color_system()
                console.file = io.StringIO()
                for printed in (name, rows, output.marked("[bold]{}[/] of {}", name, 5)):
                    console.print(printed, soft_wrap=True)
                with console.status(name) as status:
                    status.update(name)
                text = console.file.getvalue()
                assert output.shown(name) in text and "\x9b" not in text and "\x1bc" not in text

    def test_a_style_that_is_a_link_is_shown_without_it(self) -> None:
        from rich.console import Console
        from rich.text import Text

        console = output.people()
        console.file = io.StringIO()
        console._color_system = Console(force_terminal=True, color_system="truecolor")._color_system
        console.print(Text("x", style="link http://e/\x1bc"))
        assert "\x1b]8" not in console.file.getvalue() and "\x1bc" not in console.file.getvalue()

    def test_styles_of_templates_reach_their_values(self) -> None:
        text = output.marked("a [bold]{}[/] {}", "[red]b[/]", "c")
        assert text.plain == "a [red]b[/] c" and [(s.start, s.end) for s in text.spans if str(s.style) == "bold"] == [
            (2, 11)
        ]

    @NAMES
    def test_tasks(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "reference.py").write_text(
            "import torch\ndef generate_input(size, seed, name):\n    return torch.randn(size)\n"
            "def ref_kernel(data):\n    return data\n"
        )
        entry = json.dumps({"size": 1024, "seed": 1, "name": name})
        (tmp_path / "task.yml").write_text(f"description: x\nbenchmarks:\n  - {entry}\n")
        result = run("tasks", tmp_path)
        assert result.exit_code == 0, result.output
        assert output.shown(name)[:6] in result.output and output.shown(result.output) == result.output

    @NAMES
    def test_data_split_and_stats(self, tmp_path: Path, name: str) -> None:
        corpus = own_corpus(tmp_path)
        path = corpus / "corpus_cpu.parquet"
        rows = pq.read_table(path)
        pq.write_table(rows.set_column(rows.schema.get_field_index("split"), "split", pa.array([name])), path)
        for words in (("split", "--out", tmp_path / "s.json"), ("stats",)):
            result = run("data", *words, "--data", corpus)
            assert result.exit_code == 0 and output.shown(result.output) == result.output

    @NAMES
    def test_eval(self, tmp_path: Path, name: str) -> None:
        eval_table(tmp_path / "t.parquet", dataset=pa.array([name] * 6 + ["set"] * 6))
        result = run("eval", tmp_path / "t.parquet", "--forecaster", "roofline", "--resamples", "10")
        assert result.exit_code == 0, result.output
        assert output.shown(result.output) == result.output


def eval_table(path: Path, **columns: pa.Array) -> None:
    """A table of kernels that others measured, on two operations."""
    rows = [
        {"cell_id": f"c{i // 6}", "op_id": f"op{i // 6}", "gpu": "NVIDIA H100 80GB HBM3", "language": "cuda",
         "candidate_code": f"__global__ void k{i}(float* x) {{ x[0] = {i}; }}", "status": "ok", "speedup": 1.0 + i / 10}
        for i in range(12)
    ]  # fmt: skip
    made = pa.Table.from_pylist(rows)
    for name, column in columns.items():
        place = made.schema.get_field_index(name)
        made = made.append_column(name, column) if place < 0 else made.set_column(place, name, column)
    pq.write_table(made, path)


TASK = get("softmax", "cpu")
SOURCE = TASK.references["cpp"]
OWN = Candidate("softmax", "cpp", SOURCE)
OTHER = Candidate("softmax", "cpp", SOURCE + "\nint other;\n")


def outcome(speedup: float = 2.0, **changes: Any) -> Measurement:
    timings = tuple(
        Timing(w.name, (10.0,) * 3, (10.0 / speedup,) * 3, speedup, speedup * 0.98, speedup * 1.02)
        for w in TASK.workloads
    )
    whole = Measurement(Status.OK, "", speedup, speedup * 0.98, speedup * 1.02, timings, cost=Cost(1.0, 1.0, 1.0))
    return dataclasses.replace(whole, **changes)


def catalogue(
    path: Path, candidate: Candidate, measured: Measurement, t: float = 1.7e9, key: str = "", **features: float
) -> Path:
    """A catalogue with one row, whose key is changed as whoever sends it likes."""
    Catalogue(path, clock=partial(float, t)).put(
        TASK, candidate, Build(Status.OK, "", features or {"x": 1.0}), FAKE_DEVICE, measured
    )
    if key:
        names = "definition, task, device, candidate, measured_at, source, record, samples"
        with closing(sqlite3.connect(path)) as connection:
            row = connection.execute(f"SELECT {names} FROM measurements").fetchone()
            connection.execute("UPDATE measurements SET key = ?, crc = ?", (key, _checksum((key, *row))))
            connection.commit()
    return path


def own_corpus(folder: Path) -> Path:
    """The user's corpus: one candidate that works."""
    imports.merge(folder / "corpus", [catalogue(folder / "mine", OWN, outcome())])
    return folder / "corpus"


ODD: dict[str, tuple[Measurement, dict[str, float]]] = {
    "features": (outcome(), {"x": 1e39}),
    "wall": (outcome(cost=Cost(1.0, 1.0, 1e39)), {}),
    "device": (outcome(cost=Cost(1.0, -5.0, 1.0)), {}),
    "huge": (outcome(speedup=1e39), {}),
    "tiny": (outcome(speedup=1e-50), {}),
    "interval": (outcome(low=None, high=None), {}),
    "parts": (outcome(conditions={"parts": "x"}), {}),
    "forged parts": (outcome(conditions={"parts": [[1.0, "wrong", None, None, None, 1.0]] * 9}), {}),
    "samples": (outcome(timings=(Timing("rows=1", (1.0,) * 40_000, (1.0,) * 40_000, 1.0, 0.9, 1.1),)), {}),
    "unequal": (outcome(timings=(Timing("rows=1", (1.0,) * 4, (1.0,) * 3, 1.0, 0.9, 1.1),)), {}),
    "ratio": (outcome(timings=(Timing("rows=1", (1e299,), (1e-300,), 1.0, 0.9, 1.1),)), {}),
    "wrong with a speedup": (outcome(status=Status.WRONG), {}),
    "beside its interval": (outcome(low=5.0, high=6.0), {}),
}


class TestCatalogues:
    """What a received catalogue does to the user's corpus."""

    @pytest.mark.parametrize("name", list(ODD))
    def test_odd_rows_are_left_out_and_the_corpus_stays_readable(self, tmp_path: Path, name: str) -> None:
        corpus, (measured, features) = own_corpus(tmp_path), ODD[name]
        sent = catalogue(tmp_path / "sent.sqlite", OTHER, measured, **features)
        before = table.read(corpus)
        result = run("data", "import", sent, "--data", corpus)
        assert result.exit_code == 0, result.output
        assert table.read(corpus) == before
        assert run("data", "stats", "--data", corpus).exit_code == 0

    def test_what_is_left_out_is_told_with_the_file(self, tmp_path: Path) -> None:
        sent = catalogue(tmp_path / "sent.sqlite", OTHER, outcome(), x=1e39)
        reasons: list[str] = []
        assert imports.merge(tmp_path / "corpus", [sent], reasons.append) == {}
        assert len(reasons) == 1 and reasons[0].startswith(f"{sent}: a measurement of softmax") and "inf" in reasons[0]

    def test_an_odd_row_keeps_no_other_out(self, tmp_path: Path) -> None:
        sent = catalogue(tmp_path / "sent.sqlite", OTHER, outcome(), x=1e39)
        catalogue(sent, OWN, outcome())
        assert imports.merge(tmp_path / "corpus", [sent]) == {"corpus_cpu": 1}

    @pytest.mark.parametrize("spec", [{"a": 1}, {"family": 5}])
    def test_odd_specs(self, tmp_path: Path, spec: dict[str, Any]) -> None:
        sent = catalogue(tmp_path / "sent.sqlite", OTHER, outcome())
        with closing(sqlite3.connect(sent)) as connection:
            names = "key, definition, task, device, candidate, measured_at, source, record, samples"
            row = list(connection.execute(f"SELECT {names} FROM measurements").fetchone())
            row[7] = json.dumps(json.loads(row[7]) | {"spec": spec})
            connection.execute("UPDATE measurements SET record = ?, crc = ?", (row[7], _checksum(row)))
            connection.commit()
        result = run("data", "import", sent, "--data", tmp_path / "corpus")
        assert result.exit_code == 0 and str(sent) in result.output and "left out" in result.output

    def test_a_stolen_key_replaces_nothing(self, tmp_path: Path) -> None:
        corpus = own_corpus(tmp_path)
        [mine] = table.read(corpus)
        failed = Measurement(Status.WRONG, cost=Cost(1.0, 1.0, 1.0))
        sent = catalogue(tmp_path / "sent", OTHER, failed, 1.8e9, mine["key"])
        for _ in range(2):  # once more: it is the same measurement
            assert imports.merge(corpus, [sent]) == {"corpus_cpu": 2}
            rows = {row["source"]: row for row in table.read(corpus)}
            assert rows[OWN.source] == mine and rows[OTHER.source]["status"] == "wrong"
            assert not list(problems(list(rows.values())))

    def test_a_stolen_key_that_comes_first_keeps_nothing_out(self, tmp_path: Path) -> None:
        [mine] = table.read(own_corpus(tmp_path))
        sent = catalogue(tmp_path / "sent", OTHER, Measurement(Status.WRONG, cost=Cost()), 1.8e9, mine["key"])
        imports.merge(tmp_path / "later", [sent])
        imports.merge(tmp_path / "later", [tmp_path / "mine"])
        assert mine in table.read(tmp_path / "later")

    def test_measurements_of_an_earlier_definition_are_combined_among_themselves(self, tmp_path: Path) -> None:
        old = catalogue(tmp_path / "old", OWN, outcome(), key="0" * 32)
        imports.merge(tmp_path / "corpus", [old, catalogue(tmp_path / "new", OWN, outcome(3.0))])
        assert imports.merge(tmp_path / "corpus", [old]) == {"corpus_cpu": 2}

    def test_a_table_of_an_earlier_definition_keeps_its_keys(self, tmp_path: Path) -> None:
        corpus = own_corpus(tmp_path)
        [mine] = table.read(corpus)
        table.write(corpus / "corpus_cpu.parquet", [mine | {"key": "0" * 32}])
        old = catalogue(tmp_path / "old", OWN, outcome(3.0), key="0" * 32)
        assert imports.merge(corpus, [old]) == {"corpus_cpu": 1}

    def test_faults_of_the_machine_are_no_measurements(self, tmp_path: Path) -> None:
        sent = catalogue(tmp_path / "sent", OTHER, Measurement(Status.WRONG, cost=Cost()))
        with closing(sqlite3.connect(sent)) as connection:
            names = "key, definition, task, device, candidate, measured_at, source, record, samples"
            row = list(connection.execute(f"SELECT {names} FROM measurements").fetchone())
            row[7] = row[7].replace('"wrong"', '"infrastructure"')
            connection.execute("UPDATE measurements SET record = ?, crc = ?", (row[7], _checksum(row)))
            connection.commit()
        assert imports.merge(tmp_path / "corpus", [sent]) == {}

    def test_a_link_that_the_user_names_is_his_catalogue(self, tmp_path: Path) -> None:
        catalogue(tmp_path / "mine", OWN, outcome())
        (tmp_path / "link").symlink_to(tmp_path / "mine")
        assert run("data", "import", tmp_path / "link", "--data", tmp_path / "corpus").exit_code == 0
        assert len(table.read(tmp_path / "corpus")) == 1

    def test_nothing_is_written_that_could_not_be_read(self, tmp_path: Path) -> None:
        corpus = own_corpus(tmp_path)
        path = corpus / "corpus_cpu.parquet"
        before = path.read_bytes()
        with pytest.raises(NotWritten, match="features"):
            table.write(path, [row | {"features": [("x", 1e39)]} for row in table.read(corpus)])
        assert path.read_bytes() == before and [each.name for each in corpus.iterdir()] == [path.name]

    @pytest.mark.parametrize(
        "line", ['{"id": "a", "features": {"x": 1e39}}', "[1]", '{"id": "a"}', '{"id": ["a"], "features": {"x": 1}}',
                 '{"id": "a", "features": {"x": "y"}}', '{"id": "a", "features": {"x": true}}']
    )  # fmt: skip
    def test_odd_features(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "f.jsonl"
        path.write_text(f'{{"id": "b", "features": {{"x": 1.5}}}}\n{line}\n')
        with pytest.raises(BadFile, match=r"f\.jsonl, line 2"):
            dict(rebuild.told(path))
        result = run("data", "rebuild", path, "--apply", "--data", own_corpus(tmp_path))
        assert result.exit_code == 2 and str(path) in result.output

    def test_features_that_are_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "users").write_text("mine\n")
        (tmp_path / "f.jsonl").symlink_to(tmp_path / "users")
        with pytest.raises(NotPlain):
            dict(rebuild.told(tmp_path / "f.jsonl"))
        with pytest.raises(NotPlain):
            rebuild.rebuild([], tmp_path / "f.jsonl")
        assert (tmp_path / "users").read_text() == "mine\n"


class TestDatabases:
    """A database of another program, given as the catalogue to write into."""

    @pytest.mark.parametrize("mode", ["delete", "wal"])
    @pytest.mark.parametrize("is_link", [False, True])
    def test_it_is_left_byte_for_byte(self, tmp_path: Path, mode: str, is_link: bool) -> None:
        theirs = tmp_path / "cookies.db"
        with closing(sqlite3.connect(theirs)) as connection:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            connection.execute("CREATE TABLE cookies (a)")
            connection.commit()
        before = theirs.read_bytes()
        given = tmp_path / "received.sqlite" if is_link else theirs
        if is_link:
            given.symlink_to(theirs)
        with pytest.raises(CatalogueDamaged, match="another program"):
            Catalogue(given).put(TASK, OWN, Build(Status.OK), FAKE_DEVICE, outcome())
        assert theirs.read_bytes() == before
        assert {each.name for each in tmp_path.iterdir()} <= {"cookies.db", "received.sqlite"}

    def test_what_is_in_its_log_only_stays_there(self, tmp_path: Path) -> None:
        theirs = tmp_path / "cookies.db"
        with closing(sqlite3.connect(tmp_path / "open.db")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE cookies (a)")
            for suffix in ("", "-wal"):
                Path(f"{theirs}{suffix}").write_bytes(Path(f"{tmp_path}/open.db{suffix}").read_bytes())
        before = [Path(f"{theirs}{suffix}").read_bytes() for suffix in ("", "-wal")]
        with pytest.raises(CatalogueDamaged, match="another program"):
            Catalogue(theirs).put(TASK, OWN, Build(Status.OK), FAKE_DEVICE, outcome())
        assert [Path(f"{theirs}{suffix}").read_bytes() for suffix in ("", "-wal")] == before

    @pytest.mark.parametrize("is_link", [False, True])
    def test_empty_files_and_links_to_ones_own_catalogue_are_used(self, tmp_path: Path, is_link: bool) -> None:
        path = tmp_path / "mine"
        path.touch()
        given = tmp_path / "link" if is_link else path
        if is_link:
            given.symlink_to(path)
        for _ in range(2):
            known = Catalogue(given)
            assert known.put(TASK, OWN, Build(Status.OK), FAKE_DEVICE, outcome())
            known.close()
        assert len(Catalogue(path)) == 1


CARD = {"space": "x", "kernel": "k", "gpu": "g", "parameters": ["a"], "parameter_values": {"a": list(range(30))}}


def space(folder: Path, times: Any, card: dict[str, Any] = CARD) -> Path:
    folder.mkdir()
    made = pa.table({"a": list(range(30)), "time_ms": times, "status": ["ok"] * 30})
    pq.write_table(made, folder / "x.parquet")
    (folder / "x.json").write_text(json.dumps(card))
    return folder


def cache(path: Path, time_ms: Any) -> Path:
    times = {f"{i}": {"a": i, "time": 1.0 + i} for i in range(30)}
    times["0"]["time"] = time_ms
    about = {"kernel_name": "k", "device_name": "g", "tune_params_keys": ["a"], "tune_params": {"a": list(range(30))}}
    path.write_text(json.dumps(about | {"cache": times}))
    return path


class TestSpaces:
    """Tuning spaces and other tables."""

    def test_links_out_of_a_folder_are_not_followed(self, tmp_path: Path) -> None:
        private = space(tmp_path / "private", [float(i + 1) for i in range(30)])
        received = tmp_path / "received"
        received.mkdir()
        (received / "x.json").write_text(json.dumps(CARD))
        (received / "x.parquet").symlink_to(private / "x.parquet")
        for read in (spaces.read_folder, lambda folder: grounds.read([folder])):
            with pytest.raises(NotPlain):
                read(received)
        result = run("replay", received, "--seeds", "1", "--policy", "random", "--measurements", "8")
        assert result.exit_code == 2 and str(received / "x.parquet") in result.output
        assert len(spaces.read_folder(private)) == 1 and grounds.read([private / "x.parquet"]).tuned

    def test_times_that_are_none(self, tmp_path: Path) -> None:
        good = [float(i + 1) for i in range(29)]
        for number, times in enumerate(([float("inf"), *good], [True] * 30, ["1.5"] * 30)):
            folder = space(tmp_path / str(number), times)
            with pytest.raises(BadSpace, match=str(folder / "x.parquet")):
                spaces.read(folder / "x.parquet")

    @pytest.mark.parametrize("value", [True, [1], None, 0, -3.0])
    def test_times_of_a_cache_that_are_none(self, tmp_path: Path, value: Any) -> None:
        with pytest.raises(BadSpace, match=r"t\.json"):
            spaces.read(cache(tmp_path / "t.json", value))

    def test_a_cache_with_failures_is_read(self, tmp_path: Path) -> None:
        for value in (float("nan"), 1e20, "RuntimeFailedConfig"):
            assert spaces.read(cache(tmp_path / "t.json", value)).status[0] is Status.LAUNCH_ERROR

    def test_a_schema_nested_very_deeply(self, tmp_path: Path) -> None:
        kind = pa.int32()
        for _ in range(200):
            kind = pa.struct([("a", kind)])
        path = tmp_path / "deep.parquet"
        pq.write_table(pa.schema([("x", kind)]).empty_table(), path)
        with pytest.raises(BadParquet, match=r"deep\.parquet"):
            read_rows(path)
        for verb in ("eval", "replay"):
            result = run(verb, path)
            assert result.exit_code == 2 and str(path) in result.output

    def test_columns_with_dictionaries_are_read(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        gpus = pa.array(["NVIDIA H100 80GB HBM3"] * 12).dictionary_encode()
        eval_table(path, gpu=gpus, speedup=pa.array([1.0] * 12, pa.float32()))
        assert read_rows(path)[3]["gpu"] == "NVIDIA H100 80GB HBM3"
        result = run("eval", path, "--forecaster", "roofline", "--resamples", "10")
        assert result.exit_code == 0, result.output

    def test_a_dictionary_with_one_long_text_is_not_unfolded(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        column = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["x" * 100_000])
        pq.write_table(pa.table({"x": column}), path)
        with pytest.raises(BadParquet, match="too large"):
            read_rows(path)


EVENT: dict[str, Any] = {
    "event": "proposed", "t": 1.0, "step": 0, "goal": "g", "platform": "web", "proposal": {"actions": []},
    "history": {}, "critic": "rules", "verdict": {}, "seconds": 0.1, "images": {},
    "judgement": {"p_bad": 0.1, "error": None, "explanation": "", "evidence": {}},
}  # fmt: skip


class TestJournals:
    """Traces of the guard and journals of runs."""

    @pytest.mark.parametrize(
        "events",
        [
            [EVENT | {"t": "nan"}], [EVENT | {"seconds": "inf"}], [EVENT | {"seconds": True}],
            [EVENT | {"judgement": EVENT["judgement"] | {"p_bad": "nan"}}],
            [EVENT, {"event": "end", "t": 2.0, "outcome": "x"}],
            [EVENT, {"event": "fault", "where": [1], "message": "m"}],
            [EVENT, {"event": "fault", "where": "w", "message": "m", "step": "x"}],
        ],
    )  # fmt: skip
    def test_odd_traces(self, tmp_path: Path, events: list[dict[str, Any]]) -> None:
        (tmp_path / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        with pytest.raises(TraceError, match=rf"{tmp_path}/trace.jsonl, line {len(events)} "):
            read_trace(tmp_path)
        result = run("gui", "replay", tmp_path)
        assert result.exit_code == 2 and "trace.jsonl, line" in result.output

    @pytest.mark.parametrize("speedup", [1e308, 5e-324])
    def test_speedups_that_nothing_can_have(self, speedup: float) -> None:
        plain = outcome().to_dict() | {"speedup": speedup}
        with pytest.raises(ValueError, match="speedup"):
            Measurement.from_dict(plain)
        with pytest.raises(ValueError, match="speedup"):
            Measurement.from_figures(plain | {"device_s": 1.0}, dict)


def test_links_in_names_of_received_tables_are_those_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "corpus_cpu.parquet").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotPlain):
        table.files(tmp_path / "folder")
    with pytest.raises((NotPlain, BadTable)):
        grounds.read([tmp_path / "folder"])


class TestRefusedAlready:
    """What was refused when it was first tried."""

    @pytest.mark.parametrize("speedup", [float("nan"), float("inf")])
    def test_speedups_of_a_table_that_are_none(self, tmp_path: Path, speedup: float) -> None:
        eval_table(tmp_path / "t.parquet", speedup=pa.array([speedup] + [1.0] * 11))
        result = run("eval", tmp_path / "t.parquet", "--forecaster", "roofline", "--resamples", "10")
        assert result.exit_code == 2 and "speedup" in result.output

    def test_shapes_nested_very_deeply(self, tmp_path: Path) -> None:
        eval_table(tmp_path / "t.parquet", shapes_json=pa.array(["[" * 100_000] * 12))
        result = run("eval", tmp_path / "t.parquet", "--forecaster", "roofline", "--resamples", "10")
        assert result.exit_code == 2 and "nested too deeply" in result.output

    @pytest.mark.parametrize("expression", ["-" * 90_000 + "x", "x" + "+x" * 100_000])
    def test_candidates_nested_very_deeply_do_not_build(self, expression: str) -> None:
        from foretell.forecasting import parsed

        build = parsed(Candidate("t", "triton", f"def kernel(x):\n    return {expression}\n"))
        assert build is not None and build.status is Status.COMPILE_ERROR

    @pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "../x"])
    def test_plans_name_no_files_elsewhere(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "written" / "softmax").mkdir(parents=True)
        (tmp_path / "written" / "x").write_text("private")
        with pytest.raises(KeyError, match="no file below"):
            Item("softmax", "cpp", file=name).candidate(tmp_path / "written")

    def test_a_journal_that_is_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "journal.jsonl")
        result = run("report", tmp_path)
        assert result.exit_code == 2 and "journal.jsonl" in result.output

    def test_a_report_takes_the_place_of_a_link(self, tmp_path: Path) -> None:
        from tests.report.synthetic import events_of_a_run, write_run

        write_run(tmp_path / "run", events_of_a_run())
        (tmp_path / "users").write_text("mine")
        (tmp_path / "run" / "report.html").unlink(missing_ok=True)
        (tmp_path / "run" / "report.html").symlink_to(tmp_path / "users")
        assert run("report", tmp_path / "run").exit_code == 0
        assert (tmp_path / "users").read_text() == "mine" and not (tmp_path / "run" / "report.html").is_symlink()

    def test_pages_of_traces_hold_no_live_markup(self, tmp_path: Path) -> None:
        text = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>"
        judgement = EVENT["judgement"] | {"explanation": text, "evidence": {text: text}}
        event = EVENT | {"goal": text, "platform": text, "critic": text, "judgement": judgement}
        lines = (event, {"event": "fault", "where": text, "message": text}, {"event": "end", "outcome": {text: text}})
        (tmp_path / "trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        page = render_gui_replay(read_trace(tmp_path))
        assert "<img src=x" not in page and "<script>alert" not in page and "&lt;img src=x" in page

    @pytest.mark.parametrize("is_link", [False, True])
    def test_pictures_outside_of_a_trace_are_not_read(self, tmp_path: Path, is_link: bool) -> None:
        save_image(tmp_path / "private.png", np.zeros((4, 4, 3), np.uint8))
        (tmp_path / "trace").mkdir()
        if is_link:
            (tmp_path / "trace" / "a.png").symlink_to(tmp_path / "private.png")
        (tmp_path / "trace" / "trace.jsonl").write_text(json.dumps(EVENT) + "\n")
        with pytest.raises(TraceError, match="outside"):
            read_trace(tmp_path / "trace").picture("a.png" if is_link else "../private.png")
