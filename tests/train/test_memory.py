"""Choosing what a model remembers: rows spread over operations and speeds, the columns trees ask for, plain words."""

from __future__ import annotations

from foretell.kernels.forecast.trained import shipped
from foretell.train.memory import most_asked, spread, words


def test_rows_are_spread_over_operations_and_speeds() -> None:
    rows = [
        {"id": f"{task}{i:03d}", "task": task, "language": "cuda", "speedup": 2.0 ** (i / 50)}
        for task in ("one", "two")
        for i in range(200)
    ]
    chosen = spread([*rows, {"id": "lone", "task": "three", "language": "triton", "speedup": 1.0}], 10, 0)
    assert [r["task"] for r in chosen] == ["one"] * 10 + ["three"] + ["two"] * 10
    places = [int(r["id"][-3:]) for r in chosen[:10]]
    assert all(20 * i <= place < 20 * (i + 1) for i, place in enumerate(places))
    assert spread(rows, 10, 0) == spread(rows[::-1], 10, 0) != spread(rows, 10, 1)


def test_columns_are_those_that_trees_ask_for() -> None:
    tier = shipped().tiers["gpu.build"]
    few, more = most_asked(tier, 5), most_asked(tier, 24)
    assert more[:5] == few and len(set(more)) == 24 and set(more) <= set(tier.names)


def test_words_about_a_kernel() -> None:
    knobs = '{"knobs": {"block": 1024, "form": "plain", "slip": "none", "warps": 8}}'
    assert words({"origin": "template", "detail": knobs}) == "block 1024, form plain, warps 8"
    assert words({"origin": "model", "detail": "{}"}) == "by a language model"
    assert words({"origin": "person", "detail": "{}"}) == "by a person"
    many = '{"knobs": {' + ", ".join(f'"knob{i}": "value{i}"' for i in range(40)) + "}}"
    assert len(words({"origin": "template", "detail": many})) <= 120
