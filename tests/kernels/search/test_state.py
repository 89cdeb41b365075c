"""State is a fold: the same from live events, from the journal and from any split between the two."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.kernels.bench.fake import FakeBench
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.policy import POLICIES, Action
from foretell.kernels.profiles import Budgets
from foretell.kernels.search import Event, Finished, Measured, Round, RunState, StopReason, event_from, load_run
from foretell.kernels.search.load import make_all
from foretell.kernels.store import JournalDamaged, read_journal
from foretell.kernels.store.lines import encode
from tests.kernels.search.world import make_search, small

EXAMPLES = Path(__file__).parents[3] / "examples" / "ask_tell"


def assert_same(a: RunState, b: RunState) -> None:
    left, right = dict(vars(a)), dict(vars(b))
    x, y = left.pop("archive"), right.pop("archive")
    assert a.lessons == b.lessons
    for made_on_demand in ("_lessons", "_taught"):
        del left[made_on_demand], right[made_on_demand]
    assert left == right
    assert (x.ids, x.parents, x.children, x.expansions) == (y.ids, y.parents, y.children, y.expansions)
    for name in ("values", "best_child", "visits"):
        np.testing.assert_array_equal(getattr(x, name), getattr(y, name))


def assert_books_balance(state: RunState) -> None:
    settled = state.measured + state.unbuilt + state.faults + state.trusted + state.dropped
    assert state.considered == len(state.nodes) == settled + len(state.pending)
    assert set(state.known) == {*state.nodes, state.reference.id}
    assert len(state.lessons) == state.measured + state.unbuilt
    for i, node_id in enumerate(state.archive.ids[1:], start=1):
        value = state.nodes[node_id].value
        assert state.archive.values[i] == value or (value is None and math.isnan(state.archive.values[i]))
    speedups = [n.measurement.speedup for n in state.nodes.values() if n.measurement and n.measurement.speedup]
    assert state.incumbent == max([1.0, *speedups])
    paid = [n.measurement.cost.device_s for n in state.nodes.values() if n.measurement and not n.reused]
    assert state.device_s == pytest.approx(sum(paid))


@given(policy=st.sampled_from(POLICIES), seed=st.integers(0, 1000), faulty=st.booleans())
@settings(max_examples=12, deadline=None)
def test_folding_is_applying_is_reading_back(policy: str, seed: int, faulty: bool) -> None:
    live: list[Event] = []

    class Faulty(FakeBench):
        def _measure(self, task, candidate, hopeless_below):  # type: ignore[no-untyped-def]
            if candidate.id[0] in "0123":
                return Measurement(Status.INFRASTRUCTURE, "gone")
            return super()._measure(task, candidate, hopeless_below)

    with TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        bench = Faulty() if faulty else FakeBench()
        profile = small(infrastructure_give_up=1000)
        ended = make_search(
            run_dir, policy, bench=bench, seed=seed, profile=profile, on_event=lambda event, _: live.append(event)
        ).run()
        stored = [event_from(entry.event, entry.payload, entry.details) for entry in read_journal(run_dir).entries]
        assert stored == live
        assert_same(ended, RunState.fold(live))
        assert_same(ended, load_run(run_dir))
    state = RunState()
    for event in live:
        state.apply(event)
        assert_books_balance(state)
        assert event_from(event.name, event.to_payload()) == event
    assert_same(state, ended)


def test_a_run_uses_every_action_and_pays_for_each_candidate_once(tmp_path: Path) -> None:
    bench = FakeBench()
    state = make_search(tmp_path / "run", bench=bench).run()
    assert {node.action for node in state.nodes.values()} == set(Action)
    assert state.trusted > 0
    assert state.audited > 0
    searched = bench.asked[: state.measured]
    assert len(set(searched)) == len(searched)
    assert bench.asked[state.measured :] == state.verified


def test_values_follow_from_what_is_known(tmp_path: Path) -> None:
    state = make_search(tmp_path / "run").run()
    for node in state.nodes.values():
        if node.measurement is not None:
            assert node.value == (node.measurement.log2_speedup if node.measurement.ok else None)
        elif node.action is Action.TRUST:
            assert node.value == node.forecast.median
        else:
            assert node.value is None
    assert state.saved_s == pytest.approx(0.25 * (state.trusted + state.dropped))


@pytest.mark.parametrize("run_dir", sorted(EXAMPLES.glob("*/")), ids=lambda path: path.name)
def test_journals_of_earlier_versions_are_read(run_dir: Path) -> None:
    """Those of the examples hold samples and forecasts as plain numbers."""
    assert '"reference_us":[' in (run_dir / "journal.jsonl").read_text()
    state = load_run(run_dir)
    assert_books_balance(state)
    best = state.best
    assert best is not None and best.verified is not None and best.verified.timings[0].reference_us


def _respoil(run_dir: Path, event: str, spoil: Callable[[dict[str, Any]], None]) -> int:
    """Change the details of the first event of that name, with a valid checksum; return its line, counted from one."""
    path = run_dir / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if json.loads(line)["event"] == event)
    record = json.loads(lines[number])
    del record["crc"]
    spoil(record["details"])
    lines[number] = encode(record)
    path.write_bytes(b"".join(lines))
    return number + 1


SPOILT: tuple[tuple[str, Callable[[dict[str, Any]], None]], ...] = (
    ("round", lambda details: details["children"][0]["candidate"].update(source=7)),
    ("round", lambda details: details["children"][0]["build"].update(features={"registers": "many"})),
    ("round", lambda details: details["children"][0].pop("candidate")),
    ("round", lambda details: details.clear()),
    ("measured", lambda details: details["measurement"].update(samples="AAAA")),
    ("measured", lambda details: details["measurement"].update(method=None)),
)


@pytest.mark.parametrize(("event", "spoil"), SPOILT)
def test_details_that_make_no_sense_are_refused_when_read_and_before_resuming(
    event: str, spoil: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    profile = small(budgets=Budgets(4, 1e6, 12))
    make_search(tmp_path / "run", profile=profile).run()
    line = _respoil(tmp_path / "run", event, spoil)
    state = load_run(tmp_path / "run")
    with pytest.raises(JournalDamaged, match=f"line {line} of .*journal.jsonl is damaged: it cannot be what was"):
        make_all(state)
    with pytest.raises(JournalDamaged, match=f"line {line} of"):
        make_search(tmp_path / "run", profile=profile).resume()


def test_loading_makes_no_source_and_no_samples(tmp_path: Path) -> None:
    make_search(tmp_path / "run").run()
    node = next(node for node in load_run(tmp_path / "run").nodes.values() if node.measurement and node.measurement.ok)
    assert "candidate" not in vars(node) and "conditions" not in vars(node.measurement)
    assert node.candidate.id == node.id and node.candidate.parents == node.parents


def test_events_out_of_place_are_refused(tmp_path: Path) -> None:
    live: list[Event] = []
    make_search(tmp_path / "run", on_event=lambda event, _: live.append(event)).run()
    measured = next(event for event in live if isinstance(event, Measured))
    first_round = next(event for event in live if isinstance(event, Round))
    with pytest.raises(ValueError, match="starts once"):
        RunState.fold([measured])
    with pytest.raises(ValueError, match="starts once"):
        RunState.fold([live[0], live[0]])
    with pytest.raises(ValueError, match="not waiting"):
        RunState.fold([*live[:-1], measured])
    with pytest.raises(ValueError, match="round 0 is out of place"):
        RunState.fold([*live[:-1], first_round])
    with pytest.raises(ValueError, match="the run is finished"):
        RunState.fold([*live, live[-1]])
    resumed = RunState.fold([*live[:-1], Finished(StopReason.INTERRUPTED, None, 0.0), live[-1]])
    assert resumed.finished == live[-1]
    with pytest.raises(ValueError, match="unknown event 'coffee'"):
        event_from("coffee", {})
