"""The split of the shared table's problems, which is made once, and the log of looks at its held-out half."""

from __future__ import annotations

import json

from benchmarks.programs.evaluate import LOG
from benchmarks.programs.split import TOGETHER, committed, family_of, split_of

LOOKS = 4  # three, and the final one


def test_the_committed_split_is_what_its_seed_gives() -> None:
    parts = committed()
    assert split_of([*parts["development"], *parts["held_out"]]) == parts


def test_parts_are_disjoint_halves_of_every_family() -> None:
    parts = committed()
    assert not set(parts["development"]) & set(parts["held_out"])
    families = {family_of(group) for group in parts["development"]}
    for family in families - TOGETHER:
        kept, held = (sum(family_of(group) == family for group in parts[name]) for name in ("development", "held_out"))
        assert 0 <= kept - held <= 1
    assert not any(family_of(group) in TOGETHER for group in parts["held_out"])


def test_held_out_problems_are_looked_at_a_few_times_at_most() -> None:
    looks = LOG.read_text().splitlines() if LOG.exists() else []
    assert len(looks) <= LOOKS and all("at" in json.loads(look) for look in looks)
