"""Crossover and mutation of knobs: children take their knobs from two parents, or move one knob by a step."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from foretell.kernels.candidate import Candidate
from foretell.kernels.propose.template import Space, Template
from foretell.kernels.task import Task

CROSSED_SHARE = 0.5  # of the children, where there are two parents that differ
MOVED_SHARE = 0.3  # of the crossed children, which have one knob moved too: what neither parent has can come up
TRIES = 24
NEAREST_TUPLES = 3

_Knobs = dict[str, Any]


class CrossoverProposer:
    """A proposer over one template's candidates. Parents without its knobs have random draws as children."""

    name = "crossover"

    def __init__(self, template: Template) -> None:
        self._template = template
        self._space = Space(template)
        self._steps = {
            name: {value: neighbours(value, values) for value in values} for name, values in template.knobs.items()
        }

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        """Share `count` among the parents; where what can be made of them is used up, draw anywhere.

        Empty only when every setting of the template is in `known`, and nothing new was found beyond them.
        """
        knobs = {parent.id: turned for parent in parents if (turned := self._template.turned(parent)) is not None}
        taken = set(known)
        found: list[Candidate] = []
        for turn in range(count):
            parent = parents[turn % len(parents)]
            child = self._made(parent, knobs, rng, taken) or self._moved(parent, knobs, rng, taken)
            child = child or self._space.unseen(parent, rng, taken)
            if child is None:
                break
            taken.add(child.id)
            found.append(child)
        return found

    def _made(
        self, parent: Candidate, knobs: dict[str, _Knobs], rng: np.random.Generator, taken: Collection[str]
    ) -> Candidate | None:
        """A child by chance: crossed with another parent, or with one knob moved."""
        own = knobs.get(parent.id)
        if own is None:
            return None
        mates = [mate for mate, theirs in knobs.items() if theirs != own]
        for _ in range(TRIES):
            if mates and rng.random() < CROSSED_SHARE:
                mate = mates[int(rng.integers(len(mates)))]
                chosen = crossed(own, knobs[mate], rng)
                if rng.random() < MOVED_SHARE:
                    chosen = self._step(chosen, rng)
                above: tuple[str, ...] = (parent.id, mate)
            else:
                chosen, above = self._step(own, rng), (parent.id,)
            if self._template.valid(chosen):
                child = self._template.candidate(chosen, above)
                if child.id not in taken:
                    return child
        return None

    def _step(self, knobs: _Knobs, rng: np.random.Generator) -> _Knobs:
        """The knobs with one of them moved to a neighbouring value."""
        movable = [name for name, value in knobs.items() if self._steps[name][value]]
        if not movable:
            return knobs
        name = movable[int(rng.integers(len(movable)))]
        near = self._steps[name][knobs[name]]
        return {**knobs, name: near[int(rng.integers(len(near)))]}

    def _moved(
        self, parent: Candidate, knobs: dict[str, _Knobs], rng: np.random.Generator, taken: Collection[str]
    ) -> Candidate | None:
        """Any child that is one step away from its parent and not taken: chance may have missed the last of them."""
        own = knobs.get(parent.id)
        steps = [] if own is None else [(name, near) for name, at in own.items() for near in self._steps[name][at]]
        for index in rng.permutation(len(steps)).tolist():
            name, near = steps[index]
            chosen = {**(own or {}), name: near}
            if self._template.valid(chosen):
                child = self._template.candidate(chosen, (parent.id,))
                if child.id not in taken:
                    return child
        return None


def crossed(one: _Knobs, other: _Knobs, rng: np.random.Generator) -> _Knobs:
    """Each knob from one of the two by the toss of a coin; at least one from each where they differ in two or more."""
    differing = [name for name in one if one[name] != other[name]]
    if len(differing) < 2:
        return dict(one)
    swapped = rng.random(len(differing)) < 0.5
    if swapped.all() or not swapped.any():
        swapped[int(rng.integers(len(differing)))] ^= True
    return {**one, **{name: other[name] for name, swap in zip(differing, swapped, strict=True) if swap}}


def neighbours(value: Any, values: Sequence[Any]) -> list[Any]:
    """The values one step from a value: the next smaller and larger number, the nearest tuples, any other word."""
    others = [other for other in values if other != value]
    if all(_is_number(one) for one in values):
        below, above = [one for one in others if one < value], [one for one in others if one > value]
        return [*([max(below)] if below else []), *([min(above)] if above else [])]
    if all(isinstance(one, tuple) and len(one) == len(value) and all(map(_is_number, one)) for one in values):
        return sorted(others, key=lambda one: _distance(one, value))[:NEAREST_TUPLES]
    return others


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _distance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """How many doublings lie between two tuples."""
    return sum(abs(math.log2((1 + a) / (1 + b))) for a, b in zip(one, other, strict=True))
