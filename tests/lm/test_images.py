from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from foretell.lm import Budget, Cached, Failure, FileModel, Image, Message, Reply, Request, Trouble
from foretell.lm.endpoint import Endpoint
from foretell.lm.openai import OpenAIModel
from tests.lm.endpoint_server import Say, completion, serving

PIXELS = b"\x89PNG\r\n\x1a\n" + b"secret pixels" * 20
KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("FORETELL_LM_KEY", KEY)


def request(*pictures: bytes, text: str = "what is this?") -> Request:
    return Request((Message("system", "look"), Message("user", text, tuple(Image(data) for data in pictures))))


def test_pictures_travel_as_data_urls_after_the_text() -> None:
    with serving(lambda i, body: Say(body=completion("a cat"))) as server:
        (reply,) = OpenAIModel(Endpoint(server.url, "m", timeout_s=60.0)).ask([request(PIXELS, PIXELS + b"2")])
    assert isinstance(reply, Reply)
    system, user = server.bodies[0]["messages"]
    assert system == {"role": "system", "content": "look"}  # text alone stays as it was
    text, first, second = user["content"]
    assert text == {"type": "text", "text": "what is this?"}
    assert first["type"] == second["type"] == "image_url"
    head, _, encoded = first["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(encoded) == PIXELS


def test_ids_cover_the_bytes_and_text_keeps_its_old_ids() -> None:
    assert len({request().id, request(PIXELS).id, request(PIXELS + b".").id, request(PIXELS, PIXELS).id}) == 4
    assert request(PIXELS).id == request(PIXELS).id
    jpeg = Request((Message("user", "x", (Image(b"\xff\xd8\xff", "image/jpeg"),)),))
    assert jpeg.to_dict()["messages"][0]["images"][0]["media"] == "image/jpeg"
    assert "images" not in request().to_dict()["messages"][1]


def test_no_bytes_in_what_is_written_or_printed() -> None:
    one = request(PIXELS)
    shown = repr(one) + json.dumps(one.to_dict())
    assert "secret" not in shown
    assert base64.b64encode(PIXELS).decode()[:40] not in shown
    with pytest.raises(ValueError, match="digest"):
        Request.from_dict(one.to_dict())


def test_the_cache_tells_pictures_apart_and_holds_none(tmp_path: Path) -> None:
    with serving(lambda i, body: Say(body=completion(f"answer {i}"))) as server:
        cached = Cached(OpenAIModel(Endpoint(server.url, "m", timeout_s=60.0)), tmp_path)
        texts = [
            a.text for p in (PIXELS, PIXELS + b"2", PIXELS) for a in cached.ask([request(p)]) if isinstance(a, Reply)
        ]
    assert texts == ["answer 0", "answer 1", "answer 0"]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))
    assert b"secret" not in kept
    assert base64.b64encode(PIXELS)[:40] not in kept
    assert KEY.encode() not in kept


@pytest.mark.parametrize("quoted", ["bad picture {url} sent", "cannot decode {encoded}"])
def test_a_server_that_quotes_the_picture_is_not_quoted(quoted: str) -> None:
    encoded = base64.b64encode(PIXELS).decode()
    told = {"error": {"message": quoted.format(url=Image(PIXELS).url, encoded=encoded)}}
    with serving(lambda i, body: Say(400, told)) as server:
        (failure,) = OpenAIModel(Endpoint(server.url, "m", timeout_s=60.0)).ask([request(PIXELS)])
    assert isinstance(failure, Failure)
    assert encoded[:24] not in failure.message
    assert "(data)" in failure.message


def test_a_budget_counts_pictures() -> None:
    with serving(lambda i, body: Say(body=completion())) as server:
        endpoint = Endpoint(server.url, "m", timeout_s=60.0, image_tokens=500)
        plain, seen = endpoint.worst_usage(request()), endpoint.worst_usage(request(PIXELS, PIXELS))
        assert seen.prompt_tokens == plain.prompt_tokens + 1000
        (failure,) = OpenAIModel(endpoint, Budget(tokens=plain.tokens)).ask([request(PIXELS)])
    assert isinstance(failure, Failure)
    assert failure.kind is Trouble.OVER_BUDGET
    assert not server.bodies


def test_files_take_pictures_where_that_is_allowed(tmp_path: Path) -> None:
    model = FileModel(tmp_path, pictures=True)
    one = request(PIXELS, PIXELS + b"2")
    (missing,) = model.ask([one])
    assert isinstance(missing, Failure)
    assert missing.kind is Trouble.MISSING
    line = json.loads((tmp_path / "requests.jsonl").read_text())
    written = [tmp_path / "pictures" / f"{image['sha256']}.png" for image in line["messages"][1]["images"]]
    assert [path.read_bytes() for path in written] == [PIXELS, PIXELS + b"2"]
    (tmp_path / "answers.jsonl").write_text(json.dumps({"id": one.id, "text": "a cat"}))
    (reply,) = model.ask([one])
    assert isinstance(reply, Reply)
    assert reply.text == "a cat"


def test_files_take_text_only_unless_told_otherwise(tmp_path: Path) -> None:
    refused, missing = FileModel(tmp_path).ask([request(PIXELS), request()])
    assert isinstance(refused, Failure)
    assert refused.kind is Trouble.REFUSED
    assert isinstance(missing, Failure)
    assert missing.kind is Trouble.MISSING
    assert "sha256" not in (tmp_path / "requests.jsonl").read_text()


def test_what_is_no_picture_is_told() -> None:
    for bad in ((b"", "image/png"), (b"GIF89a", "image/gif"), (PIXELS, "image/jpeg")):
        with pytest.raises(ValueError, match=r"picture|bytes"):
            Image(*bad)
    with pytest.raises(ValueError, match="user"):
        Message("system", "x", (Image(PIXELS),))
