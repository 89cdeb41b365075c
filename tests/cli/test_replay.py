"""`foretell replay` from files to what it prints and writes, and what it says to bad input."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from foretell import received_limits
from foretell.kernels.replay import compare
from tests.cli.conftest import Invoke
from tests.kernels.evaluate.world import corpus_row, corpus_rows, foreign_row, write_corpus, write_foreign
from tests.kernels.replay import world

CHEAP = ("--jobs", "1", "--seeds", "2", "--forecaster", "roofline")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "data", corpus_rows(15))


@pytest.fixture
def space(tmp_path: Path) -> Path:
    return world.write_table(tmp_path)


def told(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / "replay.json").read_text())
    return found


def test_the_usual(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    done = invoke("replay", corpus, "--seeds", "2", "--jobs", "1", "--out", "out")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "data · held_operation, held_family · 3 pools · 2 seeds each · strategy puct" in said
    assert "18 searches" in said and "value, online" in said and "out/replay.html" in said
    found = told(own_place / "out")
    assert found["complete"] and found["runs_wanted"] == 18 and found["places"] == [1, 3]
    assert [(s["policy"], s["strategy"], s["forecaster"]) for s in found["standings"]] == [
        ("value", "puct", "online"),
        ("top", "puct", "online"),
        ("random", "puct", "none"),
    ]
    for one in found["standings"]:
        assert one["runs"] == 6 and 0.0 <= one["reached"] <= 1.0 and one["considered"] == 15
        assert len(one["after"]) == 2 and len(one["by_pool"]) == 3
        lengths = {len(values) for values in one["curve"].values()}
        assert set(one["curve"]) == {"mean", "low", "high", "near"} and len(lengths) == 1
    assert [p["operation"] for p in found["pools"]] == ["lerp_rows", "mish", "max_pool2d"]
    assert found["pools"][0]["candidates"] == 15 and found["pools"][0]["worked"] == 12
    for run in found["runs"]:
        assert run["measured"] <= 8 and run["steps"] == sorted(run["steps"])
        assert (run["until"] is not None) == (run["steps"][-1][1] >= found["near"])


def test_the_page_stands_alone_with_a_curve_for_each(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    policies = ("--policy", "value", "--policy", "top", "--policy", "random", "--policy", "all")
    assert invoke("replay", corpus, *CHEAP, *policies, "--out", "out").exit_code == 0
    page = (own_place / "out" / "replay.html").read_text()
    assert not re.search(r"https?://|src=|href=|@import|url\(", page)
    charts = re.findall(r'<svg class="chart.*?</svg>', page)
    assert len(charts) == 2 and [chart.count('<path d="') for chart in charts] == [8, 4]  # bands, and lines
    for name in ("value, roofline", "top, roofline", "random", "all"):
        assert f"</svg>{name}</li>" in page  # the key
        assert f"{name} after 1 measurement: " in charts[0]
    for hue in ("s0 d0", "s1 d0", "control c0", "control c1"):
        assert f'class="band {hue}"' in charts[0] and f'class="series {hue}"' in charts[0]
    assert ">measurements</text>" in charts[0] and ">share of the pool&#x27;s best</text>" in charts[0]
    assert "mish on NVIDIA H200" in page and "Interrupted" not in page


def test_one_document_that_is_the_file(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    done = invoke("replay", corpus, *CHEAP, "--operation", "mish", "--json", "--out", "out")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == told(own_place / "out")


def test_the_same_command_says_the_same(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    for name in ("a", "b"):
        wanted = ("--policy", "value", "--forecaster", "online:roofline", "--strategy", "islands", "--near")
        assert invoke("replay", corpus, *wanted, "--seeds", "2", "--jobs", "1", "--out", name).exit_code == 0
    assert told(own_place / "a") == told(own_place / "b")
    assert (own_place / "a" / "replay.html").read_text() == (own_place / "b" / "replay.html").read_text()


def test_a_tuning_space_and_its_cache_file(invoke: Invoke, space: Path, own_place: Path) -> None:
    cache = own_place / "tiny__gpu.json.gz"
    cache.write_bytes(gzip.compress(json.dumps(world.cache()).encode()))
    for path, name in ((space, "table"), (cache, "cache")):
        done = invoke("replay", path, "--seeds", "3", "--jobs", "1", "--out", name)
        assert done.exit_code == 0, done.output
        assert "1 pool" in done.output and "tuner" in done.output
    table, cached = told(own_place / "table"), told(own_place / "cache")
    assert [s["policy"] for s in table["standings"]] == ["tuner", "value", "random"]
    assert table["standings"][0]["considered"] == 28 and table["settings"]["splits"] == []
    assert table["standings"] == cached["standings"] and table["runs"] == cached["runs"]


def test_a_folder_of_spaces(invoke: Invoke, tmp_path: Path, own_place: Path) -> None:
    folder = tmp_path / "spaces"
    folder.mkdir()
    for name in ("one", "two"):
        world.write_table(folder, name)
    done = invoke("replay", folder, "--policy", "random", "--seeds", "1", "--jobs", "1")
    assert done.exit_code == 0 and "2 pools" in done.output


def test_strategies_are_compared_near_their_picks(invoke: Invoke, space: Path, own_place: Path) -> None:
    several = ("--strategy", "greedy", "--strategy", "random", "--policy", "random")
    effort = ("--measurements", "12", "--batch", "4")
    done = invoke("replay", space, *several, *effort, "--seeds", "4", "--jobs", "1", "--out", "out")
    assert done.exit_code == 0 and "4 at a time from near their parents" in done.output
    assert "random, greedy" in done.output and "random, random" in done.output
    greedy, anywhere = (s["curve"]["mean"] for s in told(own_place / "out")["standings"])
    assert greedy != anywhere


def test_limits(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    few = ("--pools", "1", "--measurements", "3", "--candidates", "6", "--out", "out")
    done = invoke("replay", corpus, *CHEAP, *few)
    assert done.exit_code == 0 and "1 of 3 pools" in done.output
    found = told(own_place / "out")
    assert [p["operation"] for p in found["pools"]] == ["mish"]
    assert all(run["measured"] <= 3 and run["considered"] <= 6 for run in found["runs"])
    assert "--pools 0" in invoke("replay", corpus, *CHEAP, "--pools", "2").output


def test_an_interrupt_keeps_what_there_is(
    invoke: Invoke, corpus: Path, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare.Stage.job

    def stop(self: compare.Stage, ground: int, seed: int) -> list[compare.Run]:
        if (ground, seed) == (2, 0):
            raise KeyboardInterrupt
        return whole(self, ground, seed)

    monkeypatch.setattr(compare.Stage, "job", stop)
    done = invoke("replay", corpus, *CHEAP, "--out", "out")
    assert done.exit_code == 130 and "interrupted: 6 of 18 searches" in done.output
    found = told(own_place / "out")
    assert not found["complete"] and len(found["runs"]) == 6
    assert {(r["policy"], r["pool"]) for r in found["runs"]} == {
        (policy, f"{name} on NVIDIA H200")
        for policy in ("value", "top", "random")
        for name in ("lerp_rows", "mish")
    }  # fmt: skip
    page = (own_place / "out" / "replay.html").read_text()
    assert "Interrupted: 6 of 18 searches" in page and "max_pool2d" not in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("data", "--policy", "best"), "there is no policy 'best' expected: all, random, top, selective, value, tuner"),
        (("data", "--strategy", "dfs"), "there is no strategy 'dfs' expected: puct, greedy, "),
        (("data", "--forecaster", "oracle"), "there is no forecaster 'oracle' expected: none, "),
        (("data", "--split", "tset"), "there is no split 'tset' expected: train, "),
        (
            ("data", "--operation", "mush"),
            "there is no operation 'mush' to replay expected: lerp_rows, max_pool2d, mish",
        ),
        (("data", "--policy", "tuner"), "the tuner needs a tuning space"),
        (("data", "--strategy", "beam", "--strategy", "puct", "--anywhere"), "it makes no difference what a strategy"),
        (("data", "--out", "text.json"), "text.json is not a folder"),
        (("data", "tiny__gpu.parquet"), "a corpus and a tuning space cannot be compared"),
        (("tiny__gpu.parquet", "--forecaster", "online"), "'online' cannot forecast a tuning space"),
        (("tiny__gpu.parquet", "--split", "train"), "a tuning space has no splits"),
        (("nowhere",), "there is no nowhere expected: a corpus"),
        ((), "there is no corpus in data expected: corpus_cpu.parquet and corpus_gpu.parquet"),
        (("empty",), "there is nothing to replay in empty"),
        (("text.json",), "text.json is not a cache file of Kernel Tuner"),
        (("binary.json",), "binary.json is not a cache file of Kernel Tuner: it is not text in UTF-8"),
        (("list.json",), "list.json cannot be read as a tuning space"),
        (("half.json.gz",), "half.json.gz cannot be read as a tuning space"),
        (("text.parquet",), "text.parquet is not a Parquet file"),
        (("other.parquet",), "other.parquet is neither a corpus nor a tuning space"),
        (("bare.parquet",), "bare.parquet has no card bare.json beside it"),
        (("others.parquet",), "others.parquet holds kernels of others"),
        (("broken",), "there is no pool in which anything works"),
        (("plain.parquet", "--near"), "no row of plain.parquet tells the settings"),
        (("odd.parquet",), "has the kind 'tpu', expected cpu or gpu"),
    ],
)
def test_bad_input_is_told_plainly(invoke: Invoke, own_place: Path, arguments: tuple[str, ...], says: str) -> None:
    if arguments:
        write_corpus(own_place / "data", corpus_rows(6))
    (own_place / "empty").mkdir()
    world.write_table(own_place)
    (own_place / "text.json").write_text("hello")
    (own_place / "binary.json").write_bytes(b"\xff\xfe\x00")
    (own_place / "list.json").write_text('{"tune_params": [], "tune_params_keys": [1], "cache": {}}')
    (own_place / "half.json.gz").write_bytes(gzip.compress(b"hello" * 100)[:20])
    (own_place / "text.parquet").write_text("hello")
    pq.write_table(pa.table({"a": [1]}), own_place / "other.parquet")
    pq.write_table(pa.table({"time_ms": [1.0], "status": ["ok"]}), own_place / "bare.parquet")
    write_foreign(own_place / "others.parquet", [foreign_row(0, i) for i in range(4)])
    write_corpus(own_place / "broken", [corpus_row("mish", i, None, "held_operation") for i in range(4)])
    names = ("id", "task", "kind", "language", "source", "device", "status", "speedup", "split")
    plain = [{name: row[name] for name in names} for row in corpus_rows(6)]
    pq.write_table(pa.Table.from_pylist(plain), own_place / "plain.parquet")
    pq.write_table(pa.Table.from_pylist([{**row, "kind": "tpu"} for row in plain]), own_place / "odd.parquet")
    done = invoke("replay", *arguments, "--jobs", "1")
    assert done.exit_code == 2, done.output
    assert says in " ".join(done.output.split())
    assert "error:" in done.output and "Traceback" not in done.output


def test_a_small_table_of_very_many_configurations_ends(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes in a file may be a million configurations, each of which becomes a candidate."""
    path = _grid(tmp_path, 500, 100)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(received_limits, "SECONDS", 0.5)
    done = invoke("replay", path, "--jobs", "1", "--seeds", "1")
    assert done.exit_code == 2, done.output
    assert "decoy.parquet takes more than" in " ".join(done.output.split())


def test_a_parameter_of_very_many_values_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    """A tuner compares each value with each: 20,000 of them would be 3 GB, several times."""
    done = invoke("replay", _grid(tmp_path, 20_000, 1), "--jobs", "1", "--seeds", "1")
    assert done.exit_code == 2, done.output
    assert "too large: 20,000 configurations of 20,001 values" in " ".join(done.output.split())


def _grid(folder: Path, rows: int, columns: int) -> Path:
    """A table of all pairs of two parameters, which takes few bytes, with its card."""
    values = {"x": list(range(rows)), "y": list(range(columns))}
    x, y = (pa.array(each) for each in zip(*itertools.product(*values.values()), strict=True))
    pairs = {"x": x, "y": y, "time_ms": pa.array([1.0] * len(x)), "status": pa.array(["ok"] * len(x))}
    path = folder / "decoy.parquet"
    pq.write_table(pa.table(pairs), path, compression="zstd")
    card = {"space": "s", "kernel": "k", "gpu": "g", "parameters": list(values), "parameter_values": values}
    path.with_suffix(".json").write_text(json.dumps(card))
    return path
