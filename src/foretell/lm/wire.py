"""The chat-completions format: a request as its payload, and a response read as a reply or a failure. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from foretell.lm.endpoint import Endpoint
from foretell.lm.model import Failure, Message, Reply, Request, Trouble, Usage, checked_probs
from foretell.lm.transport import Response
from foretell.received import parsed

ANSWER = "answer"  # what the schema, or the tool that stands for it, is called
_SHOWN_CHARACTERS = 300
_READ_CHARACTERS = 65_536  # of a long error, looked at
_BLANKS = " \t\r\n▁Ġ"  # blanks, and the marks that tokenizers write for one
_ENCODED = re.compile(r"data:image/[\w.+-]{1,20};base64,[\w+/=-]*|[\w+/=-]{80,}")
_LEAST_KEY_CHARACTERS = 8  # shorter ones are dummies such as "EMPTY", and would be found in any text

_Json = dict[str, Any]


def payload(endpoint: Endpoint, request: Request) -> _Json:
    """The body to post."""
    body: _Json = {
        "model": endpoint.model,
        "messages": [{"role": m.role, "content": _content(m)} for m in request.messages],
        "temperature": request.temperature,
        endpoint.limit_field: 1 if request.choices else request.max_tokens,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.choices:
        body |= {"logprobs": True, "top_logprobs": endpoint.top_logprobs}
    if request.schema is not None and endpoint.structured == "json_schema":
        form = {"name": ANSWER, "schema": dict(request.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.schema is not None and endpoint.structured == "tool":
        tool = {"name": ANSWER, "description": "Give the answer.", "parameters": dict(request.schema)}
        body["tools"] = [{"type": "function", "function": tool}]
        body["tool_choice"] = {"type": "function", "function": {"name": ANSWER}}
    return {name: value for name, value in (body | dict(endpoint.extra)).items() if value is not None}


def _content(message: Message) -> str | list[_Json]:
    if not message.images:
        return message.content
    pictures = [{"type": "image_url", "image_url": {"url": image.url}} for image in message.images]
    return [{"type": "text", "text": message.content}, *pictures]


def read(endpoint: Endpoint, request: Request, response: Response, key: str) -> Reply | Failure:
    """What a response says; its money is what `endpoint.prices` make of its usage.

    Where the server does not count tokens, `usage` is the upper bound. The key never appears in what is returned.
    """
    text = response.body.decode("utf-8", "replace")
    if len(key) >= _LEAST_KEY_CHARACTERS:
        text = text.replace(key, "***")
    if response.status != 200:
        return _refusal(endpoint, request, response.status, text)
    worst = endpoint.worst_usage(request)

    def failure(kind: Trouble, message: str, usage: Usage = worst) -> Failure:
        return Failure(kind, message, usage, money=endpoint.prices.of(usage))

    try:
        data = parsed(text)
        usage = _usage(data, worst)
        choice = data["choices"][0]
        message = choice["message"]
        found = _text(message)
        probs = _choice_probs(choice, request.choices) if request.choices else None
    except (ValueError, LookupError, TypeError, RecursionError, AttributeError) as error:
        hint = " (does it give logprobs?)" if request.choices else ""
        told = f"{endpoint.url} sent what is no chat completion{hint}: {type(error).__name__}, {_short(text)}"
        return failure(Trouble.MALFORMED, told)
    refusal = message.get("refusal")
    if choice.get("finish_reason") == "content_filter" or (isinstance(refusal, str) and refusal and not found):
        return failure(Trouble.DECLINED, f"{endpoint.model} would not answer: {_short(str(refusal))}", usage)
    cut_off = choice.get("finish_reason") == "length" and not request.choices
    return Reply(found, usage, probs, money=endpoint.prices.of(usage), cut_off=cut_off)


def _usage(data: _Json, worst: Usage) -> Usage:
    counted = data.get("usage")
    if not isinstance(counted, Mapping):
        return worst
    prompt, answer = counted.get("prompt_tokens"), counted.get("completion_tokens", 0)
    whole = all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 10**12 for n in (prompt, answer))
    return Usage(int(prompt or 0), int(answer)) if whole else worst


def _text(message: Mapping[str, Any]) -> str:
    """The answer's text: of the tool call where there is one."""
    for call in message.get("tool_calls") or ():
        if call["function"]["name"] == ANSWER:
            arguments = call["function"]["arguments"]
            return arguments if isinstance(arguments, str) else json.dumps(arguments)
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise TypeError("content is not a text")
    return content or ""


def _choice_probs(choice: _Json, wanted: tuple[str, ...]) -> dict[str, float]:
    """Probabilities of the wanted words among the likeliest first tokens; one that is not listed has 0."""
    listed = choice["logprobs"]["content"][0]["top_logprobs"]
    found = dict.fromkeys(wanted, 0.0)
    for entry in listed:
        word, logprob = entry["token"].strip(_BLANKS), float(entry["logprob"])
        if math.isnan(logprob):
            raise ValueError("a logprob is not a number")
        if word in found:  # with and without a blank before it, it is the same answer
            found[word] += math.exp(min(logprob, 1.0))
    return checked_probs(found)


def _refusal(endpoint: Endpoint, request: Request, status: int, text: str) -> Failure:
    said, code = _error(text)
    where = f"{endpoint.url} ({status}{': ' + said if said else ''})"
    if status == 429 and code == "insufficient_quota":
        return Failure(Trouble.REFUSED, f"the account behind the key has no credit left at {where}")
    if status == 429:
        return Failure(Trouble.RATE_LIMITED, f"too many requests for {where}: lower requests_per_minute or concurrency")
    if status == 408 or status == 504:
        return Failure(Trouble.TIMEOUT, f"the model took too long for {where}: ask for fewer tokens")
    if status >= 500:
        return Failure(Trouble.SERVER_ERROR, f"the server is in trouble: {where}: try again later")
    if 300 <= status < 400:
        return Failure(Trouble.REFUSED, f"{where} points elsewhere: use the address it points to")
    if status in (401, 403):
        return Failure(Trouble.REFUSED, f"no access to {where}: check the key in {endpoint.key_from}")
    if status == 407:
        return Failure(Trouble.REFUSED, f"a proxy refuses access to {where}: put its user and password into http_proxy")
    if status == 404:
        return Failure(Trouble.REFUSED, f"nothing there: {where}: check the address and the model {endpoint.model!r}")
    if status == 413 or code == "context_length_exceeded":
        return Failure(Trouble.TOO_LONG, f"the prompt is too long for {endpoint.model!r} at {where}: show less")
    hint = ""
    if request.schema is not None and endpoint.structured != "off":
        hint = ": if it does not know JSON schemas, set structured=off"
    if status < 200:
        return Failure(Trouble.MALFORMED, f"an answer that makes no sense from {where}")
    return Failure(Trouble.REFUSED, f"not accepted by {where}{hint}")


def _error(text: str) -> tuple[str, str]:
    """The message and the code in an error's body, as far as there are any."""
    try:
        data = parsed(text)
    except (ValueError, RecursionError):
        return _short(text), ""
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return _short(str(error)), ""
    return _short(str(error.get("message", ""))), str(error.get("code") or error.get("type") or "")


def _short(text: str) -> str:
    """A piece of foreign text fit for one line of a message."""
    text = _ENCODED.sub("(data)", text[:_READ_CHARACTERS])  # servers quote what they were sent, pictures too
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _SHOWN_CHARACTERS]).split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"
