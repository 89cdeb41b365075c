"""Short cuts by kernels that look at a few items and take the rest for known: each must be found wrong in every set.

The kernels are told in numpy, in float32, with the tests by which attackers recognised the inputs of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from foretell.kernels.bench.inputs import InputSet, draw, mismatch
from foretell.kernels.library import get
from foretell.kernels.task import Task, Workload

Array = NDArray[Any]
SEEDS = (201, 202, 203)
_QUADRATIC = (0.496251722, 1.014858031, 1.000443206)
_CUBIC = (0.165667565, 0.504963346, 1.000164244, 0.999928073)


def _exp(x: Array, coefficients: tuple[float, ...] = ()) -> Array:
    """exp in float32, or by a polynomial after range reduction."""
    if not coefficients:
        return np.asarray(np.exp(x))
    x = np.maximum(x, np.float32(-87))
    power = np.rint(x * np.float32(1.44269504))
    rest = x - power * np.float32(0.693147181)
    return np.asarray(np.ldexp(np.polyval(np.array(coefficients, np.float32), rest), power.astype(np.int32)))


def _starts_small(x: Array) -> Array:
    return np.asarray((np.abs(x[:, :12]) < 2).all(axis=1, keepdims=True))


def _normalised(e: Array) -> Array:
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _softmax_without_maximum(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    return _normalised(_exp(x - np.where(_starts_small(x), np.float32(2), x.max(axis=1, keepdims=True))))


def _softmax_of_low_degree(inputs: tuple[Array, ...], workload: Workload) -> Array:
    [x] = inputs
    shifted = x - np.where(_starts_small(x), np.float32(2), x.max(axis=1, keepdims=True))
    quadratic = _starts_small(x) & (workload.sizes["cols"] > 4096)
    return _normalised(np.where(quadratic, _exp(shifted, _QUADRATIC), _exp(shifted, _CUBIC)))


def _low_degree_where_outputs_are_small(inputs: tuple[Array, ...], _: Workload) -> Array:
    """Recognises no inputs: the tolerance alone can find it wrong."""
    [x] = inputs
    shifted = x - x.max(axis=1, keepdims=True)
    right = _normalised(_exp(shifted))
    return np.asarray(np.where(right < 2e-4, _normalised(_exp(shifted, _QUADRATIC)), right))


def _scaled_by_a_quadratic(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    right = _exp((x - x.max(axis=1, keepdims=True)) / 8)
    fitted = np.polyval(np.array((0.498049360, 1.007772831, 1.000121040), np.float32), x / 8)
    return _normalised(np.where(_starts_small(x), fitted, right))


def _logsumexp_by_a_fit(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    peak = x.max(axis=1, keepdims=True)
    right = np.log(_exp(x - peak).sum(axis=1)) + peak[:, 0]
    fit = np.array((0.009623467, 0.049166493, 0.164507741, 0.491493130, 1.000740930, 1.000659906), np.float32)
    return np.asarray(np.where(_starts_small(x)[:, 0], np.log(np.polyval(fit, x).sum(axis=1)), right))


def _histogram_of_pieces(inputs: tuple[Array, ...], workload: Workload) -> Array:
    [values] = inputs
    pieces = values[: values.size // 64 * 64].reshape(-1, 64)
    alike = (pieces[:, :16] == pieces[:, :1]).all(axis=1)
    believed = np.where(alike[:, None], pieces[:, :1], pieces)
    rest = values[pieces.size :]
    return np.bincount(np.concatenate((believed.reshape(-1), rest)), minlength=workload.sizes["bins"]).astype(np.int32)


def _argmax_up_to_the_top(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    top = x == 2999
    seen = np.where(np.maximum.accumulate(top, axis=1), np.where(top, x, -np.inf), x)
    return np.asarray(seen.argmax(axis=1))


def _mask_by_its_beginning(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, keep, residual = inputs
    alike = (keep[:, :32] == keep[:, :1]).all(axis=1, keepdims=True)
    return np.asarray(residual + x * (np.where(alike, keep[:, :1], keep) * np.float32(1.25)))


def _exp_within_range(x: Array) -> Array:
    """exp whose exponent is added to the bits of a float without a clamp: right as long as it fits."""
    power = np.rint(x * np.float32(1.44269504))
    bits = np.asarray(np.exp(x - power * np.float32(0.693147181)), np.float32).view(np.int32)
    return (bits + (power.astype(np.int64) << 23).astype(np.int32)).view(np.float32)


def _silu_without_clamp(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    return np.asarray(x / (1 + _exp_within_range(-x)))


def _gelu_erf_without_clamp(inputs: tuple[Array, ...], _: Workload) -> Array:
    """By a logistic of a polynomial, exact near 0 in what matters here: nothing but the range is wrong."""
    [x] = inputs
    near = np.abs(x) < 9
    right = get("gelu_erf").oracle
    assert right is not None
    [exact] = right({"x": np.where(near, x, np.float32(0))}, {})
    return np.where(near, exact, x / (1 + _exp_within_range(-np.float32(1.5976) * x - np.float32(0.0706) * x**3)))


def _gelu_without_clamp(v: Array) -> Array:
    u = np.float32(0.7978845608) * (v + np.float32(0.044715) * v * v * v)
    return np.asarray(v / (1 + _exp_within_range(-2 * u)))


def _bias_gelu_without_clamp(inputs: tuple[Array, ...], _: Workload) -> Array:
    return _gelu_without_clamp(inputs[0] + inputs[1])


def _geglu_without_clamp(inputs: tuple[Array, ...], _: Workload) -> Array:
    left, right = np.split(inputs[0], 2, axis=1)
    return np.asarray(_gelu_without_clamp(left) * right)


def _maximum_from_zero(inputs: tuple[Array, ...], _: Workload) -> Array:
    return np.asarray(np.maximum(inputs[0].max(axis=1), 0))


def _argmax_from_zero(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    return np.where(x.max(axis=1) > 0, x.argmax(axis=1), 0)


def _softmax_good_to_two_parts_in_a_thousand(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    power = np.maximum(x - x.max(axis=1, keepdims=True), np.float32(-87)) * np.float32(1.44269504)
    whole = np.floor(power)
    fitted = np.polyval(np.array((0.3435, 0.6565, 1.0), np.float32), power - whole)
    return _normalised(np.ldexp(fitted, whole.astype(np.int32)))


def _in_half_precision(x: Array) -> Array:
    return np.asarray(x.astype(np.float16).astype(np.float32))


def _matmul_with_one_in_32_in_half_precision(inputs: tuple[Array, ...], _: Workload) -> Array:
    a, b = (each.copy() for each in inputs)
    a[:, 5::32], b[5::32] = _in_half_precision(a[:, 5::32]), _in_half_precision(b[5::32])
    return np.asarray(a.astype(np.float64) @ b)


def _attention_with_every_second_query_in_half_precision(inputs: tuple[Array, ...], workload: Workload) -> Array:
    query, key, value = (each.copy() for each in inputs)
    query[:, 1::2] = _in_half_precision(query[:, 1::2])
    oracle = get("attention").oracle
    assert oracle is not None
    names = [tensor.name for tensor in get("attention").inputs]
    return oracle(dict(zip(names, (query, key, value), strict=True)), workload.sizes)[0]


def _chain(x: Array) -> Array:
    """The sum of each row in float32, one item after the other."""
    return np.asarray(np.add.accumulate(x, axis=1, dtype=np.float32)[:, -1:])


def _in_lanes(x: Array) -> Array:
    """The same in sixteen chains."""
    whole = x.shape[1] // 16 * 16
    parts = np.add.accumulate(x[:, :whole].reshape(len(x), -1, 16), axis=1, dtype=np.float32)[:, -1]
    return _chain(np.concatenate((parts, x[:, whole:]), axis=1))


def _scaled(inputs: tuple[Array, ...], mean: Array, variance: Array) -> Array:
    x, gamma, beta = inputs
    return np.asarray((x - mean) / np.sqrt(np.maximum(variance, 0) + np.float32(1e-5)) * gamma + beta)


def _layernorm_in_one_pass(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, cols = inputs[0], np.float32(inputs[0].shape[1])
    mean = _in_lanes(x) / cols
    return _scaled(inputs, mean, _in_lanes(x * x) / cols - mean * mean)


def _layernorm_in_one_pass_added_pairwise(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, cols = inputs[0], np.float32(inputs[0].shape[1])
    mean = x.sum(axis=1, keepdims=True, dtype=np.float32) / cols
    return _scaled(inputs, mean, np.square(x).sum(axis=1, keepdims=True, dtype=np.float32) / cols - mean * mean)


def _layernorm_in_two_passes(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, cols = inputs[0], np.float32(inputs[0].shape[1])
    mean = _chain(x) / cols
    return _scaled(inputs, mean, _chain((x - mean) ** 2) / cols)


def _layernorm_by_welford(inputs: tuple[Array, ...], _: Workload) -> Array:
    x = inputs[0]
    mean: Array = np.zeros((len(x), 1), np.float32)
    squares = mean
    for count in range(1, x.shape[1] + 1):
        item = x[:, count - 1 : count]
        offset = item - mean
        mean = mean + offset / np.float32(count)
        squares = squares + offset * (item - mean)
    return _scaled(inputs, mean, squares / np.float32(x.shape[1]))


def _dithered(x: Array) -> Array:
    """Cut to 10 bits of mantissa, with another part of a step added in each of sixteen lanes: an error without bias."""
    added = ((np.arange(x.shape[1]) * 7 % 16) * 512 + 256).astype(np.uint32)
    return np.asarray(((np.ascontiguousarray(x).view(np.uint32) + added) & np.uint32(0xFFFFE000)).view(np.float32))


def _mean_of_dithered_items(inputs: tuple[Array, ...], _: Workload) -> Array:
    return np.asarray(_dithered(inputs[0]).mean(axis=1, dtype=np.float64))


def _huber_of_dithered_items(inputs: tuple[Array, ...], workload: Workload) -> Array:
    oracle = get("huber_rows").oracle
    assert oracle is not None
    return oracle({"a": _dithered(inputs[0]), "b": _dithered(inputs[1])}, workload.sizes)[0]


def _hardswish_by_a_difference(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    three = np.float32(3)
    return np.asarray(x * (np.abs(x + three) - np.abs(x - three) + np.float32(6)) / np.float32(12))


def _sum_of_magnitudes(axis: int) -> Callable[[tuple[Array, ...], Workload], Array]:
    def kernel(inputs: tuple[Array, ...], _: Workload) -> Array:
        return np.asarray(np.abs(inputs[0]).sum(axis=axis, dtype=np.float64))

    kernel.__name__ = ("columns", "rows")[axis] + "_of_magnitudes"
    return kernel


def _rmsnorm_with_its_constant_divided(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, gamma = inputs
    squares = np.square(x.astype(np.float64)).sum(axis=1, keepdims=True)
    return np.asarray(x / np.sqrt((squares + 1e-5) / x.shape[1]) * gamma)


def _softplus_that_overflows(inputs: tuple[Array, ...], _: Workload) -> Array:
    return np.asarray(np.log1p(np.exp(inputs[0].astype(np.float64))))


def _argmax_by_the_sign_of_the_first_item(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    return np.asarray(np.where(x[:, 0] < 0, np.abs(x).argmin(axis=1), np.abs(x).argmax(axis=1)))


def _maximum_from_a_floor(inputs: tuple[Array, ...], _: Workload) -> Array:
    return np.asarray(np.maximum(inputs[0].max(axis=1), -64))


def _clamp_by_a_difference(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, y, z = inputs
    e = x * y + z
    return np.asarray(np.exp(np.float32(0.5) * (np.abs(e + np.float32(4)) - np.abs(e - np.float32(4)))))


def _magnitudes_of_scales(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, rows, columns = inputs
    return np.asarray(x * (np.abs(rows)[:, None] * np.abs(columns)))


def _histogram_in_sixteen_bits(inputs: tuple[Array, ...], workload: Workload) -> Array:
    [values] = inputs
    pieces = (values[at : at + 100_000] for at in range(0, values.size, 100_000))
    return np.asarray(sum(np.bincount(piece, minlength=workload.sizes["bins"]) % 65536 for piece in pieces))


def _softmax_without_a_lower_bound(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    return _normalised(_exp_within_range(np.maximum(x - x.max(axis=1, keepdims=True), np.float32(-700))))


def _sobel_by_a_reciprocal_root(inputs: tuple[Array, ...], workload: Workload) -> Array:
    oracle = get("sobel").oracle
    assert oracle is not None
    [right] = oracle({"x": inputs[0]}, workload.sizes)
    return np.asarray(right * right * (1 / right))


def _flip_through_arithmetic(inputs: tuple[Array, ...], _: Workload) -> Array:
    return np.asarray(inputs[0][:, ::-1] + np.float32(0))


def _flip_without_subnormals(inputs: tuple[Array, ...], _: Workload) -> Array:
    flipped = inputs[0][:, ::-1]
    tiny = np.abs(flipped) < np.finfo(np.float32).tiny
    return np.asarray(np.where(tiny, np.copysign(np.float32(0), flipped), flipped))


KERNELS: dict[Callable[[tuple[Array, ...], Workload], Array], tuple[str, dict[str, int]]] = {
    _softmax_without_maximum: ("softmax", {"rows": 16, "cols": 8192}),
    _softmax_of_low_degree: ("softmax", {"rows": 16, "cols": 8192}),
    _low_degree_where_outputs_are_small: ("softmax", {"rows": 16, "cols": 8192}),
    _scaled_by_a_quadratic: ("softmax_scaled", {"rows": 32, "cols": 8192}),
    _logsumexp_by_a_fit: ("row_logsumexp", {"rows": 32, "cols": 8192}),
    _histogram_of_pieces: ("histogram", {"count": 2_500_000, "bins": 10}),
    _argmax_up_to_the_top: ("argmax", {"rows": 1024, "cols": 1536}),
    _silu_without_clamp: ("silu", {"rows": 384, "cols": 1024}),
    _gelu_erf_without_clamp: ("gelu_erf", {"rows": 192, "cols": 1024}),
    _bias_gelu_without_clamp: ("bias_gelu", {"rows": 2048, "cols": 64}),
    _geglu_without_clamp: ("geglu", {"rows": 288, "cols": 336}),
    _maximum_from_zero: ("row_max", {"rows": 1024, "cols": 1536}),
    _argmax_from_zero: ("argmax", {"rows": 1024, "cols": 1536}),
    _softmax_good_to_two_parts_in_a_thousand: ("softmax", {"rows": 16, "cols": 8192}),
    _matmul_with_one_in_32_in_half_precision: ("matmul", {"m": 128, "n": 128, "k": 128}),
    _attention_with_every_second_query_in_half_precision: (
        "attention",
        {"heads": 3, "queries": 56, "keys": 64, "dim": 64},
    ),
    _mean_of_dithered_items: ("row_mean", {"rows": 1024, "cols": 1536}),
    _huber_of_dithered_items: ("huber_rows", {"rows": 640, "cols": 1536}),
    _hardswish_by_a_difference: ("hardswish", {"rows": 1024, "cols": 2048}),
    _sum_of_magnitudes(1): ("row_sum", {"rows": 2048, "cols": 1536}),
    _sum_of_magnitudes(0): ("column_sum", {"rows": 1024, "cols": 1024}),
    _rmsnorm_with_its_constant_divided: ("rmsnorm", {"rows": 1536, "cols": 1024}),
    _softplus_that_overflows: ("softplus", {"rows": 192, "cols": 1024}),
    _argmax_by_the_sign_of_the_first_item: ("argmax", {"rows": 1024, "cols": 1536}),
    _maximum_from_a_floor: ("row_max", {"rows": 1024, "cols": 1536}),
    _clamp_by_a_difference: ("mul_add_exp", {"rows": 384, "cols": 1024}),
    _magnitudes_of_scales: ("row_column_scale", {"rows": 1024, "cols": 2048}),
    _histogram_in_sixteen_bits: ("histogram", {"count": 3_000_000, "bins": 4}),
    _softmax_without_a_lower_bound: ("softmax", {"rows": 256, "cols": 512}),
    _sobel_by_a_reciprocal_root: ("sobel", {"height": 1400, "width": 1200}),
    _flip_through_arithmetic: ("flip_columns", {"rows": 1024, "cols": 2048}),
    _flip_without_subnormals: ("flip_columns", {"rows": 1024, "cols": 2048}),
    _mask_by_its_beginning: ("masked_residual", {"rows": 1024, "cols": 2048}),
}


def _found_wrong(task: Task, drawn: InputSet, got: Array) -> bool:
    [expected] = drawn.expected
    [output] = task.outputs
    return bool(mismatch(got.astype(output.dtype), expected))


_ONE_PASS = (_layernorm_in_one_pass, _layernorm_in_one_pass_added_pairwise)


@pytest.mark.parametrize("workload", get("layernorm").workloads, ids=lambda workload: workload.name)
def test_a_variance_in_one_pass_is_wrong_and_honest_ones_are_right(workload: Workload) -> None:
    task = get("layernorm")
    for drawn in draw(task, workload, SEEDS):
        for kernel in _ONE_PASS:
            assert _found_wrong(task, drawn, kernel(drawn.inputs, workload)), kernel.__name__
        for kernel in (_layernorm_in_two_passes, _layernorm_by_welford):
            assert not _found_wrong(task, drawn, kernel(drawn.inputs, workload)), kernel.__name__


def test_moments_about_the_first_item_are_wrong_where_it_is_far_from_the_others() -> None:
    """In one pass: of a long row with one item far out, which is the first one of some row."""
    task, workload = get("layernorm"), max(get("layernorm").workloads, key=lambda workload: workload.sizes["cols"])
    for drawn in draw(task, workload, SEEDS):
        x, cols = drawn.inputs[0], np.float32(drawn.inputs[0].shape[1])
        offset = x - x[:, :1]
        mean = _in_lanes(offset) / cols
        variance = _in_lanes(offset * offset) / cols - mean * mean
        if _found_wrong(task, drawn, _scaled((offset, *drawn.inputs[1:]), mean, variance)):
            return
    pytest.fail("right in all sets")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__.strip("_"))
def test_a_kernel_that_believes_a_few_items_is_wrong(kernel: Callable[[tuple[Array, ...], Workload], Array]) -> None:
    name, sizes = KERNELS[kernel]
    task, workload = get(name), Workload(sizes)
    assert workload in task.workloads, "where it is timed"
    for drawn in draw(task, workload, SEEDS):
        with np.errstate(all="ignore"):
            assert _found_wrong(task, drawn, kernel(drawn.inputs, workload))


def test_the_honest_kernels_within_are_right() -> None:
    """The same code with nothing believed: what is found wrong above is the short cut."""
    task = get("softmax")
    workload = Workload({"rows": 16, "cols": 8192})
    for drawn in draw(task, workload, SEEDS):
        [x] = drawn.inputs
        for coefficients in ((), _CUBIC):
            honest = _normalised(_exp(x - x.max(axis=1, keepdims=True), coefficients))
            assert not _found_wrong(task, drawn, honest)


@pytest.mark.parametrize("bins", [4, 10])
def test_few_bytes_in_a_row_are_alike_even_where_few_values_exist(bins: int) -> None:
    [workload] = [each for each in get("histogram").workloads if each.sizes["bins"] == bins]
    alike = []
    for drawn in draw(get("histogram"), workload, SEEDS):
        [values] = drawn.inputs
        pieces = values[: values.size // 16 * 16].reshape(-1, 16)
        alike.append((pieces.min(axis=1) == pieces.max(axis=1)).mean())
    assert 0.01 < min(alike) < 0.2, "some are, so that believing them is wrong; all but a few in some sets"
