"""Templates: programs with structural knobs, and the proposer that turns and mutates the knobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.task import Task

Knobs = Mapping[str, Any]
BEYOND_TRIES = 96
RARE = 0.25  # a value that fewer settings have than this share of what each value would have if all had as many


def _always(_: Knobs) -> bool:
    return True


@dataclass(frozen=True)
class Template:
    """One family of programs for one task in one language.

    `knobs` maps a knob to its values, first value plainest; `render` turns chosen knobs into source text, without
    comments or names that tell how good the choice is. `valid` rejects senseless combinations, and bounds the space
    that plans of a corpus draw from; a search may go past it (see `Space.beyond`).
    """

    task: str
    language: str
    knobs: Mapping[str, tuple[Any, ...]]
    render: Callable[[Knobs], str]
    valid: Callable[[Knobs], bool] = _always

    def candidate(self, knobs: Knobs, parents: tuple[str, ...] = ()) -> Candidate:
        origin = Origin("template", {"knobs": dict(knobs)})
        return Candidate(self.task, self.language, self.render(knobs), origin, parents)

    def turned(self, candidate: Candidate) -> dict[str, Any] | None:
        """The knobs that a candidate of this template was made with; None where it is of another origin.

        A journal gives tuples back as lists: the values are the template's own.
        """
        knobs = candidate.origin.detail.get("knobs")
        return self.own_knobs(knobs) if candidate.origin.kind == "template" and isinstance(knobs, Mapping) else None

    def own_knobs(self, knobs: Knobs) -> dict[str, Any] | None:
        """The template's own knobs and values in the place of equal ones; None where it has no such ones."""
        if knobs.keys() != self.knobs.keys():
            return None
        found = {}
        for name, values in self.knobs.items():
            kept = tuple(knobs[name]) if isinstance(knobs[name], list) else knobs[name]
            if kept not in values:
                return None
            found[name] = values[values.index(kept)]
        return found

    def settings(self) -> list[dict[str, Any]]:
        """Every valid combination of knobs, in a fixed order: the last knob turns fastest.

        Knobs multiply to millions of combinations, so they are turned only as `valid` asks for them: what it refuses
        after looking at three knobs is refused for all settings of the others.
        """
        names = list(self.knobs)
        found: list[tuple[int, ...]] = []
        chosen, turned = _Chosen(self.knobs), dict[str, int]()

        def explore() -> None:
            try:
                good = self.valid(chosen)
            except _NotChosen as asked:
                name = str(asked)
                for turn, value in enumerate(self.knobs[name]):
                    turned[name], chosen[name] = turn, value
                    explore()
                del turned[name], chosen[name]
                return
            if good:
                turns = ((turned[n],) if n in turned else range(len(self.knobs[n])) for n in names)
                found.extend(itertools.product(*turns))

        explore()
        return [{n: self.knobs[n][turn] for n, turn in zip(names, turns, strict=True)} for turns in sorted(found)]


class _NotChosen(Exception):
    """A knob was looked at that has not been turned yet."""


class _Chosen(dict[str, Any]):
    """Knobs of which some have been turned; looking at another, or at all of them, says which is missing.

    A dict, because most settings are refused and looking at knobs is most of the work.
    """

    def __init__(self, knobs: Mapping[str, tuple[Any, ...]]) -> None:
        super().__init__()
        self._knobs = knobs

    def __missing__(self, name: str) -> Any:
        raise _NotChosen(name) if name in self._knobs else KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._knobs

    def __len__(self) -> int:
        return len(self._knobs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._knobs else default

    def keys(self) -> Any:
        return self._whole().keys()

    def values(self) -> Any:
        return self._whole().values()

    def items(self) -> Any:
        return self._whole().items()

    def _whole(self) -> dict[str, Any]:
        return {name: self[name] for name in self._knobs}


def load_templates(package: str) -> dict[str, Template]:
    """The templates of a language by task name: those in the tuples `TEMPLATES` of the package's modules."""
    found = iter_modules(import_module(package).__path__)
    modules = (import_module(f"{package}.{module.name}") for module in found)
    return {template.task: template for module in modules for template in getattr(module, "TEMPLATES", ())}


class Space:
    """The candidates of a template: first its settings, then combinations of knobs that `valid` leaves out."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.settings = template.settings()
        self._ids: dict[int, str] = {}

    def unseen(self, parent: Candidate, rng: np.random.Generator, taken: Collection[str]) -> Candidate | None:
        """Any setting that is not in `taken`; once all are, what `beyond` finds. None if it finds nothing."""
        for index in rng.permutation(len(self.settings)).tolist():
            if self._ids.get(index) in taken:
                continue
            child = self.template.candidate(self.settings[index], (parent.id,))
            self._ids[index] = child.id
            if child.id not in taken:
                return child
        return self.beyond(parent, rng, taken)

    @cached_property
    def _common(self) -> dict[str, tuple[Any, ...]]:
        """The values of each knob that are not rare among the settings."""
        found = {}
        for name, values in self.template.knobs.items():
            counts = [sum(setting[name] == value for setting in self.settings) for value in values]
            least = RARE * len(self.settings) / len(values)
            found[name] = tuple(value for value, count in zip(values, counts, strict=True) if count >= least)
        return found

    @cached_property
    def _sound(self) -> list[dict[str, Any]]:
        return [setting for setting in self.settings if self._is_sound(setting)]

    def _is_sound(self, knobs: Knobs) -> bool:
        return all(value in self._common[name] for name, value in knobs.items())

    def beyond(self, parent: Candidate, rng: np.random.Generator, taken: Collection[str]) -> Candidate | None:
        """A new program by knobs that `valid` leaves out: one to three turned from the parent's, or from a setting's.

        Rare values are left alone: those are the mistakes that templates make on purpose, for a corpus to have
        failures. Some of the others make no sense. Those that cannot be rendered, or give a text that is taken, are
        passed over; the bench judges the rest as it judges every candidate.
        """
        own = self.template.turned(parent)
        near = own if own is not None and self._is_sound(own) else None
        for attempt in range(BEYOND_TRIES if self._sound else 0):
            start = near if near is not None and attempt % 2 == 0 else self._sound[int(rng.integers(len(self._sound)))]
            changed = turned_further(start, self._common, rng)
            if self.template.valid(changed):
                continue
            try:
                child = self.template.candidate(changed, (parent.id,))
            except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
                continue
            if child.id not in taken:
                return child
        return None


def turned_further(knobs: Knobs, values: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    """The knobs with one to three of them at another of these values."""
    changed = dict(knobs)
    free = [name for name in values if len(values[name]) > 1]
    for name in rng.permutation(free)[: 1 + int(rng.integers(3))].tolist():
        others = [value for value in values[name] if value != knobs[name]]
        changed[name] = others[int(rng.integers(len(others)))]
    return changed


class TemplateProposer:
    """Children of a template's candidate differ in one or two knobs; children of anything else are random draws."""

    name = "template"

    def __init__(self, template: Template) -> None:
        self._template = template
        self._space = Space(template)

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        """Share `count` among the parents; where a parent's neighbourhood is used up, draw anywhere.

        Empty only when every setting of the template is in `known`, and nothing new was found beyond them.
        """
        taken = set(known)
        found: list[Candidate] = []
        for turn in range(count):
            parent = parents[turn % len(parents)]
            child = self._neighbour(parent, rng, taken) or self._space.unseen(parent, rng, taken)
            if child is None:
                break
            taken.add(child.id)
            found.append(child)
        return found

    def _neighbour(self, parent: Candidate, rng: np.random.Generator, taken: Collection[str]) -> Candidate | None:
        knobs = self._template.turned(parent)
        if knobs is None:
            return None
        for _ in range(12):
            changed = dict(knobs)
            for name in rng.permutation(list(self._template.knobs))[: 1 + int(rng.random() < 0.4)]:
                values = [value for value in self._template.knobs[name] if value != knobs[name]]
                if values:
                    changed[name] = values[int(rng.integers(len(values)))]
            if self._template.valid(changed):
                child = self._template.candidate(changed, (parent.id,))
                if child.id not in taken:
                    return child
        return None
