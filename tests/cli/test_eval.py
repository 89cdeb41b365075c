"""`foretell eval` from a table to what it prints and writes, and what it says to bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from foretell.cli.evaluate import USUAL
from foretell.kernels.evaluate.figures import FIGURES, POOLED
from tests.cli.absent import environment
from tests.cli.conftest import Invoke
from tests.cli.forked import Forked
from tests.kernels.evaluate.world import corpus_rows, foreign_row, write_corpus, write_foreign


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "data", corpus_rows(15))


def test_the_usual(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    done = invoke("eval", "--data", corpus, "--resamples", "20", "--out", "e.json", "--html", "out/e.html")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "held_operation: 30 candidates of 2 operations, 6 failures" in said
    assert "held_family: 15 candidates of 1 operation" in said
    assert all(name in said for name in ("constant", "random", "roofline", "Spearman", "recovery at 5 %"))
    told = json.loads((own_place / "e.json").read_text())
    assert told["settings"] == {
        "data": "data", "tier": "build", "learn": 0, "limit": "none", "seed": 0, "resamples": 20,
    }  # fmt: skip
    assert [(r["forecaster"], r["split"]) for r in told["results"]][:3] == [
        ("constant", "held_operation"),
        ("random", "held_operation"),
        ("roofline", "held_operation"),
    ]
    assert all(set(r["figures"]) == set(FIGURES) for r in told["results"])
    assert told["results"][0]["figures"]["spearman"]["value"] == 0.0


def test_json_is_one_document(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    done = invoke("eval", "--data", corpus, "--resamples", "5", "--forecaster", "roofline", "--json", "--out", "e.json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads((own_place / "e.json").read_text())


def test_the_page_stands_alone(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    invoke("eval", "--data", corpus, "--resamples", "5", "--html", "e.html", "--split", "held_operation")
    page = (own_place / "e.html").read_text()
    assert "Operations never seen in training" in page
    assert page.count("<svg") == 4 + 4  # charts, and the key
    assert not re.search(r"https?://|src=|href=|@import|url\(", page)
    for figure in FIGURES.values():
        assert figure.label in page


def test_the_same_command_says_the_same(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    def run(*more: str) -> list[dict[str, object]]:
        arguments = ("--resamples", "5", "--out", "e.json", "--forecaster", "random", *more)
        assert invoke("eval", "--data", corpus, *arguments).exit_code == 0
        found: list[dict[str, object]] = json.loads((own_place / "e.json").read_text())["results"]
        return [{k: v for k, v in r.items() if not k.startswith("seconds")} for r in found]

    assert run() == run()
    assert run("--seed", "1") != run()


def test_limits_tiers_and_learning(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    wanted = ("--forecaster", "online", "--split", "all", "--resamples", "5", "--out", "e.json")
    assert invoke("eval", "--data", corpus, *wanted, "--limit", "8", "--learn", "3").exit_code == 0
    (one,) = json.loads((own_place / "e.json").read_text())["results"]
    assert one["candidates"] == 4 * (8 - 3) and one["forecaster"] == "online"
    roofline = ("--forecaster", "roofline", "--split", "all", "--resamples", "5", "--out", "e.json")
    aurocs = {}
    for tier in ("source", "build"):
        assert invoke("eval", "--data", corpus, *roofline, "--tier", tier).exit_code == 0
        (one,) = json.loads((own_place / "e.json").read_text())["results"]
        aurocs[tier] = one["figures"]["failure_auroc"]["value"]
    assert aurocs["source"] == 0.5 < aurocs["build"]  # a failed build shows


def test_a_table_of_others(invoke: Invoke, corpus: Path, own_place: Path, tmp_path: Path) -> None:
    foreign = write_foreign(tmp_path / "f.parquet", [foreign_row(cell, i) for cell in range(3) for i in range(9)])
    told = invoke("eval", "--data", foreign, "--past", corpus, "--resamples", "5", "--out", "e.json")
    assert told.exit_code == 0, told.output
    found = json.loads((own_place / "e.json").read_text())
    assert found["settings"]["tier"] == "source"
    assert {r["split"] for r in found["results"]} == {"all"} and found["results"][0]["candidates"] == 27
    one = invoke("eval", "--data", foreign, "--forecaster", "roofline", "--split", "one", "--resamples", "5")
    assert one.exit_code == 0 and "one: 9 candidates of 1 operation" in one.output


def test_a_table_of_others_split_by_a_file_is_reported_by_gpu_and_logged(
    invoke: Invoke, own_place: Path, tmp_path: Path
) -> None:
    rows = [foreign_row(cell, i) for cell in range(3) for i in range(9)]
    rows.append(foreign_row(0, 0, row_id="other", cell_id="other", gpu="MI300X"))
    table = write_foreign(tmp_path / "f.parquet", rows)
    (own_place / "split.json").write_text(
        json.dumps({"parts": {"development": ["level1/1", "level1/2"], "held_out": ["gemm/2048"]}})
    )
    usual = ("eval", table, "--parts", "split.json", "--forecaster", "roofline", "--resamples", "20")
    done = invoke(*usual, "--out", "e.json", "--log", "log.jsonl")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "there is no description of the GPU MI300X: its rows are left out" in said
    assert "development: 18 candidates of 2 operations" in said and "roofline on development, by GPU" in said
    (one,) = json.loads((own_place / "e.json").read_text())["results"]
    assert len(one["by_device"]) == 2 and "NVIDIA GeForce RTX 4090" in one["by_device"]
    assert set(one["by_origin"]) == {"one", "two"}
    assert set(one["by_origin"]["one"]["figures"]) == set(POOLED)
    refused = invoke(*usual, "--split", "held-out")
    assert refused.exit_code == 2 and "an evaluation on held_out is not logged" in " ".join(refused.output.split())
    assert invoke(*usual, "--split", "held-out", "--log", "log.jsonl").exit_code == 0
    first, second = map(json.loads, (own_place / "log.jsonl").read_text().splitlines())
    assert (first["split"], second["split"], second["forecaster"]) == ("development", "held_out", "roofline")
    assert first["table"] == second["table"] and len(first["table"]["sha256"]) == 64 and first["commit"]
    assert second["candidates"] == 9 and set(second["figures"]) == set(FIGURES)


def test_without_torch_nothing_is_judged_that_records_candidates(corpus: Path, own_place: Path, tmp_path: Path) -> None:
    table = write_foreign(tmp_path / "f.parquet", [foreign_row(cell, i) for cell in range(2) for i in range(6)])
    usual = ("eval", str(table), "--past", str(corpus), "--resamples", "5")
    with Forked(environment(tmp_path / "without", {"torch", "triton"}), ()) as bare:
        for name in ("program:eager", "calibrated", "online:program", "cascade:features,calibrated:eager"):
            refused = bare.run(*usual, "--forecaster", name, folder=own_place)
            assert refused.returncode == 2 and "torch is not installed" in refused.stderr, name
            assert "[gpu]" in refused.stderr and "install -e" in refused.stderr
        done = bare.run(*usual, "--json", folder=own_place)
    assert done.returncode == 0, done.stderr
    assert [r["forecaster"] for r in json.loads(done.stdout)["results"]] == list(USUAL)
    assert "program:eager is left out: torch is not installed: " in " ".join(done.stderr.split())


def test_a_single_operation_has_no_intervals(invoke: Invoke, corpus: Path, own_place: Path) -> None:
    done = invoke("eval", "--data", corpus, "--resamples", "5", "--split", "held_family", "--out", "e.json")
    said = " ".join(done.output.split())
    assert "A single operation" in said and " –" in said and not re.search(r"\d to \d", said)
    for result in json.loads((own_place / "e.json").read_text())["results"]:
        assert all(f["low"] is None and f["high"] is None for f in result["figures"].values())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "does not say which problem is in which split"),
        ('{"parts": {"development": ["a"], "held_out": ["a"]}}', "has a problem in two splits"),
        ('{"parts": {"mine": ["level1/1"]}}', "no split was chosen expected: --split with one of mine"),
        ('{"parts": {"development": ["a"]}}', "no candidate of development is left to judge"),
    ],
)
def test_a_file_of_parts_that_does_not_do(
    invoke: Invoke, own_place: Path, tmp_path: Path, text: str, says: str
) -> None:
    table = write_foreign(tmp_path / "f.parquet", [foreign_row(0, i) for i in range(4)])
    (own_place / "split.json").write_text(text)
    done = invoke("eval", table, "--parts", "split.json", "--forecaster", "roofline")
    assert done.exit_code == 2 and says in " ".join(done.output.split())


def test_a_narrow_terminal_leaves_intervals_out(invoke: Invoke, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ("eval", "--data", corpus, "--resamples", "5", "--split", "held_operation")
    assert " to " in invoke(*wanted).output
    monkeypatch.setenv("COLUMNS", "80")
    assert " to " not in invoke(*wanted).output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--forecaster", "oracle"), "there is no forecaster 'oracle' expected: constant, random, "),
        (("--split", "tset"), "there is no split 'tset' in"),
        (("--tier", "all"), "there is no tier 'all' expected: source or build"),
        (("--learn", "15", "--forecaster", "roofline"), "no candidate of held_operation is left to judge"),
        (("--data", "nowhere"), "there is no corpus in nowhere expected: corpus_cpu.parquet and corpus_gpu.parquet"),
        (("--data", "rows.parquet"), "there is no rows.parquet"),
        (("--data", "."), "there is no corpus in ."),
        (("--data", "text.parquet"), "text.parquet is not a Parquet file"),
        (("--data", "other.parquet"), "it lacks task, kind, language, source, device, status, speedup"),
        (("--data", "own.parquet"), "there are no training rows for the controls"),
        (("--data", "own.parquet"), f"do: --past {Path(__file__).parents[2] / 'data'}, or"),
        (("--data", "other.parquet"), "columns and their values: docs/evaluation.md"),
        (("--html", "."), ". is a directory"),
        (("--out", "."), ". is a directory"),
    ],
)
def test_bad_input_is_told_plainly(
    invoke: Invoke, corpus: Path, own_place: Path, arguments: tuple[str, ...], says: str
) -> None:
    (own_place / "text.parquet").write_text("hello")
    pq.write_table(pa.table({"a": [1]}), own_place / "other.parquet")
    names = ("task", "kind", "language", "source", "device", "status", "speedup")
    pq.write_table(
        pa.Table.from_pylist([{name: row[name] for name in names} for row in corpus_rows(6)]), own_place / "own.parquet"
    )
    data = () if "--data" in arguments else ("--data", corpus)
    done = invoke("eval", *data, *arguments)
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
    assert "error:" in done.output and "Traceback" not in done.output


def test_every_figure_is_explained() -> None:
    text = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
    for name in FIGURES:
        stem = re.sub(r"_\d+$", "_", name)
        assert f"`{name}`" in text or f"`{stem}" in text, name


def test_progress_is_told_where_no_status_shows(
    invoke: Invoke, corpus: Path, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("eval", "--data", corpus, "--resamples", "20", "--forecaster", "roofline", "--json")
    monkeypatch.setattr("foretell.cli.output.SILENT_S", 0.0)
    done = invoke(*few)
    assert "roofline on" in done.stderr and "candidates to forecast" in done.stderr and json.loads(done.stdout)
    monkeypatch.setattr("foretell.cli.output.SILENT_S", 1e9)
    assert "roofline on" not in invoke(*few).stderr
