"""Static description: what can be read off a candidate's source without building it.

A reader is a function from a text to named numbers, which passes over remarks by itself; `_READERS` says which one
reads which language. A language without a reader is described by its length and its shingles alone. Names of features
are stable: a model trained on them outlives a version.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.candidate import PYTHON_LANGUAGES, strip_comments
from foretell.kernels.forecast.c_tokens import Token, tokens
from foretell.kernels.forecast.static_c import count_c
from foretell.kernels.forecast.static_cuda import count_cuda
from foretell.kernels.forecast.static_triton import count_triton, read_statements

Reader = Callable[[str], dict[str, float]]

_READERS: Mapping[str, Reader] = {
    "cpp": lambda text: count_c(tokens(text)),
    "triton": count_triton,
    "cuda": count_cuda,
}
_SHINGLE_TOKENS = 20_000  # past this much text, shingles say nothing that the beginning did not
_REMEMBERED = 8192  # descriptions kept; a search asks about the same sources again after every measurement
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


@dataclass(frozen=True)
class Description:
    """A source in numbers: named `features`, and `shingles`, the sorted hashes of all runs of one to three tokens."""

    features: Mapping[str, float]
    shingles: NDArray[np.uint64]


@lru_cache(maxsize=_REMEMBERED)
def describe(source: str, language: str) -> Description:
    """Describe a source, comments aside. Never fails; takes time linear in its length; depends on nothing else."""
    code = tokens(_text(source, language))
    return Description(static_features(source, language), _shingles(code[:_SHINGLE_TOKENS]))


@lru_cache(maxsize=_REMEMBERED)
def static_features(source: str, language: str) -> Mapping[str, float]:
    """Named numbers that describe the source; all finite, the same names for every source of a language."""
    reader = _READERS.get(language)
    if reader is None:
        return {"tokens": float(len(tokens(_text(source, language))))}
    return reader(source)


def forget() -> None:
    """Forget all that was read, as a fresh process has it: for whoever measures how long reading takes."""
    for remembered in (describe, static_features, read_statements):
        remembered.cache_clear()


def _text(source: str, language: str) -> str:
    return strip_comments(source, language) if language in PYTHON_LANGUAGES else source


def _shingles(code: Sequence[Token]) -> NDArray[np.uint64]:
    crc = [zlib.crc32(token.text.encode("utf-8", "replace")) for token in code]
    words = np.array(crc, dtype=np.uint64) * _MIX[0]
    pairs = words[:-1] * _MIX[1] + words[1:]
    triples = pairs[:-1] * _MIX[2] + words[2:]
    shingles = np.unique(np.concatenate((words, pairs, triples)))
    shingles.flags.writeable = False  # shared by everyone who asks
    return shingles
