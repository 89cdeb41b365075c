"""The suite of real applications: the draw, the truth that is read off a page, and proposals labelled by it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.apps import phrases, split
from benchmarks.apps.browser import READ
from benchmarks.apps.check import faults, read_in_place
from benchmarks.apps.evaluate import Figures
from benchmarks.apps.install import by_name
from benchmarks.apps.label import Labeller
from benchmarks.apps.moment import Element, Moment, Planned, read_moments, write_moments
from benchmarks.apps.walk import completed
from benchmarks.apps.wrong import RULES, Case
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.dataset import save_image
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass
from foretell.gui.ocr import Ocr
from foretell.gui.train_critic import lower_bound
from tests.gui import drawn

SIZE = (640, 480)
STEP = 16
NAMES = ("Orders", "Customers", "Reports", "Save", "Cancel", "Search orders", "Title", "Send", "Archive")


def element(ref: int, name: str) -> Element:
    field = name in ("Search orders", "Title")
    role = "textbox" if field else "button" if name in ("Save", "Cancel", "Send", "Archive") else "link"
    x, y = 40.0 + 200 * (ref % 3), 40.0 + 120 * (ref // 3)
    return Element(
        ref, "a", role, name, (x, y, 110.0, 30.0), (x + 55, y + 15), editable=field, disabled=name == "Archive"
    )


def moment(number: int, planned: Planned | None, history: History | None = None) -> Moment:
    elements = tuple(element(ref, name) for ref, name in enumerate(NAMES))

    def top(x: float, y: float) -> int:
        return next((one.ref for one in elements if one.distance(Point(x, y)) == 0), -1)

    grid = tuple(
        tuple(top((column + 0.5) * STEP, (row + 0.5) * STEP) for column in range(SIZE[0] // STEP))
        for row in range(SIZE[1] // STEP)
    )
    text, name = " ".join(NAMES), f"images/trac-0-{number}.png"
    told = (elements, grid, STEP, (0.0, 300.0), False, text, history or History(), planned, None)
    return Moment("trac", "Trac", "0", number, SIZE, "light", name, *told)


def walk() -> list[Moment]:
    """Open the orders, type a title, done."""
    orders = Planned(Action(Kind.CLICK, Point(95, 55)), "open Orders", "click the 'Orders' link", 0)
    title = Planned(Action(Kind.CLICK, Point(95, 295)), "set Title to 'Plums'", "click the Title field", 6)
    typed = Planned(Action(Kind.TYPE, text="Plums"), "set Title to 'Plums'", "type 'Plums'", 6)
    plans = (orders, title, typed, None)
    steps: tuple[Step, ...] = ()
    found = []
    for number, planned in enumerate(plans):
        found.append(moment(number, planned, History(steps=steps, count=number)))
        if planned is not None:
            steps = (*steps, Step(planned.action, "", True, planned.intent))
    return found


def test_the_draw_is_the_committed_one() -> None:
    kept = json.loads(split.FILE.read_text("utf-8"))
    assert {name: kept[name] for name in ("development", "held_out")} == split.draw()
    assert not set(kept["development"]) & set(kept["held_out"])
    assert sorted(kept["development"] + kept["held_out"]) == sorted(split.WEB + split.DESKTOP)


def test_every_drawn_application_can_be_installed() -> None:
    assert {one.name for one in by_name([])} == set(split.WEB + split.DESKTOP)
    with pytest.raises(ValueError, match="no application is called nothing"):
        by_name(["nothing"])


def test_rows_are_labelled_by_the_truth(tmp_path: Path) -> None:
    moments = walk()
    for one in moments:
        save_image(tmp_path / one.image, np.zeros((SIZE[1], SIZE[0], 3), np.uint8))
    labeller = Labeller("trac")
    rows = labeller.rows(moments)
    details = {one["id"]: one for one in labeller.details}
    assert not [text for row in rows for text in faults(tmp_path, row, details[row.id])]
    assert sum(not row.bad for row in rows) > 20
    found = {row.error for row in rows if row.error is not None}
    assert {ErrorClass.GROUNDING, ErrorClass.PREREQUISITE, ErrorClass.TERMINATION, ErrorClass.SEMANTIC} <= found
    assert [row.to_dict() for row in Labeller("trac").rows(moments)] == [row.to_dict() for row in rows]


def test_what_lies_below_is_scrolled_to() -> None:
    moments = [
        replace(one, elements=(*one.elements, replace(element(9, "Contact"), visible=False, aim=None, below=True)))
        for one in walk()
    ]
    rows = [row for row in Labeller("trac").rows(moments) if "Contact" in row.goal]
    right = [row.proposal.actions[0] for row in rows if not row.bad]
    assert right and all(action.kind is Kind.SCROLL and action.dy > 100 for action in right)
    assert {row.error for row in rows if row.bad} == {ErrorClass.VECTOR}
    assert all(row.proposal.actions[0] not in right for row in rows if row.bad)


def test_faults_are_found(tmp_path: Path) -> None:
    labeller = Labeller("trac")
    row = next(one for one in labeller.rows(walk()) if not one.bad and one.proposal.actions[0].kind is Kind.CLICK)
    detail = next(one for one in labeller.details if one["id"] == row.id)
    assert list(faults(tmp_path, row, detail)) == ["has no picture"]
    save_image(tmp_path / row.image, np.zeros((SIZE[1], SIZE[0], 3), np.uint8))
    assert not list(faults(tmp_path, row, detail))
    assert list(faults(tmp_path, row, detail | {"box": [0, 0, 9, 9]})) == ["is right but lies outside its target"]


@pytest.mark.parametrize("seed", range(8))
def test_wrong_proposals_never_do_the_right_thing(seed: int) -> None:
    rng = random.Random(seed)
    for one in walk():
        planned = one.planned
        names = frozenset({"orders", "title"})
        action, said = (None, "") if planned is None else (planned.action, planned.intent)
        case = Case(one, "goal", action, one.target, said, names)
        for rule in RULES:
            for wrong in rule(case, rng):
                clicks = [a for a in wrong.proposal.actions if a.kind is Kind.CLICK and a.point is not None]
                if one.target is not None and action is not None and action.kind is Kind.CLICK:
                    assert all(one.target.distance(a.point) > 0 for a in clicks if a.point is not None), wrong
                assert wrong.busy or wrong.proposal.actions != (action,), wrong


def test_what_was_begun_and_not_finished_is_left_out() -> None:
    moments = walk()
    assert completed(moments) == moments
    without_text = [one for one in moments if one.number != 2]
    assert [one.number for one in completed(without_text)] == [0, 3]


def test_moments_survive_writing(tmp_path: Path) -> None:
    write_moments(tmp_path, "trac", walk())
    again = read_moments(tmp_path, "trac")
    assert [one.to_dict() for one in again] == [one.to_dict() for one in walk()]


def test_goals_say_each_part_once() -> None:
    rng = random.Random(0)
    said = phrases.goal(["open Orders", "set Title to 'x'", "set Title to 'x'"], "Trac", rng)
    assert said.lower().count("set title") == 1


def test_intents_vary_and_do_not_always_copy_the_label() -> None:
    rng = random.Random(0)
    said = {phrases.intent(element(3, "Save"), rng, SIZE).lower() for _ in range(60)}
    assert len(said) > 20
    assert any("save" not in one and "store" in one for one in said)


def test_figures_count_interruptions_by_application() -> None:
    labeller = Labeller("trac")
    rows = labeller.rows(walk())
    told: list[dict[str, Any]] = [
        {"p_bad": 0.9 if row.bad else 0.1, "error": None, "interrupts": row.bad, "ms": 1.0, "fresh": True}
        for row in rows
    ]
    figures = Figures(rows, told, labeller.details)
    summary = figures.of(np.ones(len(rows), dtype=bool))
    assert (summary["auroc"], summary["recall"], summary["false_interruptions"]) == (1.0, 1.0, 0.0)
    told[next(i for i, row in enumerate(rows) if not row.bad)]["interrupts"] = True
    assert Figures(rows, told, labeller.details).summary()["by_application"]["trac"]["interrupted"] == 1


def test_the_lower_bound_of_a_share() -> None:
    assert lower_bound(0, 100) == 0.0
    assert 0.02 < lower_bound(6, 100) < 0.06
    assert lower_bound(50, 100) > lower_bound(5, 10)


PAGE = """<body style="margin:0"><h3>Shop</h3><label for=n>Full name</label> <input id=n autofocus>
<button id=s disabled>Send</button> <a href="/orders">Orders</a> <button aria-label="Settings">&#9881;</button>
<table><tr><td>Ann Abel</td><td><button>Edit</button></td></tr>
<tr><td>Boris Dahl</td><td><button>Edit</button></td></tr></table>
<button style="position:fixed;left:0;bottom:0;width:200px;height:60px">Hidden</button>
<div style="position:fixed;left:0;bottom:0;width:220px;height:80px;background:#ccc"></div>
<p style="margin-top:800px"><a href="/below">Imprint</a></p></body>"""


def test_the_truth_is_read_off_a_page(browser: Any) -> None:
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    page.set_content(PAGE)
    page.focus("#n")
    told = page.evaluate(READ, 16)
    page.close()
    found = {one["name"]: Element.from_dict(one) for one in told["elements"]}
    assert found["Full name"].editable and found["Full name"].focused and found["Full name"].named_by == "label"
    assert found["Send"].disabled and not found["Send"].usable
    assert found["Orders"].usable and found["Orders"].href == "/orders"
    assert found["Settings"].role == "button" and found["Settings"].usable
    assert found["Hidden"].covered and not found["Hidden"].usable
    assert found["Imprint"].below and not found["Imprint"].visible
    edits = [one for one in told["elements"] if one["name"] == "Edit"]
    assert [(one["group"], one["group_name"]) for one in edits] == [("row", "Ann Abel"), ("row", "Boris Dahl")]
    point = found["Orders"].point
    assert told["grid"][int(point.y // 16)][int(point.x // 16)] == found["Orders"].ref


def test_an_unused_name_is_refused() -> None:
    assert split.is_held_out(split.draw()["held_out"][0])
    with pytest.raises(ValueError, match="is not one of the applications"):
        split.is_held_out("nothing")


def test_targets_of_one_name_are_told_apart_by_their_place() -> None:
    one = replace(element(3, "Save"), group="row", group_name="Ann Abel")
    assert "in the row of Ann Abel" in phrases.intent(one, random.Random(1), SIZE, place=True)


def test_labels_that_the_picture_shows_elsewhere_are_counted(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    boxes = {"Submit": drawn.SUBMIT, "Cancel": drawn.CANCEL}

    def button(ref: int, name: str, moved: int) -> Element:
        left, top, right, _ = boxes[name]
        return Element(ref, "a", "link", name, (left, top - moved, right - left, 40))

    def recorded(number: int, moved: int) -> Moment:
        elements = tuple(button(ref, name, moved) for ref, name in enumerate(boxes))
        return replace(moment(0, None), episode=str(number), image=image, elements=elements)

    image = "images/form.png"
    save_image(tmp_path / image, drawn.form())
    write_moments(tmp_path, "trac", [recorded(0, 0), recorded(1, 300)])
    assert read_in_place(tmp_path, "trac", Ocr()) == {"labels": 4, "read": 2}
