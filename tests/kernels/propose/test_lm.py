"""The language model as a proposer: what it is asked, what is made of its answers, and what bad ones cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.library import get
from foretell.kernels.profiles import Budgets
from foretell.kernels.propose.lm import LmProposer, NoAnswer, from_name
from foretell.kernels.propose.names import make_proposer
from foretell.kernels.protocols import Proposer
from foretell.kernels.search import StopReason, load_run
from foretell.kernels.search.driver import Informed
from foretell.kernels.task import Task
from foretell.lm import BadModelName, Cached, Failure, LanguageModel, Reply, Request, Trouble
from foretell.testing.conformance import ProposerConformance
from tests.kernels.propose.world import REFERENCE, SayingModel, ScriptedBench
from tests.kernels.search.world import TASK, Killed, journal_of, kill_after, make_search, small
from tests.lm.endpoint_server import Say, completion, serving


def whole(i: int, request: Request) -> str:
    """An honest model: what it writes depends on what it is asked, and on nothing else."""
    return f"Sure.\n```cpp\nint n{request.id};\nx1.{int(request.id, 16) % 97}\n```\n"


def lm(answer: Any = whole, language: str = "cpp", **settings: Any) -> tuple[LmProposer, SayingModel]:
    model = SayingModel(answer)
    return LmProposer(model, language, **settings), model


def propose(proposer: LmProposer, count: int = 4, known: set[str] | None = None, seed: int = 0) -> list[Candidate]:
    return proposer.propose(TASK, [REFERENCE], count, np.random.default_rng(seed), known or {REFERENCE.id})


class TestConformance(ProposerConformance):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return lm()[0]

    @pytest.fixture
    def task(self) -> Task:
        return TASK


class TestConformanceOfPatches(ProposerConformance):
    @pytest.fixture
    def proposer(self) -> Proposer:
        def patch(i: int, request: Request) -> str:
            top = request.messages[1].content.partition("<<<program ")[2].split("\n")[1]
            return f"```diff\n@@ -1 +1,2 @@\n {top}\n+int n{request.id};\n```"

        return lm(patch, form="patch")[0]

    @pytest.fixture
    def task(self) -> Task:
        return TASK


def test_children_tell_who_wrote_them_and_how() -> None:
    proposer, model = lm()
    found = propose(proposer)
    assert len(found) == 4
    wrote = Origin("model", {"by": "language model", "answer": "file"})
    assert all(child.origin == wrote for child in found)
    assert all(child.parents == (REFERENCE.id,) for child in found)
    assert len({request.seed for request in model.requests}) == 4
    assert {request.temperature for request in model.requests} == {0.8}
    assert proposer.totals.programs == proposer.totals.replies == 4
    assert proposer.totals.money == 2.0
    assert not proposer.troubles


def test_bad_answers_are_asked_for_once_more_with_the_reason_and_counted() -> None:
    first = ("no code", "```cpp\nint c;", f"```cpp\n{REFERENCE.source}```", "```diff\n@@\n-int nowhere;\n```")
    proposer, model = lm(lambda i, request: first[i] if i < 4 else whole(i, request) if i < 6 else "no again")
    found = propose(proposer)
    assert len(found) == 2
    assert proposer.troubles == {
        "answer:no_code": 3, "answer:cut_off": 1, "answer:known": 1, "answer:patch_not_found": 1,
    }  # fmt: skip
    mended = model.requests[4:]
    assert [len(request.messages) for request in mended] == [4] * 4
    assert "there is no block of code" in mended[0].messages[3].content
    assert "is known already" in mended[2].messages[3].content
    assert mended[3].messages[2].content == first[3]


@pytest.mark.parametrize(
    "said", ["", "I cannot.", "```cpp\nint same;\n```", "\ud800", "```cpp\n\0\n```", "x" * 300_000]
)
def test_useless_answers_end_in_an_empty_batch_and_no_exception(said: str) -> None:
    proposer, model = lm(lambda i, request: said)
    same = Candidate(TASK.name, "cpp", "int same;\n")
    assert propose(proposer, 3, {REFERENCE.id, same.id}) == []
    assert sum(proposer.troubles.values()) == len(model.requests) == 12


def test_equal_programs_count_once() -> None:
    proposer, _ = lm(lambda i, request: "```cpp\nint same;\n```")
    assert len(propose(proposer)) == 1
    assert proposer.troubles == {"answer:known": 6}


def test_a_spent_budget_ends_it_and_a_silent_model_stops_it() -> None:
    over, model = lm(lambda i, request: Failure(Trouble.OVER_BUDGET, "nothing left"))
    assert propose(over) == []
    assert len(model.requests) == 4
    silent, _ = lm(lambda i, request: Failure(Trouble.UNREACHABLE, "no connection to there"))
    with pytest.raises(NoAnswer, match=r"no answer to 4 questions \(no connection to there\)"):
        propose(silent)
    assert silent.troubles == {"request:unreachable": 4}
    some, _ = lm(lambda i, request: whole(i, request) if i == 2 else Failure(Trouble.TIMEOUT, "slow"))
    assert len(propose(some)) == 1


def test_a_program_in_another_language_is_asked_for_whole() -> None:
    task = get("softmax", "gpu")
    torch = Candidate(task.name, "torch", task.references["torch"], Origin("reference"))
    proposer, model = lm(lambda i, request: "```python\nimport triton\n```", language="triton", form="patch")
    [child] = proposer.propose(task, [torch], 1, np.random.default_rng(0), {torch.id})
    assert child.language == "triton"
    assert "```python" in model.requests[0].messages[1].content
    assert "unified diff" not in model.requests[0].messages[1].content


def test_a_search_tells_it_where_it_stands(tmp_path: Path) -> None:
    proposer, model = lm()
    assert isinstance(proposer, Informed)
    profile = small(budgets=Budgets(100, 1e6, 24))
    state = make_search(tmp_path, "all", bench=ScriptedBench(), proposer=proposer, profile=profile).run()
    assert state.considered == 24
    assert state.finished is not None
    first, later = model.requests[0].messages[1].content, model.requests[-1].messages[1].content
    assert "fake (cpu), 2 cores" in first
    assert "Measured: speedup" not in first
    assert "Measured: speedup" in later
    assert "spills: 7" in later


def test_a_killed_search_asks_the_same_again(tmp_path: Path) -> None:
    profile = small(budgets=Budgets(100, 1e6, 16))

    def search(name: str, model: LanguageModel, **more: Any) -> Any:
        proposer = LmProposer(model, "cpp", name="lm")
        return make_search(tmp_path / name, "top", bench=ScriptedBench(), proposer=proposer, profile=profile, **more)

    straight, again = SayingModel(whole), SayingModel(whole)
    search("whole", straight).run()
    with pytest.raises(Killed):
        search("killed", Cached(again, tmp_path / "cache"), on_event=kill_after(2)).run()
    search("killed", Cached(again, tmp_path / "cache")).resume()
    assert journal_of(tmp_path / "killed") == journal_of(tmp_path / "whole")
    assert [request.id for request in again.requests] == [request.id for request in straight.requests]


def test_answers_in_files_are_waited_for_and_taken_up(tmp_path: Path) -> None:
    profile = small(budgets=Budgets(100, 1e6, 8))
    name = f"files:{tmp_path / 'model'}?temperature=0.5"

    def search() -> Any:
        proposer = make_proposer(name, TASK, "cpp")
        assert proposer.name == name
        return make_search(tmp_path / "run", "all", bench=ScriptedBench(), proposer=proposer, profile=profile)

    with pytest.raises(NoAnswer, match="no answer yet: write it to"):
        search().run()
    assert load_run(tmp_path / "run").finished is None
    asked = [json.loads(line) for line in (tmp_path / "model/requests.jsonl").read_text().splitlines()]
    assert {one["temperature"] for one in asked} == {0.5}
    answers = [{"id": one["id"], "text": f"```cpp\nint a{i};\nx{i + 1}.5\n```"} for i, one in enumerate(asked)]
    (tmp_path / "model/answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    state = search().resume()
    assert state.considered == 8
    assert state.best is not None
    assert state.finished is not None
    assert state.finished.reason is StopReason.CANDIDATES


def test_budgets_of_money_hold_at_an_endpoint(tmp_path: Path) -> None:
    def script(i: int, body: dict[str, Any]) -> Say:
        return Say(body=completion(f"```cpp\nint n{i};\n```", prompt=1000, answer=100))

    with serving(script) as server:
        url = f"openai:m@{server.url}?prompt_price=100&answer_price=100&money=1&max_tokens=500&concurrency=1"
        proposer = from_name(url, "cpp", tmp_path)
        found = propose(proposer, 8)
    assert 1 <= len(found) == len(server.bodies) < 8
    assert proposer.totals.money <= 1.0
    assert proposer.troubles["request:over_budget"] == 8 - len(found)


@pytest.mark.parametrize(
    "name",
    [
        "files:x?form=poem", "files:x?max_tokens=0", "files:x?max_tokens=many", "files:x?temperature=hot",
        "files:x?temperature=-1", "files:x?what=1", "openai:m", "files:x?temperature=nan",
    ],
)  # fmt: skip
def test_bad_names(name: str) -> None:
    with pytest.raises(BadModelName):
        from_name(name, "cpp")


def test_a_cut_off_answer_is_told_so() -> None:
    proposer, model = lm(lambda i, request: Reply("```cpp\nint c;", cut_off=True))
    assert propose(proposer, 1) == []
    assert proposer.troubles == {"answer:cut_off": 4}
    assert "cut off" in model.requests[1].messages[3].content
