"""What the thirteenth round found: small files that stand for a great deal of work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.gui import trace
from foretell.gui.dataset import save_image
from foretell.kernels.corpus.verify import problems
from foretell.kernels.evaluate.pools import BadTable
from foretell.kernels.replay.grounds import MOST_NAMES, MOST_SETTINGS, read, with_knobs
from foretell.received_limits import TooMuchWork
from tests.kernels.evaluate.world import corpus_row, write_corpus

TASK = "gelu"


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
