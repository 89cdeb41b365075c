"""What a run asks whoever writes its next candidate. Pure: asking reads the state and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.errors import BadInput
from foretell.kernels.candidate import Candidate
from foretell.kernels.propose.prompt import answer_form, messages, standing
from foretell.kernels.search.config import SearchConfig
from foretell.kernels.search.events import StopReason
from foretell.kernels.search.state import RunState
from foretell.kernels.search.strategies import make_strategy
from foretell.kernels.search.strategy import Strategy
from foretell.kernels.task import Task
from foretell.lm import Message


class NoSuchParent(BadInput):
    """No candidate of the run, or more than one, goes by that id."""


@dataclass(frozen=True)
class Question:
    """A request for one candidate: `parent` is the id of the program to start from, and what `tell` takes."""

    parent: str
    program: Candidate
    language: str
    messages: tuple[Message, ...]

    @property
    def prompt(self) -> str:
        """All messages as one text, for a language model or a person."""
        return "\n\n".join(message.content for message in self.messages)


def ask(
    state: RunState, task: Task, parent: str | None = None, closing: str = "", strategy: Strategy | None = None
) -> Question:
    """The question that a run would ask next; the same until something is told.

    Args:
        state: Where the run stands.
        task: Its task.
        parent: Id of the program to start from, its beginning, or `reference`; by default the strategy's choice.
        closing: How to answer; by default with one block of code.
        strategy: The run's strategy, if it is at hand.

    Raises:
        NoSuchParent: No program of the run, or several, have such an id.
    """
    chosen = next_parent(state, strategy) if parent is None else parent_named(state, parent)
    program = program_of(state, chosen)
    language = str(state.config["language"])
    if not closing:
        closing = answer_form("either" if program.language == language else "file", language)
    return Question(chosen, program, language, messages(task, language, standing(state, program), closing))


def program_of(state: RunState, node_id: str) -> Candidate:
    """A program of the run by its id, the reference among them."""
    return state.reference if node_id == state.reference.id else state.nodes[node_id].candidate


def next_parent(state: RunState, strategy: Strategy | None = None) -> str:
    """The program that the run's strategy would expand next. Raises NoSuchParent if the run names none that exists."""
    config = SearchConfig.from_resolved(state.config)
    rng = np.random.default_rng([config.seed, state.rounds])
    try:
        chosen = strategy or make_strategy(str(state.config["strategy"]), config.profile)
    except ValueError as error:
        raise NoSuchParent(f"the run's strategy chooses no program: {error}") from error
    return chosen.select(state.archive, 1, rng)[0]


def parent_named(state: RunState, given: str) -> str:
    """The id that begins as given, or that of the reference. Raises NoSuchParent."""
    if given == "reference":
        return state.reference.id
    found = [known for known in (state.reference.id, *state.nodes) if given and known.startswith(given)]
    if len(found) == 1:
        return found[0]
    near = ", ".join(node.id for node in state.ranking()[:3]) or "reference"
    what = f"{len(found)} candidates begin with {given!r}" if found else f"the run has no candidate {given!r}"
    raise NoSuchParent(what, "the id of a candidate of the run, or its beginning, or reference", f"for example {near}")


def spent(state: RunState) -> StopReason | None:
    """Which budget of a run is used up, if any is."""
    limits = state.config["budgets"]
    used = {
        StopReason.MEASUREMENTS: state.charged,
        StopReason.SECONDS: state.device_s,
        StopReason.CANDIDATES: state.considered,
    }
    return next((reason for reason, value in used.items() if value >= limits[reason.value]), None)


def is_over(state: RunState) -> bool:
    """Whether the run is finished, and not merely interrupted."""
    return state.finished is not None and state.finished.reason is not StopReason.INTERRUPTED
