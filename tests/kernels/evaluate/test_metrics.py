from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from foretell.belief import FAILURE, Forecast, bin_of
from foretell.kernels.evaluate.controls import ConstantForecaster, Past, RandomForecaster
from foretell.kernels.evaluate.figures import FIGURES, MAIN
from foretell.kernels.evaluate.judge import FAILED_LOG2, Judged, judge, pairs_of, rows_of
from foretell.kernels.evaluate.metrics import FEWEST, assess, pool_figures
from foretell.kernels.evaluate.pools import Pool, corpus_pools
from foretell.kernels.evaluate.result import Result
from foretell.kernels.measurement import Measurement, Status
from tests.kernels.evaluate.world import Knowing, corpus_row, corpus_rows, truth_of

ROWS = corpus_rows(21)
POOLS = corpus_pools(ROWS, "build")
PERFECT_ONE = (
    "accuracy", "within_one", "outcome_accuracy", "failure_auroc", "failure_auroc_within", "spearman", "kendall",
    "pairwise", "recovery_1", "recovery_5", "recovery_10", "recovery_20", "discovery",
)  # fmt: skip
PERFECT_NOUGHT = (
    "half_brier", "rps", "log_loss", "outcome_half_brier", "failure_brier", "ece_outcomes", "classwise_ece_outcomes",
    "crps", "error_log2", "aurc", "excess_aurc", "aurc_log2",
)  # fmt: skip
PAST = Past.of({"gpu": list(truth_of(ROWS).values())})


def _assess(forecaster: Any, pools: list[Pool] = POOLS, **settings: int) -> Result:
    return assess(judge(forecaster, pools, **settings), "it", "all", resamples=50)


def _judged(pool: Pool, forecasts: list[Forecast]) -> Judged:
    return Judged((pool,), (tuple(forecasts),), 1.0, {})


def _values(result: Result) -> dict[str, float]:
    return {name: estimate.value for name, estimate in result.figures.items()}


def test_every_figure_is_there_with_its_interval() -> None:
    result = _assess(Knowing(truth_of(ROWS)))
    assert tuple(result.figures) == tuple(FIGURES)
    assert set(MAIN) <= set(FIGURES)
    for name, estimate in result.figures.items():
        assert estimate.low <= estimate.high, name
    assert (result.candidates, result.failures, result.pools, result.operations) == (84, 20, 4, 4)


def test_one_who_knows_is_right_in_everything() -> None:
    found = _values(_assess(Knowing(truth_of(ROWS), std=0.001)))
    for name in PERFECT_ONE:
        assert found[name] == pytest.approx(1.0), name
    for name in PERFECT_NOUGHT:
        assert found[name] == pytest.approx(0.0, abs=0.02), name


def test_one_who_knows_the_opposite_is_wrong() -> None:
    found = _values(_assess(Knowing(truth_of(ROWS), sign=-1.0)))
    assert found["spearman"] == pytest.approx(-1.0)
    assert found["pairwise"] == 0.0
    assert found["failure_auroc"] == 0.0
    assert found["recovery_5"] == 0.0  # the failures are put first
    assert found["covered_95"] < 0.1


def test_a_constant_has_no_skill_but_is_calibrated() -> None:
    found = _values(_assess(ConstantForecaster(PAST)))
    assert found["spearman"] == found["kendall"] == 0.0
    assert found["pairwise"] == found["failure_auroc"] == found["failure_auroc_within"] == 0.5
    assert found["discovery"] == pytest.approx(found["discovery_share"])
    assert found["recovery_5"] == 0.0  # ties are taken slowest first
    assert found["ece_outcomes"] < 0.05 and found["ece_failure"] < 0.02
    assert found["covered_80"] == pytest.approx(0.8, abs=0.08)


def test_a_random_ranking_is_near_none() -> None:
    rows = [corpus_row("mish", i, i % 37 / 9.0, "train") for i in range(400)]
    found = _values(_assess(RandomForecaster(PAST), corpus_pools(rows, "build")))
    assert abs(found["spearman"]) < 0.15
    assert found["pairwise"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    mixed = ROWS.copy()
    random.Random(seed).shuffle(mixed)
    for forecaster in (RandomForecaster(PAST, 1), Knowing(truth_of(ROWS), std=1.0)):
        one = _assess(forecaster)
        assert replace(_assess(forecaster, corpus_pools(mixed, "build")), seconds=one.seconds) == one


def test_scores_by_hand() -> None:
    rows = [corpus_row("mish", 1, 0.25, "train"), corpus_row("mish", 2, 2.5, "train"), corpus_row("mish", 3, None, "t")]
    (pool,) = corpus_pools(rows, "build")
    # Half in the bin 1x to 1.41x, half in the next; the second is two bins further up, the third fails.
    told = Forecast.from_bins([0, 0, 0, 0, 0.5, 0.5, 0, 0], p_fail=0.2)
    found = _values(assess(_judged(pool, [told] * 3), "it", "all", resamples=10))
    assert [bin_of(2.0**0.25), bin_of(2.0**2.5)] == [4, 7]
    assert found["accuracy"] == 0.5 and found["within_one"] == 0.5
    assert found["half_brier"] == pytest.approx((0.25 + (0.25 + 0.25 + 1.0) / 2) / 2)
    assert found["rps"] == pytest.approx((0.25 + 0.25 + 1.0 + 1.0) / 2)
    assert found["log_loss"] == pytest.approx((math.log(2.0) - math.log(1e-4)) / 2)
    hit = (0.6**2 + 0.4**2 + 0.2**2) / 2
    far = (0.4**2 + 0.4**2 + 1.0 + 0.2**2) / 2
    fail = (0.4**2 + 0.4**2 + 0.8**2) / 2
    assert found["outcome_half_brier"] == pytest.approx((hit + far + fail) / 3)
    assert found["failure_brier"] == pytest.approx((0.04 + 0.04 + 0.64) / 3)
    assert found["outcome_accuracy"] == pytest.approx(1 / 3)
    # The likeliest outcome has 0.4 and came true once in three; given success it has 0.5 and came true once in two.
    assert found["ece_outcomes"] == pytest.approx(abs(0.4 - 1 / 3))
    assert found["ece_bins"] == pytest.approx(0.0)
    assert found["classwise_ece_bins"] == pytest.approx((0.5 + 0.5) / 8)
    # Uniform over 0 to 1 in log2: 80 % is 0.1 to 0.9.
    assert found["width_80"] == pytest.approx(0.8)
    assert found["covered_80"] == found["covered_95"] == 0.5
    assert found["error_log2"] == pytest.approx((0.25 + 2.0) / 2)
    assert found["crps"] == pytest.approx(((0.25**3 + 0.75**3) / 3 + 1.5 + 1 / 3) / 2)
    assert math.isnan(found["spearman"]) and math.isnan(found["recovery_5"])  # too few successes
    assert found["pairwise_any"] == 0.5


def test_recovery_weighs_the_chance_of_failure() -> None:
    rows = [corpus_row("mish", i, float(i) / 4, "train") for i in range(FEWEST)]
    (pool,) = corpus_pools([*rows, corpus_row("mish", 8, None, "train")], "build")
    told = [Forecast.from_normal(float(i) / 4, 0.1, 0.0) for i in range(FEWEST)]
    told.append(Forecast.from_normal(3.0, 0.1, 0.9))  # would be fast, but is not believed to work
    judged = _judged(pool, told)
    rows_found = rows_of(judged)
    assert rows_found.score[-1] == pytest.approx(0.1 * 3.0 + 0.9 * FAILED_LOG2)
    (figures,) = pool_figures(judged, rows_found)
    assert figures["recovery_1"] == 1.0
    (naive,) = pool_figures(judged, replace(rows_found, score=rows_found.mean))
    assert naive["recovery_1"] == 0.0  # the failure alone was measured


def test_failure_certain_still_scores_the_speedup() -> None:
    (pool,) = corpus_pools([corpus_row("mish", 1, 0.25, "train")], "build")
    found = _values(assess(_judged(pool, [Forecast.from_normal(0.25, 0.01, 1.0)]), "it", "all", resamples=5))
    assert found["accuracy"] == 1.0 and found["outcome_accuracy"] == 0.0


def test_pairs_follow_parents_where_they_are_known() -> None:
    rows = [
        corpus_row("mish", 1, 0.0, "train"),
        corpus_row("mish", 2, 1.0, "train", parents=["mish0001"]),
        corpus_row("mish", 3, -1.0, "train", parents=["mish0001", "mish0002"]),
        corpus_row("mish", 4, None, "train", parents=["mish0002"]),
        corpus_row("mish", 5, 0.01, "train", parents=["mish0001"]),  # not measurably faster
        corpus_row("mish", 6, 3.0, "train", parents=["elsewhere"]),
    ]
    judged = judge(Knowing(truth_of(rows), std=0.1), corpus_pools(rows, "build"))
    pairs = pairs_of(judged)
    assert pairs.faster.tolist() == [True, False, False]
    assert pairs.chance == pytest.approx([0.999, 0.0, 0.0005], abs=0.01)


def test_random_pairs_have_a_partner_that_works() -> None:
    judged = judge(Knowing(truth_of(ROWS)), POOLS)
    pairs, again, other = pairs_of(judged, 0), pairs_of(judged, 0), pairs_of(judged, 1)
    assert len(pairs.faster) > 70
    assert np.array_equal(pairs.faster, again.faster) and not np.array_equal(pairs.faster, other.faster)
    only = [corpus_row("mish", 1, 1.0, "train"), corpus_row("mish", 2, None, "train")]
    told = pairs_of(judge(Knowing(truth_of(only)), corpus_pools(only, "build")))
    assert told.faster.tolist() == [False]  # the one that works has no partner, the failure has


def test_times_alone_count_for_ranking_only() -> None:
    (pool,) = corpus_pools([corpus_row("mish", i, i / 3, "train") for i in range(8)], "build")
    truth = truth_of([corpus_row("mish", i, i / 3, "train") for i in range(8)])
    timed = replace(pool, measured=tuple([Measurement(Status.OK)] * 8))
    found = _values(_assess(Knowing(truth), [timed]))
    assert found["spearman"] == pytest.approx(1.0) and found["recovery_5"] == 1.0 and found["discovery"] == 1.0
    assert math.isnan(found["crps"]) and math.isnan(found["accuracy"]) and math.isnan(found["outcome_half_brier"])
    assert found["failure_brier"] == pytest.approx(0.0, abs=1e-3)


def test_learning_shows_some_and_judges_the_rest() -> None:
    forecaster = Knowing(truth_of(ROWS))
    frozen = _assess(forecaster)
    assert not forecaster.lessons and frozen.candidates == 84
    taught = _assess(forecaster, learn=6)
    assert forecaster.lessons == [6, 6, 6, 6] and taught.candidates == 60
    shown = set(POOLS[0].drawn(6, 0, "learn"))
    assert len(judge(forecaster, POOLS[:1], learn=6).pools[0]) == 21 - len(shown)
    with pytest.raises(ValueError, match="no candidate is left"):
        rows_of(judge(forecaster, POOLS, learn=21))


def test_troubles_are_told_and_count_as_wrong() -> None:
    class Troubled(Knowing):
        def forecast(self, *arguments: Any) -> list[Forecast]:
            self.troubles["parse"] = self.troubles.get("parse", 0) + 3
            return super().forecast(*arguments)

    forecaster = Troubled(truth_of(ROWS), std=0.001)
    forecaster.troubles["parse"] = 100  # from before; not of this split
    result = _assess(forecaster)
    assert result.troubles == {"parse": 12} and result.troubles_share == pytest.approx(12 / 84)
    found = _values(result)
    assert found["outcome_accuracy_at_least"] == pytest.approx(found["outcome_accuracy"] - 12 / 84)
    assert found["accuracy_at_least"] == pytest.approx(found["accuracy"] - 12 / 84)


def test_troubles_told_one_by_one_are_counted_one_by_one() -> None:
    class Told(Knowing):
        last_troubles: tuple[str | None, ...] = ()

        def forecast(self, *arguments: Any) -> list[Forecast]:
            made = super().forecast(*arguments)
            self.last_troubles = tuple("parse" if i < 3 else None for i in range(len(made)))
            self.troubles["parse"] = self.troubles.get("parse", 0) + 3
            return made

    result = _assess(Told(truth_of(ROWS), std=0.001))
    found = _values(result)
    assert result.troubles == {"parse": 12}
    assert found["outcome_accuracy"] == 1.0
    assert found["outcome_accuracy_at_least"] == pytest.approx(1.0 - 12 / 84)
    assert found["accuracy_at_least"] == pytest.approx(1.0 - 8 / 64)  # one of the three in each pool is a failure


def test_troubles_that_are_named_and_not_counted_are_counted() -> None:
    class Named(Knowing):
        last_troubles: tuple[str | None, ...] = ()

        def forecast(self, *arguments: Any) -> list[Forecast]:
            made = super().forecast(*arguments)
            self.last_troubles = tuple(f"host code failed: number {i}" for i in range(len(made)))
            return made

    result = _assess(Named(truth_of(ROWS), std=0.001))
    assert result.troubles == {"host code failed": 84} and result.troubles_share == 1.0
    assert _values(result)["accuracy_at_least"] == _values(result)["outcome_accuracy_at_least"] == 0.0


def test_too_few_forecasts_are_noticed() -> None:
    class Short(Knowing):
        def forecast(self, *arguments: Any) -> list[Forecast]:
            return super().forecast(*arguments)[:-1]

    with pytest.raises(ValueError, match="20 forecasts for 21 candidates"):
        judge(Short(truth_of(ROWS)), POOLS)


def test_results_are_json() -> None:
    rows = [corpus_row("mish", i, None if i else 1.0, "train") for i in range(3)]
    result = _assess(Knowing(truth_of(rows)), corpus_pools(rows, "build"))
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["figures"]["spearman"] == {"value": None, "low": None, "high": None}
    assert told["by_pool"][0]["spearman"] is None and told["by_pool"][0]["candidates"] == 3
    assert told["curves"]["recovery"] == [] and len(told["curves"]["coverage"]) == 10


def test_outcomes_are_nine() -> None:
    rows = rows_of(judge(Knowing(truth_of(ROWS)), POOLS))
    assert set(rows.outcome.tolist()) <= set(range(FAILURE + 1))
    assert (rows.outcome == FAILURE).sum() == rows.failed.sum() == 20
    assert rows.probs.sum(axis=1) == pytest.approx(1.0)
