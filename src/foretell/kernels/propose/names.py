"""Proposers by name, as the command line and a run's configuration give them."""

from __future__ import annotations

from importlib import import_module

from foretell.kernels.candidate import Candidate
from foretell.kernels.propose.template import Template, TemplateProposer
from foretell.kernels.protocols import Proposer
from foretell.kernels.task import Task
from foretell.lm import is_model_name

PROPOSERS = ("template", "crossover", "knobs")
TEMPLATE_LANGUAGES = ("cpp", "triton", "cuda")


class NoTemplate(ValueError):
    """The task has no template in that language."""


def templates_of(language: str) -> dict[str, Template]:
    """The templates of a language by task name; empty where the language has none."""
    if language not in TEMPLATE_LANGUAGES:
        return {}
    found: dict[str, Template] = import_module(f"foretell.kernels.propose.{language}").templates()
    return found


def make_proposer(name: str, task: Task, language: str, start: Candidate | None = None) -> Proposer:
    """The proposer of that name.

    `template` turns knobs at random, `crossover` also mixes those of two parents, `knobs` changes the tunable constants
    of the kernel `start`; names of language models are as in `docs/lm.md`.

    Raises:
        ValueError: There is no such proposer, or `knobs` has no kernel to start from.
        NoKnobs: The kernel to start from has no tunable constants.
        NoTemplate: The task has no template in that language.
    """
    if is_model_name(name):
        from foretell.kernels.propose import lm

        return lm.from_name(name, language)
    if name not in PROPOSERS:
        raise ValueError(f"there is no proposer {name!r}; choose one of {', '.join(PROPOSERS)} or a language model")
    if name == "knobs":
        from foretell.kernels.propose.knobs.proposer import KnobProposer

        if start is None:
            raise ValueError("the proposer knobs has no kernel to start from; one given by --start FILE")
        return KnobProposer(start)
    template = templates_of(language).get(task.key)
    if template is None:
        raise NoTemplate(f"nothing proposes candidates for {task.name}: it has no template in {language}")
    if name == "template":
        return TemplateProposer(template)
    from foretell.kernels.propose.crossover import CrossoverProposer

    return CrossoverProposer(template)
