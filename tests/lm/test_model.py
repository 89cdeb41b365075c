from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.lm import Budget, Message, Reply, Request, Spend, Usage
from foretell.lm.model import checked_probs
from foretell.lm.pace import Pace, backoff_s, retry_after_s

texts = st.text(st.characters(codec=None), max_size=40)  # lone surrogates included


@given(texts, st.integers(1, 9), st.floats(0, 2), st.none() | st.integers(0, 9))
def test_a_request_survives_json_with_its_id(text: str, max_tokens: int, temperature: float, seed: int | None) -> None:
    one = Request((Message("system", "s"), Message("user", text)), None, ("A", "B"), max_tokens, temperature, seed)
    again = Request.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again == one
    assert again.id == one.id


def test_ids_tell_requests_apart_and_never_change() -> None:
    one = Request((Message("user", "hi"),))
    others = [
        Request((Message("user", "hi "),)),
        Request((Message("system", "hi"),)),
        replace(one, schema={}),
        replace(one, choices=("A",)),
        replace(one, max_tokens=5),
        replace(one, temperature=0.1),
        replace(one, seed=0),
    ]
    assert len({one.id, *(other.id for other in others)}) == 8
    assert one.id == "8b2e1424cfb4f492cf7876d8"  # files of requests outlive a version


@pytest.mark.parametrize(
    "bad",
    [
        {"messages": ()},
        {"schema": {}, "choices": ("A",)},
        {"choices": ("A", "A")},
        {"choices": (" A",)},
        {"max_tokens": 0},
        {"temperature": float("nan")},
    ],
)
def test_senseless_requests_are_not_made(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Request(**{"messages": (Message("user", "hi"),), **bad})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="role"):
        Message("robot", "hi")


def test_a_reply_survives_json() -> None:
    reply = Reply("x\ud800", Usage(3, 4, True), {"A": 0.25}, 1.5, 0.01, cut_off=True)
    assert Reply.from_dict(json.loads(json.dumps(reply.to_dict()))) == reply


@pytest.mark.parametrize("bad", [{"A": -0.1}, {"A": float("nan")}, {"A": 0.6, "B": 0.6}, {"A": True}, {1: 0.5}, [0.5]])
def test_senseless_probabilities_are_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="probabilit"):
        checked_probs(bad)


def test_a_budget_holds_whatever_the_order() -> None:
    budget = Budget(tokens=100, money=1.0)
    over: list[int] = []
    done: list[int] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(20):
            worst = Spend(rng.randint(1, 30), rng.random() * 0.3)
            held = budget.hold(worst)
            if held is None:
                over.append(seed)
                continue
            share = rng.random()
            budget.settle(held, Spend(int(worst.tokens * share), worst.money * share))
            done.append(seed)
            assert budget.spent.tokens <= 100
            assert budget.spent.money <= 1.0 + 1e-9

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=100)
        assert not thread.is_alive()
    assert over
    assert done


def test_a_hold_is_settled_once() -> None:
    budget = Budget(tokens=10)
    held = budget.hold(Spend(10))
    assert held is not None
    assert budget.hold(Spend(11)) is None  # could never fit: no waiting
    budget.settle(held, Spend(4))
    with pytest.raises(ValueError, match="settled"):
        budget.settle(held, Spend(4))
    assert budget.hold(Spend(7)) is None
    assert Budget().hold(Spend(10**12, 1e9)) is not None


def test_turns_are_spread_and_rests_kept() -> None:
    now = [100.0]
    pace = Pace(30, lambda: now[0])
    assert [pace.turn_in_s() for _ in range(3)] == [0.0, 2.0, 4.0]
    now[0] = 200.0
    assert pace.turn_in_s() == 0.0
    pace.rest(10.0)
    assert pace.turn_in_s() == 10.0
    assert Pace(None).turn_in_s() == 0.0


def test_waits_grow_up_to_a_limit() -> None:
    waits = [backoff_s(attempt, random.Random(0)) for attempt in range(40)]
    assert waits[:7] == sorted(waits[:7])
    assert max(waits) <= 60.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3.0),
        ("2.5", 2.5),
        ("-4", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 99 Jan 1970 00:01:40 GMT", None),
    ],
)
def test_retry_after(text: str, expected: float | None) -> None:
    assert retry_after_s({"retry-after": text}, 10.0) == expected
    assert retry_after_s({}, 10.0) is None


def test_importing_it_imports_nothing_heavy_and_no_kernels() -> None:
    code = (
        "import sys, foretell.lm; print([m for m in ('torch', 'transformers', 'foretell.kernels') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
