"""Answers kept on disk, so that no question is paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from foretell.lm.model import Failure, LanguageModel, Reply, Request
from foretell.received import parsed

_KEY_CHARACTERS = 40
_HIDE: ContextVar[Callable[[str], str] | None] = ContextVar("_HIDE", default=None)


@contextmanager
def hiding(hide: Callable[[str], str]) -> Iterator[None]:
    """What is asked within is kept with `hide` applied to the answers' texts."""
    before = _HIDE.set(hide)
    try:
        yield
    finally:
        _HIDE.reset(before)


class Cached:
    """A model whose replies are kept in `folder`, by the model's name and the request's content.

    Failures are not kept. One file a reply, written whole or not at all, so any number of processes may share a folder;
    a damaged file counts as absent and is replaced. Equal requests in one `ask` are asked once. Where a temperature
    makes answers random, the first answer is the one that stays: give requests different seeds to have more.
    `faults` counts replies that could not be written: the answer is given all the same.
    """

    def __init__(self, model: LanguageModel, folder: Path) -> None:
        self.name = model.name
        self.hits = 0
        self.faults = 0
        self._model = model
        self._folder = folder

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        known: dict[str, Reply | Failure] = {}
        wanted: dict[str, Request] = {}
        for request in requests:
            if request.id in known or request.id in wanted:
                continue
            kept = self._get(request)
            if kept is None:
                wanted[request.id] = request
            else:
                known[request.id] = kept
                self.hits += 1
        for request, answer in zip(wanted.values(), self._model.ask(list(wanted.values())), strict=True):
            known[request.id] = answer
            if isinstance(answer, Reply):
                self._put(request, answer)
        paid: set[str] = set()
        answers: list[Reply | Failure] = []
        for request in requests:
            answer = known[request.id]
            again = request.id in paid and isinstance(answer, Reply)
            answers.append(replace(answer, cached=True) if again and isinstance(answer, Reply) else answer)
            paid.add(request.id)
        return answers

    def path(self, request: Request) -> Path:
        """Where the reply to a request is kept."""
        key = hashlib.sha256(f"{self.name}\0{request.id}".encode()).hexdigest()[:_KEY_CHARACTERS]
        return self._folder / key[:2] / f"{key}.json"

    def _get(self, request: Request) -> Reply | None:
        try:
            data = parsed(self.path(request).read_text("utf-8"))
            if data["model"] != self.name or data["request"] != request.id:
                return None
            return replace(Reply.from_dict(data["reply"]), cached=True)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def _put(self, request: Request, reply: Reply) -> None:
        path = self.path(request)
        hide = _HIDE.get()
        reply = reply if hide is None else replace(reply, text=hide(reply.text))
        data = {"model": self.name, "request": request.id, "reply": reply.to_dict()}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".partial")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(data, file)
                Path(partial).replace(path)
            finally:
                Path(partial).unlink(missing_ok=True)
        except OSError:
            self.faults += 1
