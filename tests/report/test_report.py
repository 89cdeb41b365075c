from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from foretell.cli.summary import print_summary, summary_document
from foretell.kernels.measurement import Status
from foretell.kernels.search import Event, Measured, Round, RunState, Verified
from foretell.report import render_report, write_report
from foretell.report.candidates import KINDS
from foretell.report.conditions import contention, disagreement, measurements_of
from foretell.report.fates import failures, fates
from foretell.report.page import build_page
from tests.report.synthetic import World, events_of_a_run, events_of_failures, failed, state_of, write_run

VOID = {"meta", "input", "col", "br", "link", "img", "hr"}


class Reader(HTMLParser):
    """Checks that tags nest, and collects text and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "script" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def unfinished() -> list[Event]:
    return events_of_a_run(rounds=3, verify=False)[:25]


def one_measurement() -> list[Event]:
    return events_of_a_run(rounds=1, verify=False)[:3]


RUNS: dict[str, Callable[[], list[Event]]] = {
    "whole": events_of_a_run,
    "started": lambda: [World().started()],
    "failures": events_of_failures,
    "unfinished": unfinished,
    "one": one_measurement,
}


@pytest.fixture(scope="module")
def whole() -> RunState:
    return state_of(events_of_a_run())


@pytest.mark.parametrize("name", RUNS)
def test_every_run_becomes_a_page_that_stands_alone(name: str) -> None:
    html = render_report(state_of(RUNS[name]()), run="runs/softmax-1")
    page = Reader(html)
    assert not re.search(r"(?:https?:)?//[a-z0-9-]+\.", html), "refers to something outside"
    assert "http" not in html and "@import" not in html and "url(" not in html
    assert not {"link", "img", "iframe", "object"} & set(page.tags)
    assert not [a for a in page.attributes if a[1] in ("src", "href", "xlink:href", "action")]
    assert page.tags["h1"] == 1 and page.tags["h2"] == 9
    ids = [value for _, attribute, value in page.attributes if attribute == "id"]
    assert len(ids) == len(set(ids))
    assert not re.search(r"\bNone\b(?! of )|\bnan\b", page.text), "a value that is not there was printed"


def test_headline_figures_and_winner(whole: RunState) -> None:
    page = build_page(whole)
    best = whole.best
    assert best is not None and best.verified is not None and best.verified.speedup is not None
    assert page.speedup == f"{best.verified.speedup:.2f}"
    assert "verified" in page.lead and "Example CPU x8" in page.lead
    assert page.figures[0].value == str(whole.measured)
    assert page.figures[0].of == f"of {whole.considered} considered"
    assert page.top[0].best and page.top[0].speedup == f"{page.speedup}×"
    assert len(page.top[0].workloads) == len(page.workloads) == 3


def test_the_winning_source_is_shown_beside_the_reference(whole: RunState) -> None:
    text = Reader(render_report(whole)).text
    assert whole.best is not None
    for line in (*whole.best.candidate.source.splitlines(), *whole.reference.source.splitlines()):
        assert " ".join(line.split()) in text


def test_what_comes_from_candidates_is_escaped(whole: RunState) -> None:
    html = render_report(whole)
    assert "worst 0.4 &lt;b&gt;" in html and "worst 0.4 <b>" not in html


def test_every_candidate_has_one_fate(whole: RunState) -> None:
    found = {fate.key: fate.count for fate in fates(whole)}
    assert sum(found.values()) == whole.considered
    assert found["measured"] + found["audited"] == whole.measured
    assert (found["trusted"], found["dropped"], found["broken"]) == (whole.trusted, whole.dropped, whole.unbuilt)
    assert sum(failure.count for failure in failures(whole)) == sum(whole.failures.values())


def test_every_decision_is_listed_with_its_reason(whole: RunState) -> None:
    page = build_page(whole)
    rows = [row for round_ in page.rounds for row in round_.rows]
    assert len(rows) == whole.considered
    assert {row.reason for row in rows} == {node.reason for node in whole.nodes.values()}


def test_audits_are_judged(whole: RunState) -> None:
    page = build_page(whole)
    assert len(page.audits) == whole.audited > 0
    assert f"{whole.audited} (" in page.audit_story


def test_a_run_in_which_all_failed_says_so() -> None:
    page = build_page(state_of(events_of_failures()))
    assert page.speedup == "" and page.progress is None and page.diff is None
    assert "None of the" in page.lead
    assert {failure.label for failure in page.failures} >= {"wrong result", "crashed", "took too long", "cheated"}


def test_a_run_without_measurements_says_so() -> None:
    page = build_page(state_of([World().started()]))
    assert "Nothing has been measured" in page.lead
    assert page.ruler is None and page.scatter is None and page.top == ()


def test_an_unfinished_run_tells_how_to_go_on() -> None:
    page = build_page(state_of(unfinished()), run="runs/softmax-7")
    assert "foretell search softmax --resume runs/softmax-7" in page.notices[0]
    assert "waiting" in {fate.key for fate in page.fates}


def test_a_winner_that_did_not_hold_up_is_not_the_winner() -> None:
    events = events_of_a_run()
    at, first = next((i, event) for i, event in enumerate(events) if isinstance(event, Verified))
    events[at] = Verified(first.id, failed(Status.WRONG, "wrong on fresh inputs"))
    state = state_of(events)
    assert state.best is not None and state.best.id != first.id
    assert first.id[:8] not in {row.id for row in build_page(state).top}


def test_a_winner_whose_interval_reaches_below_one_is_not_announced() -> None:
    events = [replace_interval(event) if isinstance(event, Verified) else event for event in events_of_a_run()]
    state = state_of(events)
    page = build_page(state)
    assert state.best is not None and not state.shown_faster
    assert page.speedup == "" and page.no_speedup == "Not shown to be faster"
    assert page.title == "softmax"
    assert "No candidate is shown to be faster" in page.lead


def replace_interval(event: Verified) -> Verified:
    return Verified(event.id, replace(event.measurement, low=0.4))


def test_contention_is_told() -> None:
    quiet = {"load": 0.2, "cores": 2, "others": 0.01, "pairs": 15, "retaken": 0, "disturbed": False}
    busy = {"load": 14.2, "cores": 2, "others": 0.87, "pairs": 15, "retaken": 8, "disturbed": True}
    events = events_of_a_run()
    for conditions, words in ((quiet, ""), (busy, "load 14 on 2 cores, up to 87 % of them used by others")):
        timed = [
            Measured(e.id, replace(e.measurement, conditions=conditions)) if isinstance(e, Measured) else e
            for e in events
        ]
        state = state_of(timed)
        said = contention(measurements_of(state))
        assert said.startswith(words) and bool(said) == bool(words)
        assert any("Other processes used this machine" in notice for notice in build_page(state).notices) == bool(words)


def test_the_catalogue_is_spoken_of_only_where_it_is_used() -> None:
    busy = {"load": 14.2, "cores": 2, "others": 0.87, "pairs": 15, "retaken": 8, "disturbed": True}
    state = state_of([
        Measured(e.id, replace(e.measurement, conditions=busy)) if isinstance(e, Measured) else e
        for e in events_of_a_run()
    ])  # fmt: skip
    for uses in (True, False):
        stream = StringIO()
        print_summary(Console(file=stream, width=1000), state, Path("run"), None, uses_catalogue=uses)
        assert ("not kept in the catalogue" in stream.getvalue()) == uses


def test_the_summary_says_how_candidates_failed_and_what_was_reused() -> None:
    state = state_of([
        replace(e, reused=True) if isinstance(e, Measured) and e.measurement.ok else e for e in events_of_a_run()
    ])  # fmt: skip
    stream = StringIO()
    print_summary(Console(file=stream, width=1000), state, Path("run"), None, wall_s=164.0)
    text = stream.getvalue()
    kinds = ", ".join(f"{number} {KINDS[status]}" for status, number in state.failures.most_common())
    assert kinds and f"{sum(state.failures.values())} failed ({kinds})" in text
    assert "first measured in an earlier run" in text and "in 2 min 44 s of wall time" in text


def test_winners_that_do_not_repeat_are_told() -> None:
    def ended(conditions: Mapping[str, bool], speedup: float, low: float, high: float) -> RunState:
        return state_of([
            Verified(e.id, replace(e.measurement, conditions=conditions, speedup=speedup, low=low, high=high))
            if isinstance(e, Verified)
            else e
            for e in events_of_a_run()
        ])  # fmt: skip

    assert disagreement(ended({"disagree": False}, speedup=1.0, low=0.01, high=100.0)) == ""
    state = ended({"disagree": True}, low=50.0, speedup=51.0, high=52.0)
    number = len(state.verified)
    said = disagreement(state)
    assert f"{number} contradict their first measurement" in said
    assert f"{number} differ between processes" in said
    assert any(said in notice for notice in build_page(state).notices)
    assert summary_document(state, Path("run"), None)["disagreement"] == said


@pytest.mark.parametrize(("trust", "words"), [
    ("live", "live: timed from outside while its host code ran"), ("in process", "in the process of its host code"),
    ("replay", ""), (None, ""),
])  # fmt: skip
def test_a_winner_that_was_not_replayed_is_announced_as_such(trust: str | None, words: str) -> None:
    conditions = {} if trust is None else {"trust": trust}
    events = [
        replace(e, measurement=replace(e.measurement, conditions=conditions))
        if isinstance(e, Measured | Verified)
        else e
        for e in events_of_a_run()
    ]
    state = state_of(events)
    page = build_page(state)
    assert state.best is not None
    summary = summary_document(state, Path("run"), None)
    assert summary["best"]["trust"] == trust
    stream = StringIO()
    print_summary(Console(file=stream, width=1000), state, Path("run"), None)
    for text in (page.lead, page.top[0].note, stream.getvalue()):
        assert (words.lower() in text.lower()) if words else ("host code" not in text)


def test_a_fault_of_the_machine_is_told_and_not_counted() -> None:
    events = events_of_a_run(rounds=1, verify=False)
    at = next(i for i, event in enumerate(events) if isinstance(event, Measured))
    measured = events[at]
    assert isinstance(measured, Measured)
    events[at] = Measured(measured.id, failed(Status.INFRASTRUCTURE, "the reference failed"))
    state = state_of(events)
    page = build_page(state)
    assert any("machine failed" in notice for notice in page.notices)
    assert page.figures[0].value == str(state.measured)


def test_written_whole_with_its_clock(tmp_path: Path) -> None:
    events = events_of_a_run(rounds=2)
    run = write_run(tmp_path / "run", events)
    path = write_report(state_of(events), tmp_path / "deep" / "report.html", run)
    text = Reader(path.read_text(encoding="utf-8")).text
    assert "21 September 2026" in text and "Deciding" in text
    assert f"{len(events) - 1} s" in text or "min" in text
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_an_unknown_task_is_still_readable() -> None:
    events = events_of_a_run(rounds=1)
    started = World().started()
    renamed = type(started)({**started.config, "task": "gone"}, started.device, started.reference, started.version)
    page = build_page(state_of([renamed, *events[1:]]))
    assert page.task == "gone" and page.summary == ""


def test_rounds_are_in_order() -> None:
    events = events_of_a_run(rounds=3)
    assert [r.number for r in build_page(state_of(events)).rounds] == [1, 2, 3]
    assert sum(isinstance(event, Round) for event in events) == 3
