"""Seeds of input sets: none tells of another, and none can be searched for."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from foretell.kernels.bench.inputs import MOST_OWN_SEED, InputPool
from foretell.kernels.bench.secret import Secret
from foretell.kernels.library import get


def test_numbers_have_no_relation() -> None:
    secret = Secret(12345)
    numbers = [secret.number("workload", index) for index in range(2000)]
    assert len(set(numbers)) == 2000
    assert 0.49 < np.mean([number.bit_count() / 128 for number in numbers]) < 0.51
    flips = [(a ^ b).bit_count() / 128 for a, b in itertools.pairwise(numbers)]
    assert 0.49 < np.mean(flips) < 0.51
    assert secret.number("workload", 1) == Secret(12345).number("workload", 1) != Secret(12346).number("workload", 1)
    assert secret.next() != secret.next()


def test_seeds_are_too_long_to_be_searched() -> None:
    """A user's own code gets 32 bits, of which none follow from those of other sets."""
    task = get("row_sum")
    pool = InputPool(task, Secret(7))
    seeds = [pool._seed(task.workloads[0], index) for index in range(64)]
    assert min(seeds) > 1 << 100 and len(set(seeds)) == 64
    next_turn = InputPool(task, Secret(7), 1)
    assert not {next_turn._seed(task.workloads[0], index) for index in range(64)} & set(seeds)
    own = InputPool(replace(task, files={"module.py": ""}), Secret(7))
    assert max(own._seed(task.workloads[0], index) for index in range(64)) < MOST_OWN_SEED
