"""Convolution family on a GPU."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.task import Sizes, Task, Tensor, Tolerance, Workload

_DEPTHWISE_CONV1D = """\
import torch


def kernel(x, weights):
    padded = torch.nn.functional.pad(x, (weights.shape[1] - 1, 0))
    return torch.nn.functional.conv1d(padded[None], weights[:, None, :], groups=x.shape[0])[0]
"""

_SIZES = {1: ("batch", "inputs", "outputs", "length"), 2: ("batch", "inputs", "outputs", "height", "width")}
_HALF = Tolerance(2e-3, 5e-3, "float16 output, float32 sums in any order")
_BRAIN = Tolerance(1e-2, 1e-2, "bfloat16 output (8 bits), float32 sums in any order")


def _call(arguments: str, value: str) -> str:
    return f"import torch\n\n\ndef kernel({arguments}):\n    return torch.{value}\n"


def _workloads(dims: int, *sizes: tuple[int, ...]) -> tuple[Workload, ...]:
    return tuple(Workload(dict(zip(_SIZES[dims], size, strict=True))) for size in sizes)


def _depthwise(batch: int, channels: int, height: int, width: int) -> Workload:
    return Workload({"batch": batch, "channels": channels, "height": height, "width": width})


def _conv(
    name: str,
    summary: str,
    dtype: str,
    weights: tuple[str | int, ...],
    made: tuple[str, ...],
    timed: tuple[tuple[int, ...], ...],
    extra: tuple[tuple[int, ...], ...],
    products: Callable[[Sizes], float],
    reference: str,
    bias: bool = False,
) -> Task:
    """A convolution over all channels; `made` are the dimensions of the output after batch and channels."""
    dims = len(made)
    inputs = [
        Tensor("x", dtype, ("batch", "inputs", *_SIZES[dims][3:])),
        Tensor("weights", dtype, weights),
    ]
    if bias:
        inputs.append(Tensor("bias", dtype, ("outputs",)))
    return Task(
        name=name,
        family="convolution",
        summary=summary,
        sizes=_SIZES[dims],
        inputs=tuple(inputs),
        outputs=(Tensor("out", dtype, ("batch", "outputs", *made)),),
        workloads=_workloads(dims, *timed),
        extra=_workloads(dims, *extra),
        tolerance=_HALF if dtype == "float16" else _BRAIN,
        flops=lambda s: 2.0 * s["batch"] * s["inputs"] * s["outputs"] * products(s),
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    Task(
        name="depthwise_conv1d",
        family="convolution",
        summary="out[i][t] = sum over k < 4 of weights[i][k] * x[i][t - 3 + k], zero before the start",
        sizes=("channels", "length"),
        inputs=(Tensor("x", "float16", ("channels", "length")), Tensor("weights", "float16", ("channels", 4))),
        outputs=(Tensor("out", "float16", ("channels", "length")),),
        workloads=(Workload({"channels": 4096, "length": 16384}), Workload({"channels": 16384, "length": 2016})),
        extra=(Workload({"channels": 37, "length": 1040}), Workload({"channels": 5, "length": 48})),
        tolerance=Tolerance(2e-3, 2e-3, "float16 output of four products, added in float32"),
        flops=lambda s: 8.0 * s["channels"] * s["length"],
        oracle=None,
        references={"torch": _DEPTHWISE_CONV1D},
    ),
    _conv(
        "conv1d",
        "five taps over all channels, two zeros of padding on either side",
        "float16",
        ("outputs", "inputs", 5),
        ("length",),
        ((16, 128, 128, 8192), (256, 256, 256, 192)),
        ((3, 24, 40, 61), (2, 16, 16, 21)),
        lambda s: 5.0 * s["length"],
        _call("x, weights", "nn.functional.conv1d(x, weights, padding=2)"),
    ),
    _conv(
        "conv2d_3x3",
        "3 x 3 taps over all channels, one row and column of padding",
        "float16",
        ("outputs", "inputs", 3, 3),
        ("height", "width"),
        ((16, 64, 64, 112, 112), (128, 128, 128, 28, 28)),
        ((2, 24, 40, 9, 11), (1, 16, 16, 6, 7)),
        lambda s: 9.0 * s["height"] * s["width"],
        _call("x, weights", "nn.functional.conv2d(x, weights, padding=1)"),
    ),
    _conv(
        "conv2d_1x1",
        "a matrix of weights applied to the channels of each pixel",
        "bfloat16",
        ("outputs", "inputs", 1, 1),
        ("height", "width"),
        ((32, 256, 256, 56, 56), (64, 768, 256, 28, 28)),
        ((2, 24, 40, 9, 11), (1, 16, 16, 6, 7)),
        lambda s: 1.0 * s["height"] * s["width"],
        _call("x, weights", "nn.functional.conv2d(x, weights)"),
    ),
    _conv(
        "conv2d_3x3_relu",
        "3 x 3 taps over all channels, stride 2, one row and column of padding, then bias and ReLU",
        "bfloat16",
        ("outputs", "inputs", 3, 3),
        ("(height + 1) // 2", "(width + 1) // 2"),
        ((16, 64, 128, 112, 112), (64, 128, 192, 56, 56)),
        ((2, 24, 40, 9, 11), (1, 16, 16, 6, 7)),
        lambda s: 9.0 * ((s["height"] + 1) // 2) * ((s["width"] + 1) // 2),
        _call("x, weights, bias", "relu(torch.nn.functional.conv2d(x, weights, bias, stride=2, padding=1))"),
        bias=True,
    ),
    _conv(
        "conv_transpose1d",
        "transposed convolution with four taps over all channels, stride 2, one place cut from either side",
        "float16",
        ("inputs", "outputs", 4),
        ("2 * length",),
        ((16, 128, 128, 4096), (128, 256, 128, 240)),
        ((3, 24, 40, 61), (2, 16, 16, 21)),
        lambda s: 4.0 * s["length"],
        _call("x, weights", "nn.functional.conv_transpose1d(x, weights, stride=2, padding=1)"),
    ),
    Task(
        name="depthwise_conv2d",
        family="convolution",
        summary="3 x 3 taps of each channel by itself, one row and column of padding",
        sizes=("batch", "channels", "height", "width"),
        inputs=(
            Tensor("x", "float16", ("batch", "channels", "height", "width")),
            Tensor("weights", "float16", ("channels", 1, 3, 3)),
        ),
        outputs=(Tensor("out", "float16", ("batch", "channels", "height", "width")),),
        workloads=tuple(_depthwise(*size) for size in ((32, 96, 112, 96), (64, 768, 28, 28))),
        extra=tuple(_depthwise(*size) for size in ((2, 5, 37, 45), (2, 3, 6, 18))),
        tolerance=Tolerance(1e-3, 1e-3, "float16 output of nine products, added in float32"),
        flops=lambda s: 18.0 * s["batch"] * s["channels"] * s["height"] * s["width"],
        oracle=None,
        references={
            "torch": _call("x, weights", "nn.functional.conv2d(x, weights, padding=1, groups=weights.shape[0])")
        },
    ),
)
