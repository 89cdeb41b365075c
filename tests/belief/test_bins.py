import json
import math
import re

import numpy as np
import pytest
from hypothesis import strategies as st

from foretell.belief import bins

from .strategies import bin_probs, given


def test_edges_are_those_of_the_design() -> None:
    assert pytest.approx([1 / 4, 1 / 2, 1 / math.sqrt(2), 1, math.sqrt(2), 2, 4]) == bins.EDGES
    assert bins.N_BINS == 8
    assert [2.0**edge for edge in bins.EDGES_LOG2] == list(bins.EDGES)


def test_an_edge_belongs_to_the_bin_above() -> None:
    for i, edge in enumerate(bins.EDGES):
        assert bins.bin_of(edge) == i + 1
        assert bins.bin_of(math.nextafter(edge, 0.0)) == i


def test_bin_of_keeps_the_shape_of_an_array() -> None:
    found = bins.bin_of(np.array([[0.1, 1.0], [1.5, 100.0]]))
    assert found.dtype == np.int64
    assert found.tolist() == [[0, 4], [5, 7]]
    assert isinstance(bins.bin_of(np.float64(1.2)), int)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, [1.0, math.nan]])
def test_bin_of_refuses_what_is_no_speedup(bad: float) -> None:
    with pytest.raises(ValueError, match="positive finite"):
        bins.bin_of(bad)


def test_labels_read_well() -> None:
    assert [bins.label(i) for i in (0, 2, 4, 7)] == ["below 0.25x", "0.5x to 0.707x", "1x to 1.41x", "4x or more"]
    for i in (-1, 8):
        with pytest.raises(ValueError, match="0 to 7"):
            bins.label(i)


def test_midpoints_lie_in_their_own_bins() -> None:
    assert [bins.bin_of(bins.midpoint(i)) for i in range(bins.N_BINS)] == list(range(bins.N_BINS))
    assert [math.log2(bins.midpoint(i)) for i in range(8)] == pytest.approx([bins.midpoint_log2(i) for i in range(8)])
    assert bins.midpoint_log2(4) == 0.25


def _holds(text: str, speedup: float) -> bool:
    """Read a range the way a person or a model would."""
    numbers = [float(number) for number in re.findall(r"([\d.]+)x", text)]
    if text.startswith("below"):
        return speedup < numbers[0]
    if text.endswith("or more"):
        return speedup >= numbers[0]
    return numbers[0] <= speedup < numbers[1]


@given(st.floats(-8.0, 8.0))
def test_label_prompt_and_schema_agree_with_bin_of(log2_speedup: float) -> None:
    """Whoever reads the label, the prompt's table or the schema lands in the bin that `bin_of` scores."""
    if min(abs(log2_speedup - edge) for edge in bins.EDGES_LOG2) < 0.01:  # the printed edges are rounded
        return
    speedup = 2.0**log2_speedup
    i = bins.bin_of(speedup)
    assert [j for j in range(bins.N_BINS) if _holds(bins.label(j), speedup)] == [i]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in bins.prompt_table().splitlines()[2:]]
    assert [key for key, text in rows if _holds(text, speedup)] == [bins.KEYS[i]]
    properties = bins.answer_schema()["properties"]["bins"]["properties"]
    named = {key: spec["description"].removeprefix("probability of ") for key, spec in properties.items()}
    assert [key for key, text in named.items() if _holds(text, speedup)] == [bins.KEYS[i]]
    certain = {"p_fail": 0.0, "bins": {key: float(key == bins.KEYS[i]) for key in bins.KEYS}}
    assert bins.read_answer(certain)[1].index(1.0) == i


def test_schema_is_json_and_closed() -> None:
    schema = json.loads(json.dumps(bins.answer_schema()))
    assert schema["required"] == ["p_fail", "bins"]
    inner = schema["properties"]["bins"]
    assert list(inner["properties"]) == inner["required"] == list(bins.KEYS)
    assert not schema["additionalProperties"]
    assert not inner["additionalProperties"]


@given(bin_probs(), st.floats(0.0, 1.0), st.sampled_from([0.9, 1.0, 100.0]))
def test_an_answer_is_read_back_whatever_it_sums_to(probs: list[float], p_fail: float, factor: float) -> None:
    answer = {"p_fail": p_fail, "bins": dict(zip(bins.KEYS, [p * factor for p in probs], strict=True))}
    read_p_fail, read = bins.read_answer(json.loads(json.dumps(answer)))
    assert read_p_fail == p_fail
    assert read == pytest.approx(probs)
    assert sum(read) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.pop("p_fail"),
        lambda a: a.update(p_fail=1.5),
        lambda a: a.update(p_fail="0.1"),
        lambda a: a.update(p_fail=True),
        lambda a: a.pop("bins"),
        lambda a: a["bins"].pop("C"),
        lambda a: a["bins"].update(I=0.1),
        lambda a: a["bins"].update(A=-0.1),
        lambda a: a["bins"].update(A=math.nan),
        lambda a: a["bins"].update(dict.fromkeys(bins.KEYS, 0)),
    ],
)
def test_a_malformed_answer_is_refused(change) -> None:
    answer = {"p_fail": 0.1, "bins": dict.fromkeys(bins.KEYS, 0.125)}
    bins.read_answer(answer)
    change(answer)
    with pytest.raises(ValueError):
        bins.read_answer(answer)
