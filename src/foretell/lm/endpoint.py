"""Where an OpenAI-compatible model lives and how it is to be used: address, key, limits, prices."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from foretell.lm.budget import Spend
from foretell.lm.model import Request, Usage, canonical

KEY_VARIABLE = "FORETELL_LM_KEY"
_VENDOR_KEYS = {"api.openai.com": "OPENAI_API_KEY"}
STRUCTURED = ("json_schema", "tool", "off")
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")

# A budget holds only if these are what this package says they are.
_OWNED = frozenset({"model", "messages", "n", "best_of", "stream", "logprobs", "top_logprobs", *LIMIT_FIELDS})

_TOKENS_PER_MESSAGE = 16  # what a chat format adds around each message, generously
_TOKENS_PER_REQUEST = 64


@dataclass(frozen=True)
class Prices:
    """Money per million tokens, in whatever currency the budget is in."""

    prompt_per_million: float = 0.0
    answer_per_million: float = 0.0

    def __post_init__(self) -> None:
        if not (self.prompt_per_million >= 0.0 and self.answer_per_million >= 0.0):
            raise ValueError("prices must not be negative")

    def of(self, usage: Usage) -> float:
        paid = usage.prompt_tokens * self.prompt_per_million + usage.answer_tokens * self.answer_per_million
        return paid / 1e6


@dataclass(frozen=True)
class Endpoint:
    """A model at an address such as `https://host/v1`.

    The key is read from the environment when a request is sent and kept nowhere: from `key_variable`, or where none is
    named from `FORETELL_LM_KEY`, and from a vendor's own variable only for that vendor's host. No key, no header.
    `structured` says how an answer's schema is passed on (`off`: by the prompt alone), `limit_field` how this server
    calls the limit on the answer's length. `extra` is added to each request, and None in it takes a field out
    (`{"temperature": None}` for models that refuse one). `image_tokens` is the most that one picture may count.
    """

    url: str
    model: str
    key_variable: str | None = None
    timeout_s: float = 120.0
    attempts: int = 5
    longest_wait_s: float = 120.0
    concurrency: int = 8
    requests_per_minute: float | None = None
    structured: str = "json_schema"
    limit_field: str = "max_tokens"
    top_logprobs: int = 20
    image_tokens: int = 16_384
    prices: Prices = Prices()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address of a model must look like https://host/v1 or http://localhost:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(f"the address of a model is without user, password, query and fragment: {parts.hostname}")
        try:
            parts.port  # noqa: B018  reading it checks it
        except ValueError as error:
            raise ValueError(f"the address of a model has a port that is none: {self.url}") from error
        if not self.url.isascii() or any(c.isspace() for c in self.url):
            raise ValueError("the address of a model must be plain ASCII without blanks")
        if not self.model:
            raise ValueError("an endpoint needs the name of a model")
        if self.structured not in STRUCTURED or self.limit_field not in LIMIT_FIELDS:
            raise ValueError(
                f"structured is one of {', '.join(STRUCTURED)}; limit_field one of {', '.join(LIMIT_FIELDS)}"
            )
        if min(self.attempts, self.concurrency, self.top_logprobs, self.image_tokens) < 1 or not self.timeout_s > 0.0:
            raise ValueError("attempts, concurrency, top_logprobs, image_tokens and timeout_s must be above zero")
        if taken := _OWNED & set(self.extra):
            raise ValueError(f"extra must not set {', '.join(sorted(taken))}")

    @property
    def name(self) -> str:
        """Model and address, with a mark where settings shape the answers."""
        shaping = canonical([self.structured, self.limit_field, self.top_logprobs, dict(self.extra)])
        plain = canonical(["json_schema", "max_tokens", 20, {}])
        mark = "" if shaping == plain else f"+{hashlib.sha256(shaping.encode()).hexdigest()[:6]}"
        return f"openai:{self.model}@{self.url.rstrip('/')}{mark}"

    @property
    def completions_url(self) -> str:
        return f"{self.url.rstrip('/')}/chat/completions"

    @property
    def key_from(self) -> str:
        """The environment variable that the key is read from."""
        vendor = _VENDOR_KEYS.get(urlsplit(self.url).hostname or "", KEY_VARIABLE)
        return self.key_variable or (vendor if os.environ.get(vendor) else KEY_VARIABLE)

    def key(self) -> str:
        """The key, or nothing. ValueError, which does not show it, where no header could carry it."""
        key = os.environ.get(self.key_from, "").strip()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(f"the key in {self.key_from} holds blanks or characters that no key has: set it again")
        return key

    def worst_usage(self, request: Request) -> Usage:
        """More tokens than the request can take: no tokenizer makes more than one of a byte, and pictures are bounded
        by `image_tokens`."""
        texts = [message.content for message in request.messages]
        if request.schema is not None:
            texts.append(canonical(dict(request.schema)))
        prompt = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        prompt += self.image_tokens * sum(len(message.images) for message in request.messages)
        prompt += _TOKENS_PER_MESSAGE * len(request.messages) + _TOKENS_PER_REQUEST
        return Usage(prompt, 1 if request.choices else request.max_tokens, estimated=True)

    def spend(self, usage: Usage) -> Spend:
        return Spend(usage.tokens, self.prices.of(usage))
