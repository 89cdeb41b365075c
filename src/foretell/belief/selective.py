"""Selective prediction: how risk falls when only the most confident forecasts are trusted.

Rows are ordered by confidence, most confident first, and a loss is averaged over the share that is accepted. Rows of
equal confidence cannot be told apart, so each counts with their average loss: every number here is the mean over all
ways of breaking ties and does not depend on the order of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief._arrays import FloatArray, vectors


@dataclass(frozen=True)
class RiskCoverage:
    """The risk-coverage curve: accepting the k most confident of n rows has coverage k/n and this risk.

    `threshold[k-1]` is the confidence of the last row accepted. Coverage rises to 1, where risk is the mean loss.
    """

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    threshold: tuple[float, ...]

    @property
    def aurc(self) -> float:
        """The area under the curve: risk averaged over k = 1..n."""
        return sum(self.risk) / len(self.risk)


def risk_coverage(confidence: ArrayLike, loss: ArrayLike) -> RiskCoverage:
    """Return the risk-coverage curve of losses under an ordering by confidence (any scale; higher is surer)."""
    stated, losses = vectors("confidence loss", confidence, loss)
    _, block, size = np.unique(-stated, return_inverse=True, return_counts=True)
    averaged = (np.bincount(block, weights=losses) / size)[block]
    order = np.argsort(-stated, kind="stable")
    n = stated.size
    accepted = np.arange(1, n + 1)
    risk = np.cumsum(averaged[order]) / accepted
    return RiskCoverage(tuple((accepted / n).tolist()), tuple(risk.tolist()), tuple(stated[order].tolist()))


def aurc(confidence: ArrayLike, loss: ArrayLike) -> float:
    """Return the area under the risk-coverage curve, between the least and the greatest loss; lower is better."""
    return risk_coverage(confidence, loss).aurc


def excess_aurc(confidence: ArrayLike, loss: ArrayLike) -> float:
    """Return the AURC beyond that of an oracle that is surest where the loss is least; never negative, 0 is perfect."""
    losses = vectors("loss", loss)[0]
    # Rounding may leave the difference of two equal areas a hair below zero.
    return max(0.0, aurc(confidence, losses) - aurc(-losses, losses))


def selective_risk(confidence: ArrayLike, loss: ArrayLike, coverage: float) -> float:
    """Return the mean loss of the ceil(coverage x n) most confident rows, for coverage in (0, 1]."""
    curve = risk_coverage(confidence, loss)
    return curve.risk[count_for(coverage, len(curve.risk)) - 1]


def coverage_at_risk(confidence: ArrayLike, loss: ArrayLike, risk: float) -> float:
    """Return the largest coverage whose risk is at most `risk`; 0 if even the surest row is riskier."""
    curve = risk_coverage(confidence, loss)
    within: FloatArray = np.asarray(curve.coverage)[np.asarray(curve.risk) <= risk]
    return float(within[-1]) if within.size else 0.0


def count_for(fraction: float, n: int) -> int:
    """Return ceil(fraction x n), forgiving the last bit (7 % of 100 rows is 7), for fraction in (0, 1]."""
    if not 0.0 < fraction <= 1.0:
        raise ValueError(f"a fraction must lie in (0, 1], got {fraction!r}")
    return min(n, max(1, math.ceil(fraction * n - 1e-9)))
