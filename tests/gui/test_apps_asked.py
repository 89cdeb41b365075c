"""What readers are asked about real applications: the mark and written histories; and right steps on live pages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.apps import history_lm, live, marker, vlm
from benchmarks.apps.episode_truth import tasks
from benchmarks.apps.install import by_name
from benchmarks.apps.label import Labeller, write_details
from benchmarks.apps.moment import write_moments
from foretell.gui.dataset import save_image, write_rows
from foretell.gui.history import History, Step
from tests.gui.test_apps import SIZE, walk


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The walk with its proposals; a part of the screen changes from moment to moment."""
    moments, steps = [], ()
    for number, one in enumerate(walk()):
        image = np.full((SIZE[1], SIZE[0], 3), 250, np.uint8)
        image[100:160, 50 : 120 + 60 * number] = 20
        save_image(tmp_path / one.image, image)
        moments.append(replace(one, history=History(steps=steps, count=number)))
        if one.planned is not None:
            steps = (*steps, Step(one.planned.action, f"{number}", True, one.planned.intent))
    labeller = Labeller("trac")
    write_rows(tmp_path, labeller.rows(moments))
    write_details(tmp_path, labeller.details)
    write_moments(tmp_path, "trac", moments)
    return tmp_path


def test_without_the_mark_the_screen_alone_is_shown(recorded: Path) -> None:
    folder = recorded / "asked"
    marker.draw(recorded, folder, 4)
    marked, bare = (
        [json.loads(line) for line in (folder / variant / "requests.jsonl").read_text("utf-8").splitlines()]
        for variant in marker.VARIANTS
    )
    assert len(marked) == len(bare) == 4
    for one, other in zip(marked, bare, strict=True):
        assert len(one["messages"][1]["images"]) == 2
        assert len(other["messages"][1]["images"]) == 1
        assert "diagonal cross" in one["messages"][1]["content"]
        said = " ".join(message["content"] for message in other["messages"])
        assert "diagonal cross" not in said and "action marked" not in said and "has no point" not in said
        assert "nothing is marked on it" in said
    both = [vlm.index_of(folder / variant).read_text("utf-8") for variant in marker.VARIANTS]
    rows = [[entry["row"] for entry in json.loads(text)] for text in both]
    assert rows[0] == rows[1], "the same proposals"


def test_written_histories_are_asked_for_and_judged_without_names(recorded: Path) -> None:
    folder = recorded / "history"
    history_lm.draw(folder, [recorded])
    index = json.loads(vlm.index_of(folder).read_text("utf-8"))
    assert index
    lines = [f"{one['number']} | a bar grew | the bar is longer; it is dark" for one in index]
    (folder / "answers.txt").write_text("\n".join(lines), encoding="utf-8")
    history_lm.read(folder)
    history_lm.judge(folder, [recorded])
    asked = (folder / "judge" / "questions.md").read_text("utf-8")
    assert asked.count("the bar is longer") == len(index)
    assert "model" not in asked and "rules" not in asked
    key = json.loads(folder.with_name("history.judge.key.json").read_text("utf-8"))
    assert {author for one in key for author in one["claims"]} == set(history_lm.AUTHORS)
    (folder / "answers.txt").write_text("001 | no record", encoding="utf-8")
    with pytest.raises(ValueError, match="not an answer"):
        history_lm.read(folder)


def test_verdicts_go_to_whoever_wrote_the_sentences() -> None:
    counts = {"model": 2, "rules": 0}
    found = history_lm.verdicts("001 | A - n | B tf y", ("rules", "model"), counts)
    assert found == {"rules": ("", False), "model": ("tf", True)}
    for line in ("001 | A - n | B t y", "001 | B - n | A tf y", "001 | A - n | B tx y"):
        with pytest.raises(ValueError):
            history_lm.verdicts(line, ("rules", "model"), counts)


def test_what_the_page_says_of_a_step_is_told() -> None:
    before, after = walk()[1:3]
    typed = replace(after.elements[6], value="Plums")
    after = replace(after, elements=(*after.elements[:6], typed, *after.elements[7:]), text=before.text + "\nSaved")
    told = "\n".join(history_lm.facts(history_lm.Transition(Path(), before, after)))
    assert "value '' -> 'Plums'" in told
    assert "'Saved'" in told


def test_interrupted_right_steps_are_counted_by_application() -> None:
    steps = [
        {"application": name, "interrupted": number == 0, "by_pixels": False}
        for name in ("trac", "panel")
        for number in range(4 if name == "trac" else 6)
    ]
    found = live.summary(steps)
    assert found["with_evidence"]["share"] == 0.2
    assert found["by_pixels"]["share"] == 0.0
    assert found["by_application"]["panel"] == {"right": 6, "interrupted": 1, "by_pixels": 0}


def test_walks_of_an_unknown_start_are_no_tasks(tmp_path: Path) -> None:
    (application,) = by_name(["trac"])
    for episode, count in (("1280-light", 1), ("640-light", 0)):
        write_moments(tmp_path, "trac", [replace(one, episode=episode) for one in walk()])
        assert len(tasks(tmp_path, application)) == count
