from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from foretell.lm import (
    BadModelName,
    Cached,
    Failure,
    FileModel,
    Message,
    Reply,
    Request,
    Trouble,
    Usage,
    is_model_name,
    make_model,
)
from foretell.lm.files import read_requests, write_requests
from foretell.lm.local import CannotLoad, LocalModel
from foretell.lm.openai import OpenAIModel


class Echo:
    """Answers with the question; fails on "no"."""

    def __init__(self, name: str = "echo") -> None:
        self.name = name
        self.asked: list[str] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        found: list[Reply | Failure] = []
        for request in requests:
            text = request.messages[-1].content
            self.asked.append(text)
            bad = Failure(Trouble.TIMEOUT, "too slow")
            found.append(bad if text == "no" else Reply(text, Usage(2, 1), seconds=0.5, money=0.1))
        return found


def request(text: str) -> Request:
    return Request((Message("user", text),))


def choice(text: str) -> Request:
    return Request((Message("user", text),), choices=("A", "B"))


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    echo = Echo()
    first = Cached(echo, tmp_path / "deep" / "cache").ask([request("a"), request("b"), request("a"), request("no")])
    assert echo.asked == ["a", "b", "no"]
    assert [isinstance(a, Reply) and a.cached for a in first] == [False, False, True, False]
    cached = Cached(echo, tmp_path / "deep" / "cache")
    again = cached.ask([request("b"), request("no"), request("a"), request("c")])
    assert echo.asked == ["a", "b", "no", "no", "c"]  # failures are asked again
    assert again[0] == Reply("b", Usage(2, 1), seconds=0.5, money=0.1, cached=True)
    assert cached.hits == 2
    other = Echo("another")
    Cached(other, tmp_path / "deep" / "cache").ask([request("a")])
    assert other.asked == ["a"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"model": "echo"}', "\x00", "[" * 10_000])
def test_a_damaged_file_is_replaced(tmp_path: Path, text: str) -> None:
    echo = Echo()
    cached = Cached(echo, tmp_path)
    cached.ask([request("a")])
    cached.path(request("a")).write_text(text)
    assert cached.ask([request("a")])[0] == Reply("a", Usage(2, 1), seconds=0.5, money=0.1)
    assert isinstance(cached.ask([request("a")])[0], Reply)
    assert echo.asked == ["a", "a"]
    assert [p.suffix for p in tmp_path.rglob("*") if p.is_file()] == [".json"]  # no partial file stays


def test_many_writers_share_a_folder(tmp_path: Path) -> None:
    requests = [request(f"{i}") for i in range(30)]
    threads = [threading.Thread(target=Cached(Echo(), tmp_path).ask, args=(requests,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    silent = Echo()
    assert [a.text for a in Cached(silent, tmp_path).ask(requests) if isinstance(a, Reply)] == [
        f"{i}" for i in range(30)
    ]
    assert silent.asked == []


def test_a_folder_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cached = Cached(Echo(), tmp_path / "file" / "cache")
    assert isinstance(cached.ask([request("a")])[0], Reply)
    assert cached.faults == 1


def test_files_round_trip(tmp_path: Path) -> None:
    model = FileModel(tmp_path / "asked")
    wanted = [request("one"), choice("two"), request("one"), request("three \u2028 \ud800")]
    found = model.ask(wanted)
    assert {f.kind for f in found if isinstance(f, Failure)} == {Trouble.MISSING}
    assert "answers.jsonl" in str(found[0])
    model.ask(wanted)
    written = read_requests(tmp_path / "asked" / "requests.jsonl")
    assert written == [wanted[0], wanted[1], wanted[3]]
    answers = [
        {"id": wanted[0].id, "text": "first", "answer_tokens": 3, "money": 0.5},
        {"id": wanted[1].id, "choice_probs": {"A": 0.75, "B": 0.2}},
        {"id": wanted[0].id, "text": "second thought"},
    ]
    lines = [json.dumps(a) for a in answers]
    (tmp_path / "asked" / "answers.jsonl").write_text("\n".join([*lines[:2], "", "not json", "[1]"]))
    (tmp_path / "asked" / "answers_2.jsonl").write_text(lines[2])
    found = model.ask(wanted)
    assert model.damaged == 2
    assert isinstance(found[0], Reply)
    assert found[0].text == "second thought"
    assert isinstance(found[1], Reply)
    assert found[1].choice_probs == {"A": 0.75, "B": 0.2}
    assert isinstance(found[3], Failure)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"text": 5},
        {"text": ""},
        {"choice_probs": {"A": 2.0}},
        {"choice_probs": {"Z": 0.5}},
        {"text": "A"},
        {"choice_probs": "A"},
        {"choice_probs": {"A": 0.5}, "money": -1},
    ],
)
def test_bad_answers_are_malformed(tmp_path: Path, answer: dict[str, object]) -> None:
    asked = choice("x")
    (tmp_path / "answers.jsonl").write_text(json.dumps({"id": asked.id, **answer}) + "\n")
    found = FileModel(tmp_path).ask([asked])[0]
    assert isinstance(found, Failure)
    assert found.kind is Trouble.MALFORMED


def test_an_error_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text(json.dumps({"id": request("x").id, "error": "crashed"}))
    found = FileModel(tmp_path).ask([request("x")])[0]
    assert isinstance(found, Failure)
    assert found.kind is Trouble.DECLINED


def test_requests_are_appended_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"id": "torn')
    assert write_requests(path, [request("a"), request("a")]) == 1
    assert json.loads(path.read_text().splitlines()[-1])["id"] == request("a").id
    with pytest.raises(ValueError, match="line 1"):
        read_requests(path)


def test_a_folder_that_cannot_hold_requests(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = FileModel(tmp_path / "file").ask([request("a")])[0]
    assert isinstance(found, Failure)
    assert found.kind is Trouble.UNREACHABLE


def test_models_by_name(tmp_path: Path) -> None:
    plain = make_model("openai:org/m@v2@http://localhost:8000/v1?tokens=1000&concurrency=3&structured=off")
    assert isinstance(plain, OpenAIModel)
    assert (plain.endpoint.model, plain.endpoint.url) == ("org/m@v2", "http://localhost:8000/v1")
    assert (plain.endpoint.concurrency, plain.budget.tokens, plain.budget.money) == (3, 1000, None)
    priced = make_model("openai:m@https://h/v1?money=2.5&prompt_price=0.5&answer_price=1.5", tmp_path)
    assert isinstance(priced, Cached)
    assert priced.name == "openai:m@https://h/v1"
    assert isinstance(make_model("local:some/folder?adapter=a&dtype=float32"), LocalModel)
    (tmp_path / "x.gguf").touch()
    assert make_model(f"local:{tmp_path / 'x.gguf'}").name.startswith(f"local:{tmp_path / 'x.gguf'}#")
    assert isinstance(make_model(f"files:{tmp_path}", tmp_path), FileModel)
    assert is_model_name("local:x")
    assert not any(map(is_model_name, ("roofline", "local", "http://x")))


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("", "known forms"),
        ("gpt", "known forms"),
        ("openai:", "known forms"),
        ("openai:m", "openai:MODEL@URL"),
        ("openai:m@host", "openai:MODEL@URL"),
        ("openai:m@http://u:p@h/v1", "without user"),
        ("openai:m@http://h/v1?speed=9", "unknown: speed"),
        ("openai:m@http://h/v1?tokens=many", "tokens"),
        ("openai:m@http://h/v1?tokens=-1", "tokens"),
        ("openai:m@http://h/v1?money=1", "prompt_price"),
        ("openai:m@http://h/v1?concurrency=0", "above zero"),
        ("openai:m@http://h/v1?tokens", "option=value"),
        ("openai:m@http://h/v1?tokens=1&tokens=2", "twice"),
        ("files:x?tokens=1", "files: models take pictures"),
        ("files:x?pictures=2", "yes or no"),
        ("local:", "known forms"),
    ],
)
def test_bad_names_are_told(name: str, word: str) -> None:
    with pytest.raises(BadModelName, match=word):
        make_model(name)


@pytest.mark.parametrize("path", ["/nowhere", "./nowhere", "~/nowhere/at/all", "nowhere.gguf", "org/nowhere.gguf"])
def test_weights_that_are_not_there(path: str) -> None:
    with pytest.raises(BadModelName, match=r"no weights at .*nowhere"):
        make_model(f"local:{path}")


def test_weights_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CannotLoad, match=re.escape(f"cannot load the weights {tmp_path}")):
        make_model(f"local:{tmp_path}").ask([request("a"), request("b")])


def test_changed_weights_have_another_name(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"one")
    first = make_model(f"local:{tmp_path}").name
    assert make_model(f"local:{tmp_path}").name == first
    (tmp_path / "model.safetensors").write_bytes(b"other")
    assert make_model(f"local:{tmp_path}").name != first
