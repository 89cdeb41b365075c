"""The summary of a search says what its language models were asked, cost and got wrong."""

from __future__ import annotations

import json
import re
from typing import Any

from foretell.cli.summary import best_path
from foretell.lm.paid import Paid
from foretell.lm.usage import usage_of
from tests.cli.conftest import FakeBench, Invoke
from tests.lm.endpoint_server import Say, completion, serving

SMALL = ("--profile", "quick", "--measurements", "4", "--candidates", "12", "--no-report")


def _proposals(number: int, body: dict[str, Any]) -> Say:
    """A refused request, an answer without code, and programs."""
    if number == 0:
        return Say(400, {"error": {"message": "not allowed"}})
    if number == 1:
        return Say(200, completion("I would rather not.", 100, 7))
    return Say(200, completion(f'```cpp\nextern "C" void kernel() {{ /* */ int a = {number}; }}\n```', 100, 20))


def test_a_proposer_is_accounted_for(bench: FakeBench, invoke: Invoke) -> None:
    with serving(_proposals) as server:
        result = invoke("search", "softmax", *SMALL, "--proposer", f"openai:m@{server.url}?concurrency=1", "--json")
        [one] = json.loads(result.stdout)["language_models"]["parts"]
        answered = len(server.bodies) - 1
    assert one["role"] == "proposer" and one["refused"] == 1 and one["unreadable"] == 1 and one["failed"] == 0
    assert one["prompt_tokens"] == 100 * answered and one["tokens"] == one["prompt_tokens"] + one["answer_tokens"]
    assert one["questions"] == answered + 1


def test_a_forecaster_within_others_is_accounted_for(bench: FakeBench, invoke: Invoke) -> None:
    with serving(lambda number, body: Say(200, completion("no idea", 50, 3))) as server:
        name = f"online:openai:m@{server.url}"
        result = invoke("search", "softmax", *SMALL, "--forecaster", name)
    assert result.exit_code == 0, result.output
    line = next(line for line in result.stdout.splitlines() if "language model as forecaster" in line)
    assert re.search(r"[\d,]+ tokens \([\d,]+ read, [\d,]+ written\)", line)
    assert "0 refused" in line and re.search(r"[1-9]\d* unreadable", line)


def test_a_search_without_language_models_does_not_mention_them(bench: FakeBench, invoke: Invoke) -> None:
    assert "language model" not in invoke("search", "softmax", *SMALL).stdout


def test_usage_is_summed_over_wrapped_parts() -> None:
    class Asker:
        name = "m"

        def __init__(self) -> None:
            self.totals = Paid(asked=2, replies=1, cached=1, prompt_tokens=10, answer_tokens=5)
            self.troubles = {"request:declined": 1, "request:timeout": 2, "answer:bad_sum": 3, "answer:known": 4}

    class Wrapper:
        wrapped = (Asker(), object(), Asker())

    found = usage_of("forecaster", Wrapper())
    assert found is not None and (found.questions, found.cached, found.tokens) == (4, 2, 30)
    assert (found.refused, found.failed, found.unreadable, found.repeated) == (2, 4, 6, 8)
    assert usage_of("proposer", object()) is None


def test_the_winner_is_written_under_a_name_that_measure_takes() -> None:
    from pathlib import Path
    from types import SimpleNamespace

    for language, name in (("cpp", "best.cpp"), ("cuda", "best.py"), ("triton", "best.py"), ("torch", "best.py")):
        state: Any = SimpleNamespace(config={"language": language}, best=None)
        assert best_path(state, Path("r")) == Path("r") / name
