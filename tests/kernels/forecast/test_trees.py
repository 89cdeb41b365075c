"""Trees as arrays say what scikit-learn's own say, and files that are no trees are refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor

from foretell.trees import Trees, of_boosting, of_forest


def _data(gaps: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    table = rng.standard_normal((700, 6)).astype(np.float32).astype(np.float64)
    if gaps:
        table[rng.random(table.shape) < 0.2] = np.nan
    return table, np.nan_to_num(table[:, 0]) * 2 + np.sin(np.nan_to_num(table[:, 1] * 3)) + (table[:, 2] > 0.3)


@pytest.mark.parametrize("gaps", [False, True])
def test_predictions_are_those_of_the_library(gaps: bool) -> None:
    table, target = _data(gaps)
    model = HistGradientBoostingRegressor(max_iter=40, random_state=0).fit(table, target)
    assert of_boosting(model).predict(table) == pytest.approx(model.predict(table), abs=1e-4)
    chance = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(table, target > 1)
    assert of_boosting(chance).predict(table) == pytest.approx(chance.decision_function(table), abs=1e-4)


def test_a_forest_says_what_the_library_says() -> None:
    table, target = _data(True)
    model = ExtraTreesRegressor(20, min_samples_leaf=3, random_state=0).fit(np.nan_to_num(table, nan=-9.0), target)
    found = of_forest(model, -9.0).predict(table)
    assert found == pytest.approx(model.predict(np.nan_to_num(table, nan=-9.0)), abs=1e-4)


def test_large_trees_few_rows_and_none() -> None:
    table, target = _data(True)
    model = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=None, min_samples_leaf=1, random_state=0)
    trees = of_boosting(model.fit(table, target))
    assert trees.value.size / trees.roots.size > 2 * 256  # more leaves than a byte can number
    whole = trees.predict(table)
    assert whole == pytest.approx(model.predict(table), abs=1e-4)
    assert all((trees.predict(table[:rows]) == whole[:rows]).all() for rows in (0, 1, 63, 64, 65))


def test_a_split_between_known_and_missing() -> None:
    table = np.array([[1.0], [2.0], [np.nan], [np.nan]] * 20)
    target = np.isnan(table[:, 0]).astype(float)
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=1, random_state=0).fit(table, target)
    assert of_boosting(model).predict(table) == pytest.approx(model.predict(table), abs=1e-5)


def test_arrays_make_the_same_trees_and_broken_ones_are_refused() -> None:
    table, target = _data(True)
    trees = of_boosting(HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(table, target))
    arrays = trees.arrays("t")
    assert (Trees.from_arrays("t", arrays).predict(table) == trees.predict(table)).all()
    with pytest.raises(ValueError, match="lacks"):
        Trees.from_arrays("other", arrays)
    for name, value in (("t.left", arrays["t.left"] + 10_000), ("t.right", arrays["t.left"]), ("t.value", np.zeros(3))):
        with pytest.raises(ValueError, match="hang together"):
            Trees.from_arrays("t", {**arrays, name: value})
