"""What the thirteenth round found: small files that stand for a great deal of work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from foretell import received_limits
from foretell.cli.app import app
from foretell.gui import trace
from foretell.gui.dataset import save_image
from foretell.kernels.corpus.check import odd
from foretell.kernels.corpus.verify import contradictions, problems
from foretell.kernels.evaluate import data
from foretell.kernels.evaluate.data import ALL
from foretell.kernels.evaluate.pools import BadTable
from foretell.kernels.replay.grounds import MOST_NAMES, MOST_SETTINGS, read, with_knobs
from foretell.received_limits import TooMuchWork
from tests.kernels.evaluate.world import corpus_row, write_corpus

TASK = "gelu_erf"


def grounds_of(tmp_path: Path, knobs: list[Any]) -> Any:
    rows = [
        corpus_row(TASK, i, 0.1, "held_operation", detail=json.dumps({"knobs": each})) for i, each in enumerate(knobs)
    ]
    return read([write_corpus(tmp_path, rows)]).grounds(["held_operation"])


@pytest.mark.parametrize(
    "knobs",
    [
        pytest.param(
            [{f"k{i}_{j}": j for j in range(60)} for i in range(MOST_NAMES // 60 + 1)], id="1 names of each row"
        ),
        pytest.param([{f"k{j}": j for j in range(MOST_SETTINGS + 1)}], id="many of one row"),
    ],
)
def test_settings_that_no_template_has(knobs: list[Any], tmp_path: Path) -> None:
    with pytest.raises(BadTable, match="settings"):
        with_knobs(grounds_of(tmp_path, knobs))


def test_settings_of_templates(tmp_path: Path) -> None:
    [ground] = with_knobs(grounds_of(tmp_path, [{"warps": i, "width": 4} for i in range(MOST_NAMES + 1)]))
    assert len(ground.knobs) == MOST_NAMES + 1


def test_pictures_that_take_turns_are_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2"""
    opened: list[Path] = []

    def load(path: Path) -> Any:
        opened.append(path)
        return load_image(path)

    load_image = trace.load_image
    monkeypatch.setattr(trace, "load_image", load)
    for number in range(2):
        save_image(tmp_path / f"{number}.png", np.full((20, 30, 3), number, dtype=np.uint8))
    shown = trace.Trace(tmp_path, ())
    for turn in range(50):
        assert int(shown.picture(f"{turn % 2}.png")[0, 0, 0]) == turn % 2
    assert len(opened) == 2
    save_image(tmp_path / "0.png", np.full((20, 30, 3), 9, dtype=np.uint8))
    assert int(shown.picture("0.png")[0, 0, 0]) == 9
    with pytest.raises(trace.TraceError):
        shown.picture("absent.png")


def test_sources_that_take_long_to_read(tmp_path: Path) -> None:
    """4"""
    source = "#\n" * (1 << 19)
    rows = [corpus_row(TASK, i, None, "train", source=f"#{i}\n{source}") for i in range(4)]
    with pytest.raises(TooMuchWork, match="sources take more than 1 s"):
        list(problems(rows, most_seconds=1.0))


def test_pools_of_sources_that_take_long_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """12"""
    sources = [f"#{i}\n" + "#\n" * ((1 << 19) - 9) for i in range(3)]
    rows = [corpus_row(TASK, i, 0.1, "held_operation", source=each, stripped="") for i, each in enumerate(sources)]
    found = data.read(write_corpus(tmp_path, rows))
    monkeypatch.setattr(received_limits, "SECONDS", 0.3)
    with pytest.raises(TooMuchWork, match="takes more than"):
        found.pools(ALL, "source")


@pytest.mark.parametrize("ratio", [5000.0, -5000.0])
def test_ratios_that_no_power_of_two_has(ratio: float) -> None:
    """8, 9"""
    row = corpus_row(TASK, 1, 0.0, "train")
    told = {"name": "w", "reference_us": 1.0, "candidate_us": 1.0, "speedup": 1.0, "low": 1.0, "high": 1.0}
    row |= {"workloads": [told | {"log2_ratio": [ratio] * 5}]}
    assert any("to the power of" in words for words in contradictions(row))


def test_seconds_that_nobody_measured(tmp_path: Path) -> None:
    """36"""
    rows = [corpus_row(TASK, i, 0.1, "train", device_s=1.7e308) for i in range(2)]
    assert "expected seconds" in (odd(rows) or "")
    assert odd([corpus_row(TASK, 1, 0.1, "train")]) is None


@pytest.mark.parametrize("p_bad", [1.7e308, -0.1, 1.5])
def test_a_chance_that_is_none(p_bad: float, tmp_path: Path) -> None:
    """5, 6"""
    write_trace(tmp_path, p_bad=p_bad)
    with pytest.raises(trace.TraceError):
        trace.read(tmp_path)


def test_the_name_of_a_critic_stays_on_its_line(tmp_path: Path) -> None:
    """7"""
    write_trace(tmp_path, critic="rules\nagree   on 900 of 900 proposals\nerror: mend it")
    shown = CliRunner().invoke(app, ["gui", "rescore", str(tmp_path), "--critic", "rules"]).output
    assert "on 900 of 900" in shown
    assert not any(line.startswith(("agree   on 900", "error:")) for line in shown.splitlines())


def test_an_id_stays_on_its_line(tmp_path: Path) -> None:
    """10, 11"""
    forged = "x\n11,284 rows, 2 real kernels verified\nnote: all is well"
    folder = write_corpus(tmp_path, [corpus_row(TASK, 1, 0.1, "train", id=forged, device="H200\nerror: none")])
    for verb in ("verify", "stats"):
        shown = CliRunner().invoke(app, ["data", verb, "--data", str(folder)]).output
        assert shown
        assert not any(line.strip().startswith(("11,284", "note:", "error:")) for line in shown.splitlines())


def write_trace(folder: Path, p_bad: float = 0.5, critic: str = "rules") -> None:
    save_image(folder / "images" / "a.png", np.full((100, 200, 3), 255, dtype=np.uint8))
    event = {
        "event": "proposed", "step": 0, "goal": "Click OK", "platform": "web", "t": 0.0, "critic": critic,
        "proposal": {
            "actions": [{"kind": "click", "point": {"x": 5, "y": 5}}], "intent": None, "raw": "", "fault": None
        },
        "history": {"achieved": [], "effect": "", "steps": [], "count": 0},
        "judgement": {"p_bad": p_bad, "error": None, "explanation": "", "evidence": {}},
        "verdict": {
            "intervene": False, "feedback": "", "revision": 0, "reason": "fine", "note": "", "mode": "enforce",
            "threshold": 0.5,
        },
        "seconds": 0.1, "images": {"before": "images/a.png"},
    }  # fmt: skip
    (folder / "trace.jsonl").write_text(json.dumps(event) + "\n")
