"""`foretell data` and `foretell collect`, from a plan to a verified corpus, on the real CPU bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("pyarrow")

from foretell.cli.app import app
from foretell.kernels.bench import trial
from foretell.kernels.corpus import verify

runner = CliRunner()


def _run(*arguments: object) -> str:
    done = runner.invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_from_a_plan_to_a_verified_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(trial, "BUSY_SHARE", 2.0)  # what others disturb is not kept: here it is, whoever else is busy
    monkeypatch.setattr(verify, "_LOG_ROOM", 2.0)  # and then it is told by time on a core, not by its pairs
    plan, catalogue, folder = tmp_path / "plan.jsonl.gz", tmp_path / "c.sqlite", tmp_path / "data"
    wanted = ("--kind", "cpu", "--per-language", 2, "--task", "row_sum")
    said = _run("data", "plan", "--out", plan, *wanted, "--data", folder)
    assert "2 candidates planned" in said
    printed = runner.invoke(app, ["collect", str(plan), "--into", str(catalogue), "--corpus", str(folder), "--json"])
    told = json.loads(printed.stdout)
    assert told["measured"] == 2 and told["left"] == 0
    assert "2 rows in corpus_cpu.parquet" in _run("data", "import", catalogue, "--data", folder)
    stats = _run("data", "stats", "--data", folder)
    assert "2 candidates of 1 operation" in stats and "row_sum" in stats and "p90 / p10" in stats
    assert not set(stats) & set("{}'")
    assert json.loads(_run("data", "stats", "--data", folder, "--json"))["operations"] == 1
    assert "2 rows verified" in _run("data", "verify", "--data", folder)
    assert "train 2" in _run("data", "split", "--out", tmp_path / "splits.json", "--data", folder)
    _run("data", "export", "--out", tmp_path / "all.jsonl", "--data", folder)
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert len(lines) == 2 and {line["split"] for line in lines} == {"train"}
    again = _run("collect", plan, "--into", tmp_path / "other.jsonl", "--corpus", folder)
    assert "measured 0" in again and "known 2" in again and not set(again) & set("{}'")


@pytest.mark.parametrize(("arguments", "says"), [
    (("collect", "none.gz", "--into", "c"), "there is no plan none.gz"),
    (("data", "plan", "--out", "p", "--kind", "tpu"), "no kind of device"),
    (("data", "plan", "--out", "p", "--task", "sofmax"), "did you mean softmax"),
    (("data", "import", "none.jsonl"), "there is no none.jsonl"),
    (("data", "stats", "--data", "nowhere"), "there is no corpus in nowhere"),
])  # fmt: skip
def test_bad_input_is_told_plainly(
    arguments: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    done = runner.invoke(app, list(arguments))
    assert done.exit_code != 0
    assert says in " ".join(done.output.split())
    assert not list(empty.iterdir())


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("hello")
    done = runner.invoke(app, ["collect", str(tmp_path / "plan"), "--into", str(tmp_path / "c")])
    assert done.exit_code != 0 and "is not a plan" in " ".join(done.output.split())
