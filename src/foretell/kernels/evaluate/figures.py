"""The figures of merit by name: what each is called, and which way is better. `docs/evaluation.md` explains each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Better = Literal["high", "low", "even"]


@dataclass(frozen=True)
class Figure:
    """One figure: a short label, the way that is better, and for `even` the value that is right."""

    label: str
    better: Better
    right: float | None = None
    group: str = ""

    @property
    def hint(self) -> str:
        """Which way is better, in a word or two."""
        if self.better == "even":
            return f"{self.right:g} is right" if self.right is not None else ""
        return f"{self.better}er is better"

    @property
    def arrow(self) -> str:
        """Which way is better, as a sign."""
        return {"high": "↑", "low": "↓", "even": ""}[self.better]


def key(prefix: str, share: float) -> str:
    """The name of a figure at a share: `key("recovery", 0.05)` is `recovery_5`."""
    return f"{prefix}_{share * 100:.0f}"


FRACTIONS = (0.01, 0.05, 0.1, 0.2)
COVERED = (0.5, 0.8, 0.95)

_ACCURACY = "Speedup, given success"
_OUTCOME = "Outcome, failures included"
_CALIBRATION = "Calibration"
_RANKING = "Ranking within a pool"
_POOLS = "Mean over pools"
_SELECTION = "Knowing what one knows"

FIGURES: Mapping[str, Figure] = {
    "accuracy": Figure("most likely bin right", "high", group=_ACCURACY),
    "accuracy_at_least": Figure("the same, troubles counted as wrong", "high", group=_ACCURACY),
    "within_one": Figure("within one bin", "high", group=_ACCURACY),
    "half_brier": Figure("half Brier", "low", group=_ACCURACY),
    "rps": Figure("RPS", "low", group=_ACCURACY),
    "log_loss": Figure("log loss", "low", group=_ACCURACY),
    "crps": Figure("CRPS (log2)", "low", group=_ACCURACY),
    "error_log2": Figure("mean |error| of the median (log2)", "low", group=_ACCURACY),
    "outcome_accuracy": Figure("most likely outcome right", "high", group=_OUTCOME),
    "outcome_accuracy_at_least": Figure("the same, troubles counted as wrong", "high", group=_OUTCOME),
    "outcome_half_brier": Figure("outcome half Brier", "low", group=_OUTCOME),
    "outcome_log_loss": Figure("outcome log loss", "low", group=_OUTCOME),
    "failure_brier": Figure("failure Brier", "low", group=_OUTCOME),
    "failure_auroc": Figure("failure AUROC, pooled", "high", group=_OUTCOME),
    "failure_auroc_within": Figure("failure AUROC, mean within pools", "high", group=_OUTCOME),
    "failure_auroc_built": Figure("failure AUROC, of what builds", "high", group=_OUTCOME),
    "ece_outcomes": Figure("ECE, top label of nine outcomes", "low", group=_CALIBRATION),
    "ece_bins": Figure("ECE, top label of eight bins given success", "low", group=_CALIBRATION),
    "classwise_ece_outcomes": Figure("class-wise ECE, nine outcomes", "low", group=_CALIBRATION),
    "classwise_ece_bins": Figure("class-wise ECE, eight bins given success", "low", group=_CALIBRATION),
    "ece_failure": Figure("ECE of the chance of failure", "low", group=_CALIBRATION),
    **{
        key("covered", level): Figure(f"held by {level * 100:.0f} % intervals", "even", level, _CALIBRATION)
        for level in COVERED
    },
    **{
        key("width", level): Figure(f"width of {level * 100:.0f} % intervals (log2)", "low", group=_CALIBRATION)
        for level in COVERED
    },
    "spearman": Figure("Spearman", "high", group=_RANKING),
    "kendall": Figure("Kendall", "high", group=_RANKING),
    "pairwise": Figure("pairs in the right order", "high", group=_RANKING),
    "pairwise_any": Figure("the same, small pools too", "high", group=_RANKING),
    "pairs_10": Figure("pairs over 10 % apart in the right order", "high", group=_RANKING),
    "first_pick": Figure("first pick / best of the pool", "high", group=_RANKING),
    "spearman_any": Figure("Spearman, small pools too", "high", group=_RANKING),
    **{
        key("recovery", fraction): Figure(f"recovery at {fraction * 100:.0f} %", "high", group=_RANKING)
        for fraction in FRACTIONS
    },
    "discovery": Figure("discovery (average precision)", "high", group=_RANKING),
    "discovery_share": Figure("discovery of no skill", "even", group=_RANKING),
    "accuracy_pools": Figure("most likely bin right, mean of pools", "high", group=_POOLS),
    "covered_80_pools": Figure("held by 80 % intervals, mean of pools", "even", 0.8, _POOLS),
    "width_80_pools": Figure("width of 80 % intervals (log2), mean of pools", "low", group=_POOLS),
    "aurc": Figure("AURC, outcome wrong", "low", group=_SELECTION),
    "excess_aurc": Figure("excess AURC, outcome wrong", "low", group=_SELECTION),
    "aurc_log2": Figure("AURC, |error| (log2)", "low", group=_SELECTION),
    "excess_aurc_log2": Figure("excess AURC, |error| (log2)", "low", group=_SELECTION),
}

# Figures of kernels that others measured, in many small pools: what is shown of them, in all and by GPU and data set.
POOLED = (
    "pairs_10", "first_pick", "recovery_20", "spearman_any", "accuracy_pools", "ece_bins", "covered_80_pools",
    "width_80_pools", "failure_auroc", "failure_auroc_within",
)  # fmt: skip

MAIN = (
    "accuracy", "within_one", "crps", "outcome_half_brier", "ece_outcomes", "covered_80", "width_80", "spearman",
    "pairwise", "recovery_5", "discovery", "failure_auroc", "excess_aurc",
)  # fmt: skip
