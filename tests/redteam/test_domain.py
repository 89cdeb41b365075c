"""Kernels that are right for usual numbers alone: legal ones of other magnitudes, signs and places must show them.

Each is told in numpy; it must be found wrong in one of a few sets at a timed workload, and the exact result in none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from foretell.kernels.bench.distributions import draw_inputs
from foretell.kernels.bench.inputs import InputSet, differs, draw, mismatch
from foretell.kernels.bench.sizes import extremes
from foretell.kernels.library import get, tasks
from foretell.kernels.task import Task, Workload

Array = NDArray[Any]
Kernel = Callable[[dict[str, Array], Task, Workload], Array]
SEEDS = (301, 302, 303, 304, 305, 306)
LINEAR = (
    "matmul", "batched_matmul", "matmul_transposed", "conv2d", "depthwise_conv2d", "row_dot", "row_sum", "row_mean",
    "row_var", "column_sum", "prefix_sum", "exclusive_cumsum", "reverse_cumsum", "stencil5", "stencil9", "sobel",
    "jacobi_source", "avg_pool2d", "row_column_scale", "add_bias_residual", "masked_residual", "softmax_backward",
    "rmsnorm", "layernorm", "attention",
)  # fmt: skip


def _oracle(arrays: dict[str, Array], task: Task, workload: Workload) -> Array:
    assert task.oracle is not None
    return task.oracle(arrays, workload.sizes)[0]


def _saturated(arrays: dict[str, Array], task: Task, workload: Workload) -> Array:
    """Fixed point with room for what `normal`, `wide` and planted items hold."""
    limit = 4096.0
    return _oracle({k: a.clip(-limit, limit) if a.dtype.kind == "f" else a for k, a in arrays.items()}, task, workload)


def _in_fixed_steps(arrays: dict[str, Array], task: Task, workload: Workload) -> Array:
    step = 2.0**-17
    fixed = {k: np.rint(a / step) * step if a.dtype.kind == "f" else a for k, a in arrays.items()}
    return _oracle(fixed, task, workload)


def _logarithm_of_few_exponents(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    q = arrays["q"].astype(np.float64)
    fraction, exponent = np.frexp(q)
    return np.asarray((q * (np.log(fraction) + ((exponent + 8) % 16 - 8) * np.log(2) - arrays["logp"])).sum(axis=1))


def _divergence(arrays: dict[str, Array], logarithm: Callable[[Array], Array]) -> Array:
    """By one chain of float32, as honest kernels do it."""
    q, logp = arrays["q"], arrays["logp"]
    return np.asarray(np.add.accumulate(q * (logarithm(q) - logp), axis=1, dtype=np.float32)[:, -1])


def _logarithm_whose_error_averages_out(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    """Off by 2.6e-5 at most, and by nothing on average over mantissas as drawn."""
    coefficients = (0.0293612722, -0.128233386, 0.28159029, -0.488495062, 0.998912009, 2.56031884e-05)

    def logarithm(q: Array) -> Array:
        fraction, exponent = np.frexp(q)
        return np.asarray(np.polyval(coefficients, 2 * fraction - 1) + (exponent - 1) * np.log(2)).astype(np.float32)

    return _divergence(arrays, logarithm)


def _wrapping_exponential(x: Array) -> Array:
    """Right above -700; below, the exponent's bits wrap around."""
    return np.asarray(np.where(x < -700, np.inf, np.exp(np.maximum(x, -700))))


def _entropy_without_a_clamp(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    logits = arrays["logits"].astype(np.float64)
    peak = logits.max(axis=1, keepdims=True)
    total = _wrapping_exponential(logits - peak).sum(axis=1)
    return np.asarray(np.log(total) + peak[:, 0] - logits[np.arange(len(logits)), arrays["targets"]])


def _softmax_in_double_without_maximum(arrays: dict[str, Array], task: Task, _: Workload) -> Array:
    e = np.exp(arrays["x"].astype(np.float64) / (8 if task.name == "softmax_scaled" else 1))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _logsumexp_in_double_without_maximum(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    return np.asarray(np.log(np.exp(arrays["x"].astype(np.float64)).sum(axis=1)))


def _eight_tables_of_sixteen_bits(arrays: dict[str, Array], _: Task, workload: Workload) -> Array:
    counts = (np.bincount(arrays["values"][k::8], minlength=workload.sizes["bins"]) % 65536 for k in range(8))
    return np.asarray(sum(counts))


def _thirty_two_tables_of_sixteen_bits(arrays: dict[str, Array], _: Task, workload: Workload) -> Array:
    """Right wherever it is timed: up to two million items in many bins."""
    counts = (np.bincount(arrays["values"][k::32], minlength=workload.sizes["bins"]) % 65536 for k in range(32))
    return np.asarray(sum(counts))


def _maximum_from_a_large_negative_number(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    return np.asarray(np.maximum(arrays["x"].max(axis=1), np.float32(-1e37)))


def _maximum_without_subnormals(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    x = arrays["x"]
    return np.asarray(np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x).max(axis=1))


def _argmax_of_bit_patterns(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    bits = arrays["x"].view(np.int32)
    return np.asarray(np.where(bits < 0, bits ^ 0x7FFFFFFF, bits).argmax(axis=1))


def _argmax_of_sixteen_bits(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    return np.asarray(arrays["x"].astype(np.float64).clip(-32768, 32767).astype(np.int16).argmax(axis=1))


def _argmax_of_small_whole_numbers(arrays: dict[str, Array], _: Task, workload: Workload) -> Array:
    """One pass with a number and its place in one integer."""
    cols = workload.sizes["cols"]
    return np.asarray((np.rint(arrays["x"]).astype(np.float64) * cols - np.arange(cols)).argmax(axis=1))


def _counted_in_an_eighth(arrays: dict[str, Array], _: Task, workload: Workload) -> Array:
    values = arrays["values"]
    counts = np.bincount(values[: values.size // 8], minlength=workload.sizes["bins"])
    return np.rint(counts * (values.size / max(1, values.size // 8)))


def _silu_in_half_precision(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    x = arrays["x"].astype(np.float16)
    return np.asarray(x / (np.float16(1) + np.exp(-x)))


def _maximum_of_bit_patterns(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    return np.asarray(arrays["x"].view(np.int32).max(axis=1).view(np.float32))


def _log_softmax_with_the_maximum_of_its_beginning(arrays: dict[str, Array], _: Task, __: Workload) -> Array:
    x = arrays["x"]
    from_peak = x - x[:, :32].max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        return np.asarray(from_peak - np.log(np.exp(from_peak).sum(axis=1, keepdims=True, dtype=np.float32)))


def _results_in_half_precision(arrays: dict[str, Array], task: Task, workload: Workload) -> Array:
    right = _oracle(arrays, task, workload)
    return np.where(np.abs(right) < 7.5, right.astype(np.float16), right)


KERNELS: tuple[tuple[str, Kernel], ...] = (
    *((name, _saturated) for name in LINEAR),
    *((name, _in_fixed_steps) for name in LINEAR if name not in ("rmsnorm", "layernorm")),
    ("kl_div_rows", _logarithm_of_few_exponents),
    ("kl_div_rows", _logarithm_whose_error_averages_out),
    ("cross_entropy", _entropy_without_a_clamp),
    ("softmax", _softmax_in_double_without_maximum),
    ("softmax_scaled", _softmax_in_double_without_maximum),
    ("row_logsumexp", _logsumexp_in_double_without_maximum),
    ("histogram", _eight_tables_of_sixteen_bits),
    ("row_max", _maximum_from_a_large_negative_number),
    ("row_max", _maximum_without_subnormals),
    ("argmax", _argmax_of_bit_patterns),
    ("argmax", _argmax_of_sixteen_bits),
    ("argmax", _argmax_of_small_whole_numbers),
    ("histogram", _counted_in_an_eighth),
    ("silu", _silu_in_half_precision),
    ("row_max", _maximum_of_bit_patterns),
    ("log_softmax", _log_softmax_with_the_maximum_of_its_beginning),
    ("layernorm", _results_in_half_precision),
    ("rmsnorm", _results_in_half_precision),
)


def _smallest(task: Task) -> Workload:
    return min(task.workloads, key=lambda workload: task.least_bytes(workload.sizes))


def _wrong(task: Task, drawn: InputSet, got: Array) -> bool:
    """Whether neither the oracle nor agreement with a reference lets it pass."""
    [expected], [output] = drawn.expected, task.outputs
    got = got.astype(output.dtype)
    reference = expected.want.astype(output.dtype)
    return bool(mismatch(got, expected)) and bool(differs(got, reference, task.tolerance, drawn.scale))


@pytest.mark.parametrize(("name", "kernel"), KERNELS, ids=[f"{name}-{kernel.__name__[1:]}" for name, kernel in KERNELS])
def test_a_kernel_for_usual_numbers_is_wrong(name: str, kernel: Kernel) -> None:
    task = get(name)
    workload = _smallest(task)
    found = []
    for seed in SEEDS:
        [drawn] = draw(task, workload, [seed])
        arrays = {tensor.name: array for tensor, array in zip(task.inputs, drawn.inputs, strict=True)}
        with np.errstate(all="ignore"):
            assert not _wrong(task, drawn, _oracle(arrays, task, workload))
            found.append(_wrong(task, drawn, kernel(arrays, task, workload)))
        if any(found):
            return
    pytest.fail(f"right in all of {len(found)} sets")


def test_a_histogram_that_is_right_at_timed_sizes_alone_is_wrong() -> None:
    task = get("histogram")
    [workload] = extremes(task)
    for drawn in draw(task, workload, SEEDS[:2], extreme=True):
        arrays = {tensor.name: array for tensor, array in zip(task.inputs, drawn.inputs, strict=True)}
        assert _wrong(task, drawn, _thirty_two_tables_of_sixteen_bits(arrays, task, workload))
        assert not _wrong(task, drawn, _oracle(arrays, task, workload))


@pytest.mark.parametrize("units", [0.0, 4.0, -4.0])
def test_a_logarithm_that_is_off_by_a_few_units_in_the_last_place_is_right(units: float) -> None:
    task = get("kl_div_rows")
    for workload in task.workloads:
        for drawn in draw(task, workload, SEEDS):
            arrays = {tensor.name: array for tensor, array in zip(task.inputs, drawn.inputs, strict=True)}
            got = _divergence(arrays, lambda q: (np.log(q) + units * np.spacing(np.log(q))).astype(np.float32))
            assert not mismatch(got, drawn.expected[0])


@pytest.mark.parametrize("name", sorted(tasks("cpu")))
def test_inputs_of_the_least_sizes_can_be_drawn(name: str) -> None:
    """Sizes are drawn between the least and the largest that are named: of one item, a hazard must not fail."""
    task = get(name)
    every = [workload.sizes for workload in (*task.workloads, *task.extra)]
    least = {size: min(sizes[size] for sizes in every) for size in task.sizes}
    for seed in range(40):
        draw_inputs(task, least, np.random.Generator(np.random.SFC64(seed)))
