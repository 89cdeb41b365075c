from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foretell.belief import KEYS, Forecast, bin_of
from foretell.kernels.forecast import RooflineForecaster, brief
from foretell.kernels.forecast.answer import CHOICES, FAILURE_KEY
from foretell.kernels.forecast.lm import FLOOR, LmForecaster, from_name, is_name
from foretell.kernels.forecast.roofline import CERTAIN
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build, Forecaster, Subject
from foretell.lm import BadModelName, Cached, Failure, Reply, Request, Trouble, Usage
from tests.kernels.forecast.world import DEVICE, TASK, WorldConformance, make_world
from tests.lm.endpoint_server import Say, completion, serving

SUBJECTS = [subject for subject in make_world(0).subjects if subject.build and subject.build.ok][:8]


class Fake:
    """A model that answers as a function says, given the request and how many came before it."""

    def __init__(self, answer: Callable[[int, Request], Reply | Failure | str]) -> None:
        self.name = "fake"
        self.requests: list[Request] = []
        self._answer = answer

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        found: list[Reply | Failure] = []
        for request in requests:
            answer = self._answer(len(self.requests), request)
            self.requests.append(request)
            found.append(Reply(answer, Usage(100, 10), None, 2.0, 0.5) if isinstance(answer, str) else answer)
        return found


def stated(key: str = "F", p_fail: float = 0.1, scale: float = 1.0) -> str:
    return json.dumps({"reasoning": "so", "p_fail": p_fail, "bins": dict.fromkeys(KEYS, 0.0) | {key: scale}})


def by_content(i: int, request: Request) -> Reply | Failure | str:
    """An honest model: what it says depends on all it was shown, and on nothing else."""
    number = int(request.id, 16)
    if request.choices:
        weights = [1 + (number >> (4 * j)) % 16 for j in range(len(CHOICES))]
        probs = [weight / sum(weights) for weight in weights]
        return Reply("A", choice_probs=dict(zip(CHOICES, probs, strict=True)))
    return stated(KEYS[number % len(KEYS)], (number >> 8) % 100 / 100)


class Conformance(WorldConformance):
    form = ""

    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return LmForecaster(Fake(by_content), self.form)

    @pytest.fixture
    def twin(self) -> Forecaster:
        return LmForecaster(Fake(by_content), self.form)


class TestDistribution(Conformance):
    form = "distribution"


class TestDirect(Conformance):
    form = "direct"


def fallback() -> Forecast:
    return RooflineForecaster().forecast(TASK, DEVICE, SUBJECTS[:1])[0]


def test_a_stated_distribution_becomes_the_forecast() -> None:
    forecaster = LmForecaster(Fake(lambda i, r: stated("F", 0.1)))
    (forecast,) = forecaster.forecast(TASK, DEVICE, SUBJECTS[:1])
    assert forecast.p_fail == 0.1
    assert forecast.bins()[bin_of(1.5)] == pytest.approx(1.0 - FLOOR * 7 / 8)
    assert min(forecast.bins()) == pytest.approx(FLOOR / 8)
    assert not forecaster.troubles
    assert forecaster.last_troubles == (None,)
    assert (forecaster.totals.money, forecaster.totals.prompt_tokens, forecaster.cost_s) == (0.5, 100, 2.0)


def test_nothing_is_certain() -> None:
    low, high = (LmForecaster(Fake(lambda i, r, p=p: stated("A", p))) for p in (0.0, 1.0))  # type: ignore[misc]
    assert low.forecast(TASK, DEVICE, SUBJECTS[:1])[0].p_fail == pytest.approx(1.0 - CERTAIN)
    assert high.forecast(TASK, DEVICE, SUBJECTS[:1])[0].p_fail == CERTAIN


def test_an_unreadable_answer_is_asked_for_once_more() -> None:
    fake = Fake(lambda i, r: "about 2x, I guess" if i == 0 else stated("G"))
    forecaster = LmForecaster(fake)
    (forecast,) = forecaster.forecast(TASK, DEVICE, SUBJECTS[:1])
    assert max(forecast.bins()) == forecast.bins()[6]
    assert forecaster.totals.retries == 1
    assert not forecaster.troubles
    first, second = fake.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert [m.role for m in second.messages[2:]] == ["assistant", "user"]
    assert "about 2x" in second.messages[2].content
    assert "no JSON object" in second.messages[3].content
    assert forecaster.cost_s == 4.0


def test_what_stays_unreadable_is_the_fallback_and_counted() -> None:
    bad = {0: "x" * 1_000_000, 1: stated(scale=7.0), 2: "{"}
    fake = Fake(lambda i, r: bad[i % 3] if i < 6 else stated())
    forecaster = LmForecaster(fake)
    found = forecaster.forecast(TASK, DEVICE, SUBJECTS[:3])
    assert found == [fallback()] * 3
    assert len(fake.requests) == 6  # once more each, not again and again
    assert all(len(r.messages[2].content) <= 2000 for r in fake.requests[3:])
    assert forecaster.troubles == {"answer:too_long": 1, "answer:bad_sum": 1, "answer:no_answer": 1}
    assert forecaster.last_troubles == ("answer:too_long", "answer:bad_sum", "answer:no_answer")
    forecaster.forecast(TASK, DEVICE, SUBJECTS[:1])
    assert forecaster.last_troubles == (None,)
    assert sum(forecaster.troubles.values()) == 3


def test_failed_requests_are_the_fallback_and_counted() -> None:
    kinds = list(Trouble)
    subjects = (SUBJECTS * 2)[: len(kinds)]
    fake = Fake(lambda i, r: Failure(kinds[i], "no", Usage(7), money=0.25))
    forecaster = LmForecaster(fake)
    assert forecaster.forecast(TASK, DEVICE, subjects) == [fallback()] * len(kinds)
    assert forecaster.troubles == {f"request:{kind.value}": 1 for kind in kinds}
    assert len(fake.requests) == len(kinds)
    assert forecaster.totals.money == 0.25 * len(kinds)  # what may have been charged counts


def test_renormalising_is_recorded() -> None:
    forecaster = LmForecaster(Fake(lambda i, r: stated(scale=1.1 if i else 1.0)))
    forecaster.forecast(TASK, DEVICE, SUBJECTS[:3])
    assert forecaster.totals.renormalised == 2
    assert not forecaster.troubles


def test_a_failed_build_costs_no_question() -> None:
    fake = Fake(lambda i, r: stated())
    broken = Subject(SUBJECTS[0].candidate, Build(Status.COMPILE_ERROR, "no"))
    found = LmForecaster(fake).forecast(TASK, DEVICE, [broken, SUBJECTS[1]])
    assert len(fake.requests) == 1
    assert found[0].p_fail == CERTAIN
    blind = LmForecaster(fake, show=("reference",)).forecast(TASK, DEVICE, [broken])
    assert blind[0].p_fail == 0.1  # builds that are not shown are not used either


def test_direct_probabilities() -> None:
    probs = {"E": 0.3, "F": 0.3, FAILURE_KEY: 0.2}
    fake = Fake(lambda i, r: Reply("E", choice_probs=probs))
    forecaster = LmForecaster(fake, "direct")
    (forecast,) = forecaster.forecast(TASK, DEVICE, SUBJECTS[:1])
    assert fake.requests[0].choices == CHOICES
    assert fake.requests[0].schema is None
    assert forecast.p_fail == pytest.approx(0.25)
    assert forecast.bins()[4] == pytest.approx(0.5, abs=FLOOR)
    off = LmForecaster(Fake(lambda i, r: Reply("E", choice_probs={"E": 1e-5})), "direct")
    assert off.forecast(TASK, DEVICE, SUBJECTS[:1]) == [fallback()]
    assert off.troubles == {"answer:off_form": 1}


def test_what_trees_expect_is_told_to_models_that_were_trained_so() -> None:
    alone, told = Fake(by_content), Fake(by_content)
    LmForecaster(alone, "direct", style=brief.ALONE).forecast(TASK, DEVICE, SUBJECTS[:1])
    trees = RooflineForecaster()
    LmForecaster(told, "direct", style=brief.TOLD, trees=trees).forecast(TASK, DEVICE, SUBJECTS[:1])
    (word,) = trees.forecast(TASK, DEVICE, SUBJECTS[:1])
    (one,), (other,) = (request.messages for request in (alone.requests[0], told.requests[0]))
    assert "hundredths" not in one.content
    assert f"{FAILURE_KEY} {100 * word.p_fail:.0f}, " in other.content
    assert f"; middle {2**word.median:.3g}x." in other.content
    sure = Fake(lambda i, r: Reply("E", choice_probs={"E": 1.0}))
    second = LmForecaster(sure, "direct", style=brief.TOLD, trees=trees)
    (believed,) = second.forecast(TASK, DEVICE, SUBJECTS[:1])
    assert believed == word.with_bins(believed.bins(), believed.p_fail)
    shipped = LmForecaster(Fake(by_content), "direct", style=brief.TOLD)
    assert "hundredths" in shipped.requests(TASK, DEVICE, SUBJECTS[:1])[0].messages[0].content


def test_cached_replies_cost_nothing(tmp_path: Path) -> None:
    fake = Fake(by_content)
    first, second = (LmForecaster(Cached(fake, tmp_path)) for _ in range(2))
    assert first.forecast(TASK, DEVICE, SUBJECTS) == second.forecast(TASK, DEVICE, SUBJECTS)
    assert len(fake.requests) == len(SUBJECTS)
    assert (first.totals.money, second.totals.money) == (0.5 * len(SUBJECTS), 0.0)
    assert second.totals.cached == len(SUBJECTS)
    assert second.cost_s == first.cost_s


def test_measurements_enter_the_prompt_of_their_own_task_alone() -> None:
    fake = Fake(by_content)
    forecaster = LmForecaster(fake, neighbours=2)
    measured = [(s, Measurement(Status.OK, speedup=1.0 + i, low=1.0, high=9.0)) for i, s in enumerate(SUBJECTS[1:])]
    forecaster.learn(TASK, DEVICE, measured)
    forecaster.forecast(TASK, DEVICE, SUBJECTS[:1])
    assert fake.requests[-1].messages[1].content.count("% of its text in common") == 2
    forecaster.forecast(TASK, replace(DEVICE, name="another"), SUBJECTS[:1])
    assert "in common" not in fake.requests[-1].messages[1].content


def test_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    top = [{"token": key, "logprob": math.log(0.1)} for key in CHOICES]
    logprobs = {"content": [{"top_logprobs": top}]}

    def script(i: int, body: dict[str, Any]) -> Say:
        if body.get("logprobs"):
            return Say(body=completion("A", logprobs=logprobs))
        return Say(body=completion("garbled" if len(body["messages"]) == 2 else f"```json\n{stated('H')}\n```"))

    with serving(script) as server:
        one = from_name(f"openai:m@{server.url}?show=reference,device&max_tokens=99&concurrency=4", tmp_path)
        found = one.forecast(TASK, DEVICE, SUBJECTS)
        assert all(max(f.bins()) == f.bins()[7] for f in found)
        assert one.totals.retries == len(SUBJECTS)
        assert server.bodies[0]["max_tokens"] == 99
        direct = from_name(f"openai:m@{server.url}?form=direct", tmp_path).forecast(TASK, DEVICE, SUBJECTS[:2])
        assert [f.p_fail for f in direct] == pytest.approx([1 / 9] * 2)
        asked = len(server.bodies)
        assert from_name(f"openai:m@{server.url}?show=reference,device&max_tokens=99", tmp_path).forecast(
            TASK, DEVICE, SUBJECTS
        ) == found  # fmt: skip
        assert len(server.bodies) == asked
    assert from_name(f"openai:m@{server.url}?neighbours=0", tmp_path).name.startswith("lm:distribution:openai:m@")


def test_by_files(tmp_path: Path) -> None:
    forecaster = from_name(f"files:{tmp_path}", tmp_path / "cache")
    assert forecaster.forecast(TASK, DEVICE, SUBJECTS) == [fallback()] * len(SUBJECTS)
    assert forecaster.troubles == {"request:missing": len(SUBJECTS)}
    lines = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    answers = [json.dumps({"id": line["id"], "text": stated("C")}) for line in lines]
    (tmp_path / "answers.jsonl").write_text("\n".join(answers))
    found = from_name(f"files:{tmp_path}", tmp_path / "cache").forecast(TASK, DEVICE, SUBJECTS)
    assert all(max(f.bins()) == f.bins()[2] for f in found)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("roofline", "known forms"),
        ("files:x?form=poem", "distribution, direct"),
        ("files:x?show=everything", "unknown: everything"),
        ("files:x?neighbours=few", "neighbours"),
        ("files:x?max_tokens=0", "max_tokens"),
        ("files:x?depth=2", "unknown: depth"),
        ("openai:m@nowhere", "openai:MODEL@URL"),
    ],
)
def test_bad_names_are_told(name: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(BadModelName, match=word):
        from_name(name, tmp_path)


def test_names_and_settings() -> None:
    assert is_name("local:some/path")
    assert not is_name("features")
    with pytest.raises(ValueError, match="form"):
        LmForecaster(Fake(by_content), "poem")
    with pytest.raises(ValueError, match="unknown: smell"):
        LmForecaster(Fake(by_content), show=("smell",))
