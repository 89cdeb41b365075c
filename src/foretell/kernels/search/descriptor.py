"""How a candidate is built, in a few whole numbers: structure from its source, use of resources from its build.

Candidates with the same numbers are in the same cell (see the strategy `islands`). The numbers are coarse on purpose:
a run measures hundreds of candidates, and a cell with one node in it has nobody to beat.
"""

from __future__ import annotations

from bisect import bisect_left

from foretell.kernels.candidate import LANGUAGES, Candidate
from foretell.kernels.forecast.static import static_features
from foretell.kernels.protocols import Build
from foretell.kernels.search.strategy import Cell

# A trait is there where any of its counts is above zero.
_TRAITS = (
    ("loops", "while"),
    ("dot", "cuda_tensor_core"),
    ("atomic", "cuda_atomic", "pragma_atomic", "pragma_critical"),
    ("cuda_shared", "arrays", "allocate"),  # keeps data close by
    ("loops_over_programs", "cuda_grid_stride", "pragma_parallel"),  # says itself who works on what
    ("cuda_wide_types", "pragma_simd", "intrinsic", "vector_type"),
)
# What a build shows, and the top of each bucket but the last: of a GPU kernel the first two, of C++ the others.
_RESOURCES = {
    "registers": (32.0, 64.0, 128.0),
    "shared_bytes": (0.0, 8192.0, 49152.0),
    "spills": (8.0, 32.0),
    "code_log2": (8.0, 9.5),
}
_LANGUAGE = {name: number for number, name in enumerate(sorted(LANGUAGES))}


def cell_of(candidate: Candidate, build: Build | None = None) -> Cell:
    """The cell of a candidate. Depends on nothing else; takes about as long as reading the source does."""
    counts = static_features(candidate.source, candidate.language)
    traits = (int(any(counts.get(name, 0.0) > 0.0 for name in names)) for names in _TRAITS)
    shown = build.features if build is not None else {}
    buckets = (bisect_left(edges, shown.get(name, 0.0)) for name, edges in _RESOURCES.items())
    return (_LANGUAGE.get(candidate.language, -1), *traits, *buckets)
