"""Fixed splits of the corpus: whole families, whole operations and whole operations' written kernels are held out.

What is left is for training, except near-duplicates of anything held out: those are in no split (`near`).
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPLITS = ("train", "held_family", "held_operation", "held_written", "near")
HELD_FAMILIES = frozenset({"pooling", "recurrence", "sorting", "triangle"})
HELD_OPERATIONS = frozenset(
    (
        "mish", "gelu_backward", "lerp_rows", "geglu", "add_layernorm", "rmsnorm_silu_gate", "row_var",
        "column_mean_square", "argmax_columns", "softmax_causal", "kl_div_rows", "cross_entropy_backward",
        "matmul_residual", "matmul_skinny", "batched_matvec", "conv2d_3x3_relu", "attention_window", "row_cummax",
        "permute_021", "embedding_bag", "dequantize_int4", "lion_step", "sobel",
    )
)  # fmt: skip
ALIKE = 0.85  # Jaccard similarity of token shingles from which two sources count as the same program in other clothes
_SHINGLE, _HASHES, _BAND = 6, 48, 4
_TOKEN = re.compile(r"\w+|[^\w\s]")
_NUMBER = re.compile(r"\b\d\w*")
_PRIME = (1 << 31) - 1


def split_of(family: str, task: str, origin: str) -> str:
    """The split of a row by what it is; near-duplicates are found by `assign`."""
    if family in HELD_FAMILIES:
        return "held_family"
    if task in HELD_OPERATIONS:
        return "held_operation"
    if origin == "model" and zlib.crc32(task.encode()) % 2 == 0:
        return "held_written"
    return "train"


def assign(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The split of every row, from its `family`, `task`, `origin` and `stripped`."""
    found = [split_of(r["family"], r["task"], r["origin"]) for r in rows]
    held = [i for i, split in enumerate(found) if split != "train"]
    train = [i for i, split in enumerate(found) if split == "train"]
    for i in alike(rows, train, held):
        found[i] = "near"
    return found


def alike(rows: Sequence[Mapping[str, Any]], ours: Sequence[int], theirs: Sequence[int]) -> set[int]:
    """Those of `ours` that are near-duplicates of any of `theirs`. Texts that differ in numbers are compared once."""
    mine, others = by_tokens(rows, ours), by_tokens(rows, theirs)
    sets = {text: shingles(text) for text in {*mine, *others}}
    buckets: dict[tuple[int, bytes], list[str]] = defaultdict(list)
    for text in others:
        for place in _bands(sets[text]):
            buckets[place].append(text)
    found: set[int] = set()
    for text, members in mine.items():
        near = {other for place in _bands(sets[text]) for other in buckets.get(place, ())}
        if any(similarity(sets[text], sets[other]) >= ALIKE for other in near):
            found.update(members)
    return found


def by_tokens(rows: Sequence[Mapping[str, Any]], chosen: Sequence[int]) -> dict[str, list[int]]:
    """Rows by their text in tokens. All numbers are one token: knobs are no difference."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i in chosen:
        groups[_NUMBER.sub("0", rows[i]["stripped"])].append(i)
    return groups


def shingles(text: str) -> NDArray[np.int64]:
    """Hashes of all runs of six tokens, sorted and distinct; numbers are one token here too."""
    tokens = ["0" if token[0].isdigit() else token for token in _TOKEN.findall(text)]
    codes = np.array([_code(token) for token in tokens], dtype=np.int64)
    if len(codes) < _SHINGLE:
        codes = np.pad(codes, (0, _SHINGLE - len(codes)))
    mixed = np.zeros(len(codes) - _SHINGLE + 1, dtype=np.int64)
    for k in range(_SHINGLE):
        mixed = (mixed * 1_000_003 + codes[k : k + len(mixed)]) % _PRIME
    return np.unique(mixed)


@lru_cache(maxsize=1 << 16)
def _code(token: str) -> int:
    return zlib.crc32(token.encode()) % _PRIME


def similarity(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Jaccard similarity of two sets of hashes."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


_RNG = np.random.default_rng(20_260_101)
_FACTORS = _RNG.integers(1, _PRIME, size=(_HASHES, 1))
_SHIFTS = _RNG.integers(0, _PRIME, size=(_HASHES, 1))


def _bands(hashes: NDArray[np.int64]) -> list[tuple[int, bytes]]:
    """Bands of a MinHash signature: sets that are alike share at least one of them, almost surely."""
    signature = ((_FACTORS * hashes[None, :] + _SHIFTS) % _PRIME).min(axis=1)
    return [(start, signature[start : start + _BAND].tobytes()) for start in range(0, _HASHES, _BAND)]
