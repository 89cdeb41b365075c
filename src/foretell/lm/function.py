"""A language model that is a function of a prompt: for whoever has a model of their own in Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from foretell.lm.model import Failure, Reply, Request, Trouble, Usage
from foretell.received import NotText, check_text

Answer = Callable[[str], str]
NAME = "function"
_CHARACTERS_PER_TOKEN = 4


class FunctionModel:
    """Calls a function with each request's messages as one text, one after the other.

    What the function raises goes through to the caller. An answer that is not text, or that no file can hold, is a
    failure.
    """

    name = NAME

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply | Failure:
        prompt = "\n\n".join(message.content for message in request.messages)
        started = time.perf_counter()
        text: object = self._answer(prompt)
        if not isinstance(text, str):
            return Failure(Trouble.MALFORMED, f"the function returned a {type(text).__name__}, not text")
        try:
            check_text(text, "the answer of the function")
        except NotText as error:
            return Failure(Trouble.MALFORMED, str(error))
        usage = Usage(len(prompt) // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN, estimated=True)
        return Reply(text, usage, None, time.perf_counter() - started, 0.0)
