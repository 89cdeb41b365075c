"""Answers of a language model kept in a file, so that asking can be cut off at any moment and gone on with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.lm import Failure, Reply, Request, Trouble

FIRST_MESSAGES = 2  # system and user; a question that is asked once more has what was said in between


class Kept:
    """Answers by request, in a file that grows line by line. As a model it gives what it has and notes what it lacks.

    `wanted` holds what was lacking and `served` what was given since `begin`. Lines of another model, and one that was
    cut off while it was written, count as absent.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.wanted: dict[str, Request] = {}
        self.served: list[tuple[Request, Reply | Failure]] = []
        self._path = path
        self._answers: dict[str, Reply | Failure] = {}
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                data = json.loads(line)
            except ValueError:
                continue
            if data["model"] == name:
                self._answers[data["id"]] = _outcome(data)

    def begin(self) -> None:
        self.wanted, self.served = {}, []

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        """What is kept. A question that was not yet asked once more counts as answered with the same words again."""
        found: list[Reply | Failure] = []
        for request in requests:
            known = self._answers.get(request.id)
            if known is None:
                self.wanted[request.id] = request
                again = len(request.messages) > FIRST_MESSAGES
                known = Reply(request.messages[-2].content) if again else Failure(Trouble.MISSING, "not asked yet")
            self.served.append((request, known))
            found.append(known)
        return found

    def add(self, requests: Sequence[Request], answers: Sequence[Reply | Failure]) -> None:
        """Take answers in and write them down. Weights that cannot be loaded end the program: nothing was answered."""
        if passing := [a for a in answers if isinstance(a, Failure) and a.kind.may_pass]:
            raise SystemExit(f"error: {passing[0].message}")
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" if self._path.stat().st_size else "")  # what was cut off must not spoil the next line
            for request, one in zip(requests, answers, strict=True):
                self._answers[request.id] = one
                told = one.to_dict() if isinstance(one, Reply) else {"failure": one.kind.value, "message": one.message}
                file.write(json.dumps({"model": self.name, "id": request.id, **told}) + "\n")


def _outcome(data: Mapping[str, Any]) -> Reply | Failure:
    if "failure" in data:
        return Failure(Trouble(data["failure"]), data["message"])
    return Reply.from_dict(data)
