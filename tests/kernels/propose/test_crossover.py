"""Crossover and mutation: children of two parents, steps to neighbouring values, nothing twice."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.kernels import library
from foretell.kernels.bench.fake import fake_template
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.propose.crossover import CrossoverProposer, crossed, neighbours
from foretell.kernels.propose.names import NoTemplate, make_proposer, templates_of
from foretell.kernels.propose.template import Template, TemplateProposer
from foretell.kernels.protocols import Proposer
from foretell.kernels.task import Task
from foretell.testing.conformance import ProposerConformance, as_read

SOFTMAX = library.get("softmax")
REFERENCE = Candidate("softmax", "cpp", SOFTMAX.references["cpp"], Origin("reference"))


class TestRealTemplate(ProposerConformance):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return make_proposer("crossover", SOFTMAX, "cpp")

    @pytest.fixture
    def task(self) -> Task:
        return SOFTMAX


class TestFakeTemplate(ProposerConformance):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return CrossoverProposer(fake_template("softmax", knobs=6, values=4))

    @pytest.fixture
    def task(self) -> Task:
        return SOFTMAX


def draw(proposer: CrossoverProposer, parents: list[Candidate], count: int, seed: int = 0) -> list[Candidate]:
    return proposer.propose(SOFTMAX, parents, count, np.random.default_rng(seed), {parent.id for parent in parents})


def test_children_take_knobs_of_both_parents_or_move_one_by_a_step() -> None:
    template = fake_template("softmax", knobs=5, values=6)
    one, other = (template.candidate({f"k{i}": value for i in range(5)}) for value in (0, 5))
    children = draw(CrossoverProposer(template), [one, other], 16)
    assert len(children) == 16
    mixed, moved = 0, 0
    for child in children:
        values = child.origin.detail["knobs"].values()
        if child.parents in ((one.id, other.id), (other.id, one.id)):
            mixed += 1
            assert {0, 5} & set(values)
            assert sum(value in (1, 4) for value in values) <= 1, "more than one knob was moved"
        else:
            moved += 1
            [parent] = child.parents
            start = 0 if parent == one.id else 5
            assert sorted(abs(value - start) for value in values) == [0] * 4 + [1]
    assert mixed >= 4
    assert moved >= 4


def test_neighbours() -> None:
    assert neighbours(256, (256, 128, 512, 1024)) == [128, 512]
    assert neighbours(1024, (256, 128, 512, 1024)) == [512]
    assert neighbours(True, (False, True)) == [False]
    assert neighbours("b", ("a", "b", "c")) == ["a", "c"]
    assert neighbours("plain", ("plain", 8, 32)) == [8, 32]
    assert neighbours((64, 64), ((64, 64), (1024, 4), (64, 128), (32, 64), (256, 256)))[:2] == [(32, 64), (64, 128)]
    assert neighbours(7, (7,)) == []


def test_crossing_needs_two_differences() -> None:
    rng = np.random.default_rng(0)
    assert crossed({"a": 1, "b": 2}, {"a": 1, "b": 3}, rng) == {"a": 1, "b": 2}
    seen = {tuple(crossed({"a": 1, "b": 2}, {"a": 3, "b": 4}, rng).values()) for _ in range(50)}
    assert seen == {(1, 4), (3, 2)}


def test_proposes_every_setting_once_and_then_nothing() -> None:
    template = fake_template("softmax", knobs=3, values=3)
    proposer, known, parents, found = CrossoverProposer(template), {REFERENCE.id}, [REFERENCE], 0
    rng = np.random.default_rng(1)
    while batch := proposer.propose(SOFTMAX, parents, 5, rng, known):
        known |= {child.id for child in batch}
        found += len(batch)
        parents = batch[:2]
    assert found == 27


@pytest.mark.parametrize("kind", [TemplateProposer, CrossoverProposer])
def test_tuples_come_back_from_the_journal_as_they_were(kind: type[TemplateProposer] | type[CrossoverProposer]) -> None:
    template = templates_of("triton")["matmul"]
    parent = template.candidate(template.settings()[0])
    again = Candidate.from_dict(as_read(parent.to_dict()))
    assert template.turned(again) == template.turned(parent) == template.settings()[0]
    task = library.get("matmul", "gpu")
    first, second = (
        kind(template).propose(task, [one], 8, np.random.default_rng(0), {parent.id}) for one in (parent, again)
    )
    assert first == second
    assert all(isinstance(child.origin.detail["knobs"]["tile"], tuple) for child in first)


def test_knobs_of_another_template_are_nobodys() -> None:
    template = fake_template("softmax", knobs=3, values=2)
    for knobs in ({"k0": 0}, {"k0": 0, "k1": 0, "k2": 9}, "nonsense"):
        stranger = Candidate("softmax", "cpp", "int x;", Origin("template", {"knobs": knobs}))
        assert template.turned(stranger) is None
        assert draw(CrossoverProposer(template), [stranger], 2)


def test_names() -> None:
    assert isinstance(make_proposer("template", SOFTMAX, "cpp"), TemplateProposer)
    with pytest.raises(ValueError, match="choose one of template, crossover"):
        make_proposer("wizard", SOFTMAX, "cpp")
    with pytest.raises(NoTemplate, match="no template in torch"):
        make_proposer("crossover", SOFTMAX, "torch")
    assert isinstance(templates_of("cuda")["softmax"], Template)
