"""Requests and answers as files, so that any model anywhere can be asked, and a person too.

`requests.jsonl` holds one line a request: its `id` and what `Request.to_dict` gives. Whoever answers writes lines to
any `answers*.jsonl` beside it: `{"id": ..., "text": "..."}`, or for a request with choices
`{"id": ..., "choice_probs": {"A": 0.7, ...}}`; `prompt_tokens`, `answer_tokens`, `seconds` and `money` may be added.
`{"id": ..., "error": "..."}` says that there will be no answer. The last line about a request counts. Pictures, where
they may be written, lie in `pictures/` under the digests by which requests name them.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from foretell.lm.image import TEXT_ONLY
from foretell.lm.model import Failure, Reply, Request, Trouble, Usage, amount, checked_probs
from foretell.received import (
    MOST_JSON_BYTES,
    BadFile,
    BadJson,
    TooLarge,
    inside,
    open_plain,
    parsed,
    read_plain,
    write_plain,
)

REQUESTS = "requests.jsonl"
ANSWERS = "answers*.jsonl"
PICTURES = "pictures"


class FileModel:
    """The model that answers in a folder. What it is asked and has no answer for is added to `requests.jsonl`.

    `damaged` counts lines of answers, at the last `ask`, of which not even the id could be read. Pictures are written
    to files with `pictures` only: otherwise a request that carries one is refused.
    """

    def __init__(self, folder: Path, pictures: bool = False) -> None:
        self.name = f"files:{folder}"
        self.folder = folder
        self._pictures = pictures
        self.damaged = 0

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        if not requests:
            return []
        answers, self.damaged = read_answers(sorted(self.folder.glob(ANSWERS)))
        refused = [] if self._pictures else [request for request in requests if request.has_images]
        missing = [request for request in requests if request.id not in answers and request not in refused]
        if missing:
            try:
                for request in missing:
                    write_pictures(self.folder / PICTURES, request)
                write_requests(self.folder / REQUESTS, missing)
            except (OSError, BadFile) as error:
                reason = str(error) if isinstance(error, BadFile) else error.strerror
                unwritten = Failure(Trouble.UNREACHABLE, f"cannot write requests to {self.folder}: {reason}")
                answers |= {request.id: unwritten for request in missing}
        told = f"no answer yet: write it to {self.folder / 'answers.jsonl'} and ask again"
        answers |= {request.id: Failure(Trouble.REFUSED, TEXT_ONLY) for request in refused}
        return [_fitting(request, answers.get(request.id, Failure(Trouble.MISSING, told))) for request in requests]


def write_pictures(folder: Path, request: Request) -> None:
    """Write the pictures of a request that the folder does not hold yet, named by their digests.

    Raises NotPlain if the folder leads elsewhere, through which nothing is written.
    """
    for image in (image for message in request.messages for image in message.images):
        path = inside(folder.parent, f"{folder.name}/{image.digest}.{image.media.partition('/')[2]}")
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_plain(path, image.data)


def write_requests(path: Path, requests: Iterable[Request]) -> int:
    """Append those requests that the file does not hold yet, each once; how many that were.

    Raises BadFile if it is a link, through which nothing is written, or too large.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    with os.fdopen(descriptor, "a+", encoding="utf-8", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_size > MOST_JSON_BYTES:
            raise TooLarge(path, MOST_JSON_BYTES)
        file.seek(0)
        text = file.read()
        known = {found for line in text.split("\n") if (found := _id(line)) is not None}
        fresh = []
        for request in requests:
            if request.id not in known:
                known.add(request.id)
                fresh.append(json.dumps({"id": request.id, **request.to_dict()}) + "\n")
        torn = "\n" if text and not text.endswith("\n") else ""
        file.write(torn + "".join(fresh))
    return len(fresh)


def read_requests(path: Path) -> list[Request]:
    """The requests in a file, for whoever answers them; ValueError naming a line that is none."""
    found = []
    for number, line in enumerate(read_plain(path, MOST_JSON_BYTES).split(b"\n"), start=1):
        if line.strip():
            try:
                found.append(Request.from_dict(parsed(line, halves=True)))
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise ValueError(f"line {number} of {path} is no request: {error}") from error
    return found


def read_answers(paths: Iterable[Path]) -> tuple[dict[str, Reply | Failure], int]:
    """All answers by request, and how many lines told not even which request they are for."""
    found: dict[str, Reply | Failure] = {}
    damaged = 0
    for path in paths:
        try:
            lines = read_plain(path, MOST_JSON_BYTES).split(b"\n")
        except (OSError, BadFile):
            damaged += 1
            continue
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                data = parsed(line)
            except BadJson:
                damaged += 1
                continue
            if not isinstance(data, dict) or not isinstance(data.get("id"), str):
                damaged += 1
                continue
            try:
                found[data["id"]] = _answer(data)
            except ValueError as error:
                text = f"line {number} of {path.name} is no answer ({error}): correct it"
                found[data["id"]] = Failure(Trouble.MALFORMED, text)
    return found, damaged


def _answer(data: dict[str, Any]) -> Reply | Failure:
    if "error" in data:
        return Failure(Trouble.DECLINED, f"whoever answered gave an error: {str(data['error'])[:300]}")
    text, probs = data.get("text", ""), data.get("choice_probs")
    if not isinstance(text, str) or (not text and probs is None):
        raise ValueError("it needs `text` or `choice_probs`")
    tokens = [int(amount(name, data.get(name, 0))) for name in ("prompt_tokens", "answer_tokens")]
    return Reply(
        text,
        Usage(tokens[0], tokens[1]),
        None if probs is None else checked_probs(probs),
        seconds=amount("seconds", data.get("seconds", 0.0)),
        money=amount("money", data.get("money", 0.0)),
    )


def _fitting(request: Request, answer: Reply | Failure) -> Reply | Failure:
    """The answer, unless it is of another kind than was asked for."""
    if isinstance(answer, Failure) or not request.choices:
        return answer
    if answer.choice_probs is None or not set(answer.choice_probs) <= set(request.choices):
        wanted = ", ".join(request.choices)
        return Failure(Trouble.MALFORMED, f"the answer to {request.id} needs `choice_probs` of {wanted} only")
    return answer


def _id(line: str) -> str | None:
    try:
        data = parsed(line, halves=True)
    except BadJson:
        return None
    return data.get("id") if isinstance(data, dict) and isinstance(data.get("id"), str) else None
