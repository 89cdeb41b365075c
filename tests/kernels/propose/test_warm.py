"""A warm start: the fastest of a catalogue come first, once, and a run started so is resumed as it would have gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.bench.fake import FAKE_DEVICE, FakeProposer
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.propose.cpp import templates
from foretell.kernels.propose.template import TemplateProposer
from foretell.kernels.propose.warm import WarmProposer, best_of
from foretell.kernels.protocols import Build, Proposer
from foretell.kernels.store import Catalogue
from foretell.kernels.task import Task
from foretell.testing.conformance import ProposerConformance
from tests.kernels.search.world import TASK, journal_of, make_search

OTHER = replace(FAKE_DEVICE, name="another")
REFERENCE = Candidate(TASK.name, "cpp", TASK.references["cpp"], Origin("reference"))
TEMPLATE = templates()[TASK.name]
SETTINGS = TEMPLATE.settings()


def made(i: int) -> Candidate:
    return TEMPLATE.candidate(SETTINGS[i])


def outcome(speedup: float) -> Measurement:
    return Measurement(Status.OK, speedup=speedup, low=speedup, high=speedup)


@pytest.fixture
def known(tmp_path: Path) -> Catalogue:
    """Candidates 0 to 5 measured here, each faster than the one before, 4 to 9 elsewhere, the other way round."""
    catalogue = Catalogue(tmp_path / "catalogue.sqlite", fsync=False)
    for i in range(6):
        catalogue.put(TASK, made(i), Build(Status.OK), FAKE_DEVICE, outcome(1.0 + i))
    for i in range(4, 10):
        catalogue.put(TASK, made(i), Build(Status.OK), OTHER, outcome(20.0 - i))
    catalogue.put(TASK, made(10), Build(Status.OK), OTHER, Measurement(Status.WRONG))
    catalogue.put(TASK, Candidate(TASK.name, "triton", "x = 1"), Build(Status.OK), OTHER, outcome(99.0))
    return catalogue


class TestWarm(ProposerConformance):
    @pytest.fixture
    def task(self) -> Task:
        return TASK

    @pytest.fixture
    def proposer(self) -> Proposer:
        return WarmProposer(TemplateProposer(TEMPLATE), [made(3), made(1)])


def test_devices_take_turns_and_this_one_is_first(known: Catalogue) -> None:
    best = best_of(known, TASK, "cpp", FAKE_DEVICE, 5)
    assert [one.id for one in best] == [made(i).id for i in (5, 4, 3, 6, 2)]
    assert [one.origin.detail["catalogue_device"] for one in best[:2]] == [FAKE_DEVICE.id, OTHER.id]
    assert [one.origin.detail["catalogue_speedup"] for one in best[:2]] == [6.0, 16.0]
    assert best[0].origin.kind == "template" and best[0].origin.detail["knobs"] == SETTINGS[5]
    assert best_of(known, replace(TASK, name="other"), "cpp", FAKE_DEVICE) == []


def test_a_task_defined_anew_starts_cold(known: Catalogue) -> None:
    changed = replace(TASK, tolerance=replace(TASK.tolerance, relative=TASK.tolerance.relative / 2))
    assert best_of(known, changed, "cpp", FAKE_DEVICE) == []


def test_they_come_in_the_first_round_only_and_have_neighbours() -> None:
    proposer = WarmProposer(TemplateProposer(TEMPLATE), [made(3), made(-1), made(-2)])
    first = proposer.propose(TASK, [REFERENCE], 5, np.random.default_rng(0), {REFERENCE.id})
    assert [one.id for one in first[:3]] == [made(i).id for i in (3, -1, -2)] and len(first) == 5
    assert all(one.parents == (REFERENCE.id,) for one in first)
    later = {REFERENCE.id, made(3).id}
    second = proposer.propose(TASK, [made(3)], 4, np.random.default_rng(0), later)
    knobs = [one.origin.detail["knobs"] for one in second]
    assert all(sum(a != b for a, b in zip(k.values(), SETTINGS[3].values(), strict=True)) <= 2 for k in knobs)
    assert not {one.id for one in second} & {made(-1).id, made(-2).id}


def test_a_small_round_takes_the_fastest() -> None:
    proposer = WarmProposer(TemplateProposer(TEMPLATE), [made(3), made(1)])
    [only] = proposer.propose(TASK, [REFERENCE], 1, np.random.default_rng(0), {REFERENCE.id})
    assert only.id == made(3).id


def test_an_inner_proposer_is_informed() -> None:
    class Informed(FakeProposer):
        told: object = None

        def inform(self, state: object) -> None:
            self.told = state

    inner = Informed(TASK.name)
    WarmProposer(inner, ()).inform("state")
    WarmProposer(FakeProposer(TASK.name), ()).inform("state")
    assert inner.told == "state"


def test_a_search_begins_with_them_and_is_resumed_as_it_would_have_gone(tmp_path: Path, known: Catalogue) -> None:
    def proposer() -> Proposer:
        return WarmProposer(FakeProposer(TASK.name), best_of(known, TASK, "cpp", FAKE_DEVICE, 4))

    def killer(at: int) -> Callable[..., None]:
        events = iter(range(1, at))

        def on_event(*_: object) -> None:
            if next(events, None) is None:
                raise RuntimeError

        return on_event

    state = make_search(tmp_path / "whole", proposer=proposer()).run()
    assert {made(i).id for i in (5, 4, 3, 6)} <= {node.id for node in state.nodes.values() if node.round == 0}
    killed = {at: make_search(tmp_path / f"{at}", proposer=proposer(), on_event=killer(at)) for at in (2, 9)}
    known.put(TASK, made(20), Build(Status.OK), FAKE_DEVICE, outcome(50.0))  # someone else's, meanwhile
    for at, search in killed.items():
        with pytest.raises(RuntimeError):
            search.run()
        make_search(tmp_path / f"{at}", proposer=proposer()).resume()
        assert journal_of(tmp_path / f"{at}") == journal_of(tmp_path / "whole")
