"""Times of library calls against rooflines that can be made by hand."""

from __future__ import annotations

import pytest

from foretell.kernels.cost.call_features import CLASSES, features_of
from foretell.kernels.cost.calls import corrections, roofline_us, time_of
from foretell.kernels.devices import described
from foretell.kernels.program import LibraryCall, View

H200, A6000 = described("h200"), described("a6000")


def view(number: int, *shape: int, dtype: str = "float32") -> View:
    strides, step = [], 1
    for side in reversed(shape):
        strides.insert(0, step)
        step *= side
    return View(number, 0, dtype, shape, tuple(strides))


def product(side: int, dtype: str = "float16") -> LibraryCall:
    left, right, result = (view(i, side, side, dtype=dtype) for i in range(3))
    return LibraryCall("aten::mm.default", (left, right), (), (result,))


def relu(count: int) -> LibraryCall:
    return LibraryCall("aten::relu.default", (view(0, count),), (), (view(1, count),))


def test_a_large_product_is_near_the_peak_rate():
    least_us = 2.0 * 8192**3 / 989e12 * 1e6
    assert least_us < time_of(product(8192), H200).us < 3.0 * least_us


def test_float32_products_use_the_plain_units_unless_the_flags_allow_less():
    exact = product(4096, "float32")
    allowed = LibraryCall(exact.operator, exact.arguments, (), exact.results, flags=(("matmul_precision", "high"),))
    assert not features_of(exact).tensor_cores and features_of(allowed).tensor_cores
    assert roofline_us(features_of(allowed), H200)[1] < roofline_us(features_of(exact), H200)[1] / 5.0


def test_elementwise_calls_move_their_bytes():
    count = 1 << 27
    least_us = 8.0 * count / 4.8e12 * 1e6
    found = time_of(relu(count), H200)
    assert least_us < found.us < 1.5 * least_us
    assert found.doubt_log2 < 0.5


@pytest.mark.parametrize("call", [product(4096), relu(1 << 26)])
def test_a_slower_device_takes_longer(call):
    assert time_of(call, A6000).us > 2.0 * time_of(call, H200).us


def test_a_call_unlike_all_measured_ones_is_doubtful():
    odd = LibraryCall("aten::_fft_r2c.default", (view(0, 1 << 20),), (), (view(1, 1 << 20),))
    assert time_of(odd, H200).doubt_log2 >= time_of(relu(1 << 20), H200).doubt_log2 * 2.0


def test_every_class_of_the_model_is_known():
    assert set(corrections()) <= set(CLASSES)


def test_depthwise_and_transposed_convolutions_are_classes_of_their_own():
    def convolution(weight: View, transposed: bool, groups: int) -> str:
        source, result = view(0, 8, 64, 32, 32), view(2, 8, 64, 32, 32)
        arguments = (source, weight, None, (1, 1), (1, 1), (1, 1), transposed, (0, 0), groups)
        return features_of(LibraryCall("aten::convolution.default", arguments, (), (result,))).kind

    assert convolution(view(1, 64, 64, 3, 3), False, 1) == "convolution"
    assert convolution(view(1, 64, 64, 3, 3), True, 1) == "transposed"
    assert convolution(view(1, 64, 1, 3, 3), False, 64) == "depthwise"


def test_a_memory_layout_that_was_never_measured_changes_the_doubt_and_not_the_time():
    def convolution(strides: tuple[int, ...]) -> LibraryCall:
        source = View(0, 0, "float32", (32, 64, 56, 56), strides)
        flags = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)
        return LibraryCall(
            "aten::convolution.default", (source, view(1, 64, 64, 3, 3), None, *flags), (), (view(2, 32, 64, 56, 56),)
        )

    usual = time_of(convolution((64 * 56 * 56, 56 * 56, 56, 1)), H200)
    last = time_of(convolution((64 * 56 * 56, 1, 56 * 64, 64)), H200)
    assert last.us == pytest.approx(usual.us) and last.doubt_log2 > usual.doubt_log2
