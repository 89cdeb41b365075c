"""Deferred fields: made once, when first read, and then like any other."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from foretell.kernels.deferred import deferrable, deferred


@deferrable("text", "numbers")
@dataclass(frozen=True)
class Thing:
    name: str
    text: str = "plain"
    numbers: dict[str, int] = field(default_factory=dict)


def give() -> dict[str, Any]:
    return {"name": "other", "text": "made", "numbers": {"a": 1}}


def test_defaults_stay() -> None:
    assert Thing("a") == Thing("a", "plain", {})
    assert repr(Thing("a")) == "Thing(name='a', text='plain', numbers={})"


def test_fields_are_made_once_and_those_at_hand_stay() -> None:
    calls = []
    thing = deferred(Thing, {"name": "a"}, lambda: calls.append(1) or give())
    assert thing.name == "a" and not calls
    assert thing.numbers == {"a": 1} and thing.text == "made" and thing.name == "a"
    assert len(calls) == 1
    assert vars(thing) == vars(Thing("a", "made", {"a": 1}))


@pytest.mark.parametrize("use", [repr, replace, pickle.dumps, lambda thing: thing == Thing("b")])
def test_it_is_like_one_made_whole(use: Any) -> None:
    thing = deferred(Thing, {"name": "a"}, give)
    use(thing)
    assert pickle.loads(pickle.dumps(thing)) == thing == Thing("a", "made", {"a": 1})


def test_what_failed_fails_again() -> None:
    thing = deferred(Thing, {"name": "a"}, lambda: {}["gone"])
    for _ in range(2):
        with pytest.raises(KeyError, match="gone"):
            _ = thing.text


def test_a_maker_may_leave_fields_to_another() -> None:
    calls = []
    inner = deferred(Thing, {"name": "a", "text": "inner"}, lambda: calls.append(1) or give())
    outer = deferred(Thing, {"name": "b"}, lambda: vars(inner))
    assert outer.text == "inner" and not calls
    assert outer.numbers == {"a": 1} and outer == Thing("b", "inner", {"a": 1})


def test_a_field_that_nobody_makes_is_missing() -> None:
    with pytest.raises(AttributeError, match="Thing has no value for 'text'"):
        _ = deferred(Thing, {"name": "a"}, dict).text
