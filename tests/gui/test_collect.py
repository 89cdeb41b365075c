"""Recording labelled proposals: rows are whole, go on where they stopped, and hold what they say."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.collect import EPISODES, Collector, collect, early_stops, in_order, resumed, summary
from foretell.gui.bench.oracles import HELD_OUT
from foretell.gui.bench.pages import Page
from foretell.gui.bench.walks import chosen, walk
from foretell.gui.dataset import FILE, Row, load_image, read_rows, write_rows
from foretell.gui.history import Historian, History
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal

TASK = "click-checkboxes"


@pytest.fixture(scope="module")
def pressed(task_page: Page, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The rows of one short episode."""
    return Collector(tmp_path_factory.mktemp("pressed"), task_page, Historian()).episode("click-button", 1)


def test_an_episode_becomes_rows(page: Page, tmp_path: Path) -> None:
    collector = Collector(tmp_path, page, Historian())
    rows = collector.episode(TASK, 1)
    assert {row.bad for row in rows} == {True, False}
    assert all(load_image(tmp_path / row.image).shape == (630, 480, 3) for row in rows)
    assert {row.split for row in rows} == {"held_out" if TASK in HELD_OUT else "train"}
    assert len({row.id for row in rows}) == len(rows)
    assert rows[0].step == 0 and not rows[0].history.steps
    last = [row for row in rows if row.image == rows[-1].image]
    good = next(row for row in last if not row.bad)
    assert good.proposal.actions[0].kind is Kind.TERMINATE
    assert all(row.error is ErrorClass.TERMINATION for row in last if row.bad)
    assert sum(collector.counts.values()) == sum(row.bad for row in rows)


def test_rows_are_the_same_every_time(page: Page, tmp_path: Path, pressed: list[Row]) -> None:
    assert Collector(tmp_path, page, Historian()).episode("click-button", 1) == pressed


def test_a_busy_page_has_a_right_answer_too(page: Page, tmp_path: Path) -> None:
    collector = Collector(tmp_path, page, Historian())
    collector.counts.update({error.value: 1000 for error in ErrorClass if error is not ErrorClass.TIMING})
    rows = collector.episode("click-button", 1)
    busy = next(row for row in rows if row.error is ErrorClass.TIMING)
    waits = [row for row in rows if row.image == busy.image and not row.bad]
    assert [row.proposal.actions[0].kind for row in waits] == [Kind.WAIT]


def test_stumbles_are_recovered_from(page: Page) -> None:
    walks = (walk(page, TASK, seed, Historian(), random.Random(seed), stumbles=0.5) for seed in range(4))
    recovered = next((moments for moments in walks if moments and len(moments[-1].done) > len(moments) - 1), None)
    assert recovered, "at least one episode is solved although something wrong was done"
    assert recovered[-1].planned is None


def test_moments_are_chosen_by_sort(page: Page) -> None:
    moments = walk(page, "use-slider", 50, Historian(), random.Random(0), stumbles=0.0)
    picked = chosen(moments, 3, random.Random(0))
    kinds = [planned.action.kind for planned in (moments[i].planned for i in picked) if planned is not None]
    assert picked[-1] == len(moments) - 1 and len(picked) == 4
    assert Kind.CLICK in kinds and Kind.KEY in kinds


def test_half_an_episode_is_taken_out(tmp_path: Path, pressed: list[Row]) -> None:
    write_rows(tmp_path, pressed)
    whole = {"task": "click-button", "seed": 1, "rows": len(pressed), "seconds": 0.0}
    (tmp_path / EPISODES).write_text(json.dumps(whole) + "\n", "utf-8")
    other = [row.__class__.from_dict({**row.to_dict(), "seed": 2}) for row in pressed]
    write_rows(tmp_path, other, append=True)
    known, counts = resumed(tmp_path)
    assert known == {("click-button", 1)}
    assert [row.seed for row in read_rows(tmp_path)] == [1] * len(pressed)
    assert sum(counts.values()) == sum(row.bad for row in pressed)


def test_what_is_there_is_not_collected_again(page: Page, tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        collect(page, Historian(), tmp_path, ("click-button",), (1,), say=said.append)
    assert len(said) == 1
    assert len({row.id for row in read_rows(tmp_path)}) == len((tmp_path / FILE).read_text("utf-8").splitlines())


def test_the_summary_counts(pressed: list[Row]) -> None:
    found = summary(pressed)
    assert found["proposals"] == len(pressed)
    assert sum(found["classes"].values()) == sum(row.bad for row in pressed)
    assert found["splits"]["held_out"]["tasks"] + found["splits"]["train"]["tasks"] == 1
    assert found["tasks"]["click-button"]["episodes"] == 1


def test_stops_before_the_end_are_drawn_by_the_moment_alone_and_only_once() -> None:
    step = Proposal((Action(Kind.CLICK, point=Point(5, 5)),), "click the button 'OK'")
    stop = Proposal((Action(Kind.TERMINATE, success=True),), "done")
    rows = [
        Row(f"{TASK}-{seed}-0-0", TASK, seed, 0, "train", "press OK", f"images/{seed}.png", History(), step, False)
        for seed in range(200)
    ]
    ended = Row(f"{TASK}-7-1-0", TASK, 7, 1, "train", "press OK", "images/7-1.png", History(), stop, False)
    found = early_stops([*rows, ended])
    assert {row.error for row in found} == {ErrorClass.TERMINATION} and all(row.bad for row in found)
    assert 0.2 < len(found) / len(rows) < 0.4
    assert not any(row.image == ended.image for row in found)
    assert [row.id for row in early_stops(rows[::-1])] == [row.id for row in found][::-1]
    assert early_stops([*rows, *found]) == []
    together = in_order([*rows, *found])
    assert [row.image for row in together] == sorted((row.image for row in together), key=[r.image for r in rows].index)
