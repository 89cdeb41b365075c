"""Which measured candidates are most like a given one, by the text they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.kernels.candidate import Candidate
from foretell.kernels.forecast.static import describe
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Subject

Measured = Sequence[tuple[Subject, Measurement]]


def similarity(one: Candidate, other: Candidate) -> float:
    """Shingles in common over shingles in all: 1 for the same tokens, 0 for nothing in common or another language."""
    if one.language != other.language:
        return 0.0
    a, b = describe(one.source, one.language).shingles, describe(other.source, other.language).shingles
    common = np.intersect1d(a, b, assume_unique=True).size
    return common / max(1, a.size + b.size - common)


def nearest(candidate: Candidate, measured: Measured, count: int) -> list[tuple[Subject, Measurement, float]]:
    """Up to `count` measured subjects with their similarity, most similar first, the earlier one among equals.

    Faults of the machine tell nothing and are left out; so is what has nothing in common, and all but the latest
    measurement of one program.
    """
    latest: dict[str, tuple[Subject, Measurement]] = {}
    for subject, measurement in measured:
        if measurement.status is not Status.INFRASTRUCTURE:
            latest[subject.candidate.id] = (subject, measurement)
    found = [(subject, m, similarity(candidate, subject.candidate)) for subject, m in latest.values()]
    found.sort(key=lambda entry: -entry[2])
    return [entry for entry in found[: max(0, count)] if entry[2] > 0.0]
