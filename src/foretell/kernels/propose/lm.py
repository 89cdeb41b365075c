"""The language model as a proposer: is shown a program and what the run knows of it, and writes another.

One question a child, answered by a whole file or by a patch of the parent. What cannot be used is asked for once more
with the reason; bad answers are counted and cost nothing but themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.languages.python_source import language_in_run
from foretell.kernels.propose import prompt
from foretell.kernels.propose.answer import Unusable, Written, read
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task
from foretell.lm import BadModelName, Failure, LanguageModel, Message, Reply, Request, Trouble, make_model
from foretell.lm.names import split_options
from foretell.lm.paid import Paid

if TYPE_CHECKING:
    from foretell.kernels.search.state import RunState

AUTHOR = {"by": "language model"}
MAX_TOKENS = 4096
TEMPERATURE = 0.8
ATTEMPTS = 2  # how often a batch without a single new program is asked for again
QUOTED_CHARACTERS = 4000  # of an answer that could not be used, shown to the model that is to mend it
_SEEDS = 1 << 31

_Outcome = Candidate | Unusable | Failure


class NoAnswer(RuntimeError):
    """The model gave no answer to any question, for a reason that may pass: the run stops and can be resumed."""


@dataclass
class Totals(Paid):
    """What a proposer has asked for and paid so far."""

    mended: int = 0
    programs: int = 0


class LmProposer:
    """Proposes what a language model writes.

    What is asked follows from the settings, the state last given to `inform`, the parents and the generator; so a
    resumed run asks the same, and a model that is cached or answers always alike makes it the same run. `troubles`
    counts what was no use, by what was wrong (`request:timeout`, `answer:patch_not_found`, `answer:known`, ...).

    An empty batch ends a run: it comes when the model's budget is spent, or when nothing that it wrote in several
    attempts could be used. NoAnswer where the model did not answer at all.
    """

    def __init__(
        self,
        model: LanguageModel,
        language: str,
        form: str = "either",
        max_tokens: int = MAX_TOKENS,
        temperature: float = TEMPERATURE,
        name: str | None = None,
    ) -> None:
        if form not in prompt.FORMS:
            raise ValueError(f"the form of an answer is one of {', '.join(prompt.FORMS)}, got {form!r}")
        self.name = name or f"lm:{model.name}"
        self.troubles: Counter[str] = Counter()
        self.totals = Totals()
        self._model, self._language, self._form = model, language, form
        self._max_tokens, self._temperature = max_tokens, temperature
        self._state: RunState | None = None

    def inform(self, state: RunState) -> None:
        """Where the run stands, for the next `propose`."""
        self._state = state

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        taken = {*known, *self._likenesses()}
        turns = [parents[turn % len(parents)] for turn in range(count)]
        told = {parent.id: self._messages(task, parent) for parent in parents[:count]}
        found: list[Candidate] = []
        for _ in range(ATTEMPTS):
            requests = [self._request(told[parent.id], int(rng.integers(_SEEDS))) for parent in turns]
            answers = self._ask(requests)
            outcomes = self._read_all(task, turns, answers, taken)
            again = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, Unusable)]
            mended = self._ask([_once_more(requests[i], answers[i], outcomes[i]) for i in again])
            self.totals.mended += len(again)
            outcomes += self._read_all(task, [turns[i] for i in again], mended, taken)
            found = [outcome for outcome in outcomes if isinstance(outcome, Candidate)]
            if found or _is_over(answers):
                break
            _check_answered(answers)
        self.totals.programs += len(found)
        return found

    def _likenesses(self) -> set[str]:
        """Those of all programs of the run: another comment is not another program to pay for."""
        if self._state is None or self._state.started is None:
            return set()
        programs = (self._state.reference, *(node.candidate for node in self._state.nodes.values()))
        return {program.likeness for program in programs}

    def _messages(self, task: Task, parent: Candidate) -> tuple[Message, ...]:
        state = self._state
        known = state is not None and parent.id in state.known
        shown = prompt.standing(state, parent) if state and known else prompt.Standing(parent)
        closing = prompt.answer_form(self._form_for(parent), self._language)
        return prompt.messages(task, self._language, shown, closing)

    def _request(self, told: tuple[Message, ...], seed: int) -> Request:
        return Request(told, max_tokens=self._max_tokens, temperature=self._temperature, seed=seed)

    def _form_for(self, parent: Candidate) -> str:
        """A program in another language (the reference of a GPU task) cannot be patched into this one."""
        return self._form if parent.language == self._language else "file"

    def _read_all(
        self, task: Task, parents: Sequence[Candidate], answers: Sequence[Reply | Failure], taken: set[str]
    ) -> list[_Outcome]:
        """What each answer gives; programs whose id or likeness is in `taken`, to which they are added, are no use."""
        found: list[_Outcome] = []
        for parent, answer in zip(parents, answers, strict=True):
            outcome = self._read(task, parent, answer)
            if isinstance(outcome, Candidate):
                if outcome.id in taken or outcome.likeness in taken:
                    outcome = Unusable("known", "this program is known already: write one that differs in what it does")
                else:
                    taken |= {outcome.id, outcome.likeness}
            if isinstance(outcome, Failure):
                self.troubles[f"request:{outcome.kind.value}"] += 1
            elif isinstance(outcome, Unusable):
                self.troubles[f"answer:{outcome.kind}"] += 1
            found.append(outcome)
        return found

    def _read(self, task: Task, parent: Candidate, answer: Reply | Failure) -> _Outcome:
        if isinstance(answer, Failure):
            return answer
        written = read(answer.text, parent.source, self._form_for(parent))
        if isinstance(written, Written):
            origin = Origin("model", {**AUTHOR, "answer": written.form})
            language = language_in_run(written.source, self._language, task)
            return Candidate(task.key, language, written.source, origin, (parent.id,))
        if answer.cut_off:
            return replace(written, kind="cut_off", message=f"{written.message}; the answer was cut off: write less")
        return written

    def _ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        answers = self._model.ask(requests) if requests else []
        self.totals.asked += len(requests)
        for answer in answers:
            self.totals.add(answer)
        return answers


def from_name(name: str, language: str, cache_folder: Path | None = None) -> LmProposer:
    """The proposer of a name such as `openai:MODEL@URL`, `local:PATH` or `files:FOLDER`, or BadModelName.

    Options follow a question mark: `form=patch`, `temperature=1.0`, `max_tokens=8192` and those of the model (see
    `docs/lm.md`). Replies are kept in `cache_folder`, by default in Foretell's cache.
    """
    base, options = split_options(name)
    form = options.pop("form", prompt.FORMS[0])
    tokens, heat = options.pop("max_tokens", str(MAX_TOKENS)), options.pop("temperature", str(TEMPERATURE))
    if not tokens.isdecimal() or not 1 <= int(tokens) < 10**6:
        raise BadModelName(f"max_tokens must be a whole number of at least 1, got {tokens!r}")
    try:
        temperature = float(heat)
    except ValueError:
        temperature = -1.0
    if not 0.0 <= temperature <= 10.0:
        raise BadModelName(f"temperature must be a number from 0 to 10, got {heat!r}")
    query = urlencode(options)
    folder = cache_dir() / "lm" if cache_folder is None else cache_folder
    model = make_model(f"{base}?{query}" if query else base, folder)
    try:
        return LmProposer(model, language, form, int(tokens), temperature, name)
    except ValueError as error:
        raise BadModelName(f"{name!r}: {error}") from error


def _is_over(answers: Sequence[Reply | Failure]) -> bool:
    """Whether the model's budget is what ended it: asking again would send nothing."""
    return all(isinstance(answer, Failure) and answer.kind is Trouble.OVER_BUDGET for answer in answers)


def _check_answered(answers: Sequence[Reply | Failure]) -> None:
    """NoAnswer where there is not one reply: a server that is down is no reason to end a run for good."""
    failures = [answer for answer in answers if isinstance(answer, Failure)]
    if failures and len(failures) == len(answers):
        raise NoAnswer(f"the language model gave no answer to {len(failures)} questions ({failures[-1].message})")


def _once_more(request: Request, answer: Reply | Failure, outcome: _Outcome) -> Request:
    """The request again, after what was answered and why it could not be used."""
    said = answer.text[-QUOTED_CHARACTERS:] if isinstance(answer, Reply) else ""
    why = outcome.message if isinstance(outcome, Unusable) else ""
    complaint = f"That could not be used: {why}. Answer again with the one block of code."
    said = said.encode("utf-8", "replace").decode() or "(nothing)"
    return replace(request, messages=(*request.messages, Message("assistant", said), Message("user", complaint)))
