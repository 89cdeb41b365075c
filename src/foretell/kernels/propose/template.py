"""Templates: programs with structural knobs, and the proposer that turns and mutates the knobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.task import Task

Knobs = Mapping[str, Any]


def _always(_: Knobs) -> bool:
    return True


@dataclass(frozen=True)
class Template:
    """One family of programs for one task in one language.

    `knobs` maps a knob to its values, first value plainest; `render` turns chosen knobs into source text, without
    comments or names that tell how good the choice is; `valid` rejects senseless combinations.
    """

    task: str
    language: str
    knobs: Mapping[str, tuple[Any, ...]]
    render: Callable[[Knobs], str]
    valid: Callable[[Knobs], bool] = _always

    def candidate(self, knobs: Knobs, parents: tuple[str, ...] = ()) -> Candidate:
        origin = Origin("template", {"knobs": dict(knobs)})
        return Candidate(self.task, self.language, self.render(knobs), origin, parents)

    def settings(self) -> list[dict[str, Any]]:
        """Every valid combination of knobs, in a fixed order."""
        names = list(self.knobs)
        combinations = (dict(zip(names, values, strict=True)) for values in itertools.product(*self.knobs.values()))
        return [knobs for knobs in combinations if self.valid(knobs)]


def load_templates(package: str) -> dict[str, Template]:
    """The templates of a language by task name: those in the tuples `TEMPLATES` of the package's modules."""
    found = iter_modules(import_module(package).__path__)
    modules = (import_module(f"{package}.{module.name}") for module in found)
    return {template.task: template for module in modules for template in getattr(module, "TEMPLATES", ())}


class TemplateProposer:
    """Children of a template's candidate differ in one or two knobs; children of anything else are random draws."""

    name = "template"

    def __init__(self, template: Template) -> None:
        self._template = template
        self._settings = template.settings()

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        """Share `count` among the parents; where a parent's neighbourhood is used up, draw anywhere.

        Empty only when every setting of the template is in `known`.
        """
        taken = set(known)
        found: list[Candidate] = []
        for turn in range(count):
            parent = parents[turn % len(parents)]
            child = self._neighbour(parent, rng, taken) or self._anywhere(parent, rng, taken)
            if child is None:
                break
            taken.add(child.id)
            found.append(child)
        return found

    def _neighbour(self, parent: Candidate, rng: np.random.Generator, taken: Collection[str]) -> Candidate | None:
        knobs = parent.origin.detail.get("knobs")
        if parent.origin.kind != "template" or knobs is None:
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

    def _anywhere(self, parent: Candidate, rng: np.random.Generator, taken: Collection[str]) -> Candidate | None:
        for index in rng.permutation(len(self._settings)):
            child = self._template.candidate(self._settings[int(index)], (parent.id,))
            if child.id not in taken:
                return child
        return None
