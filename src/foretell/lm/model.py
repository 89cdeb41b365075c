"""What is asked of a language model and what comes back: a reply, or a failure that says what to do about it."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol

from foretell.lm.image import Image

ROLES = ("system", "user", "assistant")
_ID_CHARACTERS = 24
_PROBABILITY_SLACK = 1e-3  # what rounding of logarithms may add to a probability


class Trouble(StrEnum):
    """Why there is no reply. Closed: every failure is one of these."""

    UNREACHABLE = "unreachable"  # no connection, a connection that broke
    REFUSED = "refused"  # the request is not accepted as it is: asking again would not help
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"  # an answer came that is not in the agreed form
    OVER_BUDGET = "over_budget"  # not sent: it might have cost more than is left
    MISSING = "missing"  # nobody has written an answer to it yet
    DECLINED = "declined"  # the model would not answer
    TOO_LONG = "too_long"  # more text than the model or its device takes
    STOPPED = "stopped"  # given up because the caller was interrupted

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self in _MAY_PASS


_MAY_PASS = frozenset({Trouble.UNREACHABLE, Trouble.RATE_LIMITED, Trouble.SERVER_ERROR, Trouble.TIMEOUT})


@dataclass(frozen=True)
class Message:
    """One turn of a conversation; `role` is one of `ROLES`. The user's may carry pictures, shown after the text."""

    role: str
    content: str
    images: tuple[Image, ...] = ()

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"a message's role must be one of {', '.join(ROLES)}, got {self.role!r}")
        if self.images and self.role != "user":
            raise ValueError("only a user's message carries pictures")

    def to_dict(self) -> dict[str, Any]:
        """The turn as JSON, with digests in place of pictures."""
        pictures = {"images": [image.to_dict() for image in self.images]} if self.images else {}
        return {"role": self.role, "content": self.content, **pictures}


@dataclass(frozen=True)
class Request:
    """One question.

    With `schema` the answer should be JSON in that form (how strictly that is enforced is the model's affair: read it
    with care). With `choices`, words of one token each, the probabilities that the answer's first token is each of
    them are wanted instead of text. `id` is a hash of everything in the request: equal ids, equal questions.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    choices: tuple[str, ...] = ()
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.messages:
            raise ValueError("a request needs at least one message")
        if self.schema is not None and self.choices:
            raise ValueError("a request asks for JSON or for the probabilities of choices, not for both")
        if len(set(self.choices)) != len(self.choices) or not all(c and c == c.strip() for c in self.choices):
            raise ValueError(f"choices must be different words without blanks around them, got {self.choices}")
        if self.max_tokens < 1 or not (math.isfinite(self.temperature) and self.temperature >= 0.0):
            raise ValueError("max_tokens must be at least 1 and temperature a number that is not negative")

    @property
    def has_images(self) -> bool:
        return any(message.images for message in self.messages)

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(canonical(self.to_dict()).encode()).hexdigest()[:_ID_CHARACTERS]

    def to_dict(self) -> dict[str, Any]:
        return {
            "messages": [message.to_dict() for message in self.messages],
            "schema": None if self.schema is None else dict(self.schema),
            "choices": list(self.choices),
            "max_tokens": self.max_tokens,
            "temperature": float(self.temperature),
            "seed": self.seed,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Request:
        """Make the request that `to_dict` described; ValueError where it had pictures, which are not written down."""
        if any(m.get("images") for m in data["messages"]):
            raise ValueError("a request with pictures cannot be read back: only their digests were written")
        return Request(
            messages=tuple(Message(m["role"], m["content"]) for m in data["messages"]),
            schema=data["schema"],
            choices=tuple(data["choices"]),
            max_tokens=data["max_tokens"],
            temperature=data["temperature"],
            seed=data["seed"],
        )


@dataclass(frozen=True)
class Usage:
    """Tokens read and written. `estimated` where nobody counted and this is an upper bound."""

    prompt_tokens: int = 0
    answer_tokens: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens


@dataclass(frozen=True)
class Reply:
    """An answer. `usage`, `seconds` and `money` say what it cost when it was made; `cached`, that it was free now.

    `choice_probs` holds, where choices were asked for, the probability of each one among *all* tokens: they sum to at
    most one, and to much less where the model wanted to say something else. `cut_off` marks an answer that ran into
    `max_tokens`.
    """

    text: str
    usage: Usage = Usage()
    choice_probs: Mapping[str, float] | None = None
    seconds: float = 0.0
    money: float = 0.0
    cached: bool = False
    cut_off: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "usage": [self.usage.prompt_tokens, self.usage.answer_tokens, self.usage.estimated],
            "choice_probs": None if self.choice_probs is None else dict(self.choice_probs),
            "seconds": self.seconds,
            "money": self.money,
            "cut_off": self.cut_off,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Reply:
        """Make the reply that `to_dict` described. ValueError where the data are anything else."""
        text, usage = data.get("text"), data.get("usage")
        if not isinstance(text, str):
            raise ValueError("a reply needs its text")
        if not (isinstance(usage, list) and len(usage) == 3 and all(isinstance(n, int) and n >= 0 for n in usage[:2])):
            raise ValueError("a reply needs its usage: tokens read, tokens written, estimated or not")
        probs = data.get("choice_probs")
        return Reply(
            text=text,
            usage=Usage(usage[0], usage[1], bool(usage[2])),
            choice_probs=None if probs is None else checked_probs(probs),
            seconds=amount("seconds", data.get("seconds", 0.0)),
            money=amount("money", data.get("money", 0.0)),
            cut_off=bool(data.get("cut_off", False)),
        )


@dataclass(frozen=True)
class Failure:
    """No answer, and why; `message` is a sentence a person can act on, and never holds a key.

    `usage` and `money` are what may have been charged all the same.
    """

    kind: Trouble
    message: str
    usage: Usage = Usage()
    seconds: float = 0.0
    money: float = 0.0


class LanguageModel(Protocol):
    """Answers requests.

    `name` identifies everything that shapes its answers: two models of one name may share a cache.
    """

    name: str

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        """Answer all, concurrently where that helps, in the order asked; never raises for what one request did."""
        ...


def canonical(data: Any) -> str:
    """The one JSON text of plain data: sorted, compact, ASCII; the same on every machine."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def amount(name: str, value: Any) -> float:
    """The value as a number that is finite and not negative, or ValueError."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= sys.float_info.max:
        raise ValueError(f"{name} must be a number that is not negative")
    return float(value)


def checked_probs(probs: Any) -> dict[str, float]:
    """Probabilities by name, none negative and summing to at most one, or ValueError."""
    if not isinstance(probs, Mapping) or not all(isinstance(name, str) for name in probs):
        raise ValueError("probabilities of choices must be given by name")
    found = {name: amount(f"the probability of {name!r}", value) for name, value in probs.items()}
    total = math.fsum(found.values())
    if total > 1.0 + _PROBABILITY_SLACK:
        raise ValueError(f"the probabilities of the choices sum to {total:g}, more than 1")
    return {name: min(1.0, value) for name, value in found.items()}
