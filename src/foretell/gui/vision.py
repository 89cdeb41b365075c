"""The vision-language critic: a model at any OpenAI-compatible endpoint looks at the marked screen and judges.

It says what is under the mark, what will happen and whether that serves the goal, and only then how likely the proposal
is wrong and in what way. An answer that cannot be read is asked for once more with the reason. Whatever goes wrong is
a `CriticUnavailable`, on which a guard stays quiet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from foretell.gui import vision_answer, vision_prompt
from foretell.gui.actions import Action
from foretell.gui.history import History, Step
from foretell.gui.judgement import Judgement
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.risk import EVIDENCE
from foretell.gui.secret_scope import scope
from foretell.gui.secrets import hidden_goal, hidden_proposal
from foretell.gui.veil import Veil
from foretell.gui.vision_final import says_final_under
from foretell.lm import Budget, Cached, Failure, Image, LanguageModel, Message, Reply, Request, Trouble
from foretell.lm.cache import hiding
from foretell.lm.paid import Paid

MAX_TOKENS = 1024
MOST_PICTURES = 5  # shown of a proposal with many points
MAX_SIDE = 2048  # pixels; larger pictures are made smaller before they are sent
TIMEOUT_S = 20.0
ATTEMPTS = 2
QUOTED_CHARACTERS = 2_000  # of an unreadable answer, shown to the model that is to mend it
HIDDEN = "•••"
LEAST_HIDDEN_CHARACTERS = 3  # hiding shorter texts would blot out half of every sentence

Evidence = Callable[[Pixels, Proposal], Mapping[str, Pixels]]


class CriticUnavailable(Exception):
    """There is no judgement: `kind` says why, the message is a sentence a person can act on. Never holds a key."""

    def __init__(self, kind: Trouble, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class Totals(Paid):
    """What a critic has asked for and paid so far."""

    judged: int = 0
    repairs: int = 0


class VisionCritic:
    """Judges by asking a model that sees.

    `evidence` draws what it is shown (by default the marker's pictures; without any, the bare screenshot). `hidden`
    are texts, such as a password that the agent types, that are blotted out of every text that is sent or kept in a
    cache, and so is what is known as secret in the `scope` that it is called in; a proposal that types one is shown
    with dots. Pictures are sent as they are. `troubles` counts judgements that could not be had, by what went wrong
    (`request:timeout`, `answer:bad_number`, ...); `totals` keeps what it cost.
    """

    def __init__(
        self,
        model: LanguageModel,
        evidence: Evidence | None = None,
        max_tokens: int = MAX_TOKENS,
        max_side: int = MAX_SIDE,
        hidden: Iterable[str] = (),
    ) -> None:
        if max_side < 1:
            raise ValueError(f"the longest side of a picture must be at least one pixel, got {max_side}")
        self.name = f"vision:{model.name}"
        self.totals = Totals()
        self.troubles: Counter[str] = Counter()
        self._model, self._evidence = model, evidence
        self._max_tokens, self._max_side = max_tokens, max_side
        self._hidden = Veil(hidden, LEAST_HIDDEN_CHARACTERS, HIDDEN)

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        """The model's judgement, or CriticUnavailable."""
        pictures = self.pictures(observation, proposal)
        request = self.request(observation, proposal, history, pictures)
        before = replace(self.totals)
        self.totals.judged += 1
        reply = self._ask(request)
        reading = _read(reply)
        if isinstance(reading, vision_answer.Unreadable):
            self.totals.repairs += 1
            reading = _read(self._ask(self._once_more(request, reply, reading)))
        if isinstance(reading, vision_answer.Unreadable):
            self.troubles[f"answer:{reading.kind.value}"] += 1
            raise CriticUnavailable(
                Trouble.MALFORMED, f"{self.name} gave no judgement in two answers: {reading.message}"
            )
        return Judgement(
            p_bad=reading.p_bad,
            error=reading.error,
            explanation=self._blotted(reading.explanation),
            evidence={
                "vision_p_bad": reading.p_bad,
                "vision_tokens": float(self.totals.tokens - before.tokens),
                "vision_s": self.totals.seconds - before.seconds,
            }
            | ({EVIDENCE: 1.0} if says_final_under(proposal, reading.rationale["under_mark"]) else {}),
            images=pictures,
        )

    def request(
        self, observation: Observation, proposal: Proposal, history: History, pictures: Mapping[str, Pixels]
    ) -> Request:
        """What the model is asked, the first time."""
        encoded = {name: encode(pixels, self._max_side) for name, pixels in pictures.items()}
        kept = scope()
        guarded = kept.history is not None
        history = kept.history or history
        goal = hidden_goal(observation.goal) if guarded else observation.goal
        proposal = hidden_proposal(proposal) if kept.typing or proposal.secret else proposal
        told = vision_prompt.Told(
            replace(observation, goal=self._blotted(goal)),
            replace(
                proposal,
                actions=tuple(self._blotted_action(action) for action in proposal.actions),
                intent=None if proposal.intent is None else self._blotted(proposal.intent),
                raw=self._blotted(proposal.raw),
                fault=None if proposal.fault is None else self._blotted(proposal.fault),
            ),
            replace(
                history,
                achieved=tuple(self._blotted(item) for item in history.achieved),
                effect=self._blotted(history.effect),
                steps=tuple(self._blotted_step(step) for step in history.steps),
            ),
        )
        return Request(
            vision_prompt.messages(told, encoded), schema=vision_prompt.schema(), max_tokens=self._max_tokens
        )

    def pictures(self, observation: Observation, proposal: Proposal) -> Mapping[str, Pixels]:
        """What the model is shown of a proposal, by name."""
        if not proposal.actions:
            return {"screen": observation.image}
        from foretell.gui.marker import evidence

        draw: Evidence = self._evidence or evidence
        pictures = draw(observation.image, proposal) or {"screen": observation.image}
        return dict(islice(pictures.items(), MOST_PICTURES))

    def _ask(self, request: Request) -> Reply:
        with hiding(self._blotted):
            (outcome,) = self._model.ask([request])
        self.totals.asked += 1
        self.totals.add(outcome)
        if isinstance(outcome, Failure):
            self.troubles[f"request:{outcome.kind.value}"] += 1
            raise CriticUnavailable(outcome.kind, outcome.message)
        return outcome

    def _blotted_step(self, step: Step) -> Step:
        intent = None if step.intent is None else self._blotted(step.intent)
        return replace(step, action=self._blotted_action(step.action), intent=intent)

    def _blotted_action(self, action: Action) -> Action:
        return action if action.text is None else replace(action, text=self._blotted(action.text))

    def _blotted(self, text: str) -> str:
        return scope().veil(self._hidden(text))

    def _once_more(self, request: Request, reply: Reply, reading: vision_answer.Unreadable) -> Request:
        """The request again, after what was answered and why it could not be read."""
        said = self._blotted(reply.text)[-QUOTED_CHARACTERS:] or "(nothing)"
        reason = self._blotted(reading.message)
        complaint = f"That could not be read: {reason}. Answer again with the JSON object alone."
        return replace(request, messages=(*request.messages, Message("assistant", said), Message("user", complaint)))


def at_endpoint(
    url: str,
    model: str,
    tokens: int | None = None,
    cache_folder: Path | None = None,
    hidden: Iterable[str] = (),
    **settings: Any,
) -> VisionCritic:
    """The critic that asks `model` at `url` (such as `http://localhost:8000/v1`), at most `tokens` of them in all.

    It waits less and tries less often than other rooms do: an agent is waiting. `settings` are those of
    `lm.endpoint.Endpoint`; ValueError where one of them makes no sense.
    """
    from foretell.lm.endpoint import Endpoint
    from foretell.lm.openai import OpenAIModel

    quick: dict[str, Any] = {"timeout_s": TIMEOUT_S, "attempts": ATTEMPTS, "longest_wait_s": TIMEOUT_S}
    asked: LanguageModel = OpenAIModel(Endpoint(url, model, **(quick | settings)), Budget(tokens))
    return VisionCritic(asked if cache_folder is None else Cached(asked, cache_folder), hidden=hidden)


def encode(pixels: Pixels, max_side: int = MAX_SIDE) -> Image:
    """The picture as PNG, made smaller where a side is longer than `max_side`."""
    from PIL import Image as Picture

    picture = Picture.fromarray(pixels)
    if max(picture.size) > max_side:
        scale = max_side / max(picture.size)
        smaller = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
        picture = picture.resize(smaller, Picture.Resampling.LANCZOS)
    buffer = BytesIO()
    picture.save(buffer, "PNG")
    return Image(buffer.getvalue())


def _read(reply: Reply) -> vision_answer.Answer | vision_answer.Unreadable:
    reading = vision_answer.read(reply.text)
    if isinstance(reading, vision_answer.Unreadable) and reply.cut_off:
        return replace(reading, message=f"{reading.message}; the answer was cut off, so say less")
    return reading
