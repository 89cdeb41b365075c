"""Rows of real applications as tables: made once, made again where something changed, with what a moment said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from benchmarks.apps.described import FOLDER, LINES, KeptReader, described, digest_of
from benchmarks.apps.evidence import evidence_at
from benchmarks.apps.label import AMOUNTS, Labeller, write_details
from benchmarks.apps.moment import write_moments
from benchmarks.apps.unclicked import unclicked_rows
from foretell.gui.actions import Kind, Point
from foretell.gui.dataset import save_image, write_rows
from foretell.gui.described import Shown
from tests.gui.drawn import form
from tests.gui.test_apps import moment, walk


def test_a_moment_says_what_lies_at_a_point_and_in_view() -> None:
    found = evidence_at(moment(0, None), [Point(95, 55), Point(5, 5), Point(495, 295)])
    assert found.at[Point(95, 55)].name == "Orders" and Point(5, 5) not in found.at
    assert found.at[Point(495, 295)].disabled and found.focused is None
    assert found.seen is not None and {one.name for one in found.seen} >= {"Orders", "Send"}


def test_rows_are_described_once(tmp_path: Path) -> None:
    moments = walk()
    for one in moments:
        save_image(tmp_path / one.image, form())
    labeller = Labeller("trac")
    rows = sorted(labeller.rows(moments)[:6], key=lambda row: row.image)
    write_moments(tmp_path, "trac", moments)
    write_details(tmp_path, labeller.details)
    write_rows(tmp_path, rows)
    first = described(tmp_path, rows, say=lambda text: None)
    assert len(first.bad) == 2 * len(rows) and "page.known" in first.names
    assert not any(name.startswith("page.") for name in first.without("page.").names)
    (tmp_path / rows[0].image).unlink()
    again = described(tmp_path, rows, say=lambda text: None)
    assert np.array_equal(first.table, again.table, equal_nan=True) and again.ids.tolist() == first.ids.tolist()
    assert digest_of(rows) != digest_of(rows[1:])
    assert isinstance(again, Shown) and len(KeptReader(tmp_path / FOLDER / LINES)._lines) > 0


def test_more_is_proposed_where_few_moments_are_known() -> None:
    counts = [sum(not row.bad for row in Labeller("trac", amount).rows(walk())) for amount in AMOUNTS]
    assert counts == sorted(counts) and counts[-1] > counts[0]


def test_typing_without_a_click_keeps_the_screen_and_loses_the_click() -> None:
    moments = walk()
    title = replace(moments[2].elements[6], focused=True)
    moments[2] = replace(moments[2], elements=(*moments[2].elements[:6], title, *moments[2].elements[7:]))
    labeller = Labeller("trac")
    rows = labeller.rows(moments)
    details = {one["id"]: one for one in labeller.details}
    known = {("trac", one.episode, one.number): one for one in moments}
    found = list(unclicked_rows(rows, details, known))
    assert found
    for row in found:
        whole = next(one for one in rows if one.id == row.id)
        assert not row.bad
        assert row.proposal.actions[0].kind is Kind.TYPE
        assert row.image == whole.image
        assert row.history.steps == whole.history.steps[:-1]
    moments[2] = replace(moments[2], elements=walk()[2].elements)
    unfocused = {("trac", one.episode, one.number): one for one in moments}
    assert not list(unclicked_rows(rows, details, unfocused))
