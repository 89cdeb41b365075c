"""Pooling family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Sizes, Task, Tensor, Tolerance, Workload, evaluate_size

_EXACT = Tolerance(1e-6, 1e-6, "an extreme of the inputs is one of them")


def _reference(value: str) -> str:
    return f"import torch\n\n\ndef kernel(x):\n    return {value}\n"


def _images(*sizes: tuple[int, int, int]) -> tuple[Workload, ...]:
    return tuple(Workload(dict(zip(("planes", "height", "width"), size, strict=True))) for size in sizes)


def _rows(*sizes: tuple[int, int]) -> tuple[Workload, ...]:
    return tuple(Workload({"rows": rows, "length": length}) for rows, length in sizes)


def _pool(
    name: str,
    summary: str,
    dtype: str,
    shapes: tuple[tuple[str, ...], tuple[str, ...]],
    timed: tuple[Workload, ...],
    extra: tuple[Workload, ...],
    tolerance: Tolerance,
    window: int,
    reference: str,
) -> Task:
    """A pool of `x` of shape `shapes[0]` into `out` of shape `shapes[1]`, with `window` inputs to an output."""
    given, made = shapes

    def flops(sizes: Sizes) -> float:
        count = float(window)
        for dim in made:
            count *= evaluate_size(dim, sizes)
        return count

    return Task(
        name=name,
        family="pooling",
        summary=summary,
        sizes=tuple(timed[0].sizes),
        inputs=(Tensor("x", dtype, given),),
        outputs=(Tensor("out", dtype, made),),
        workloads=timed,
        extra=extra,
        tolerance=tolerance,
        flops=flops,
        oracle=None,
        references={"torch": _reference(reference)},
    )


_IMAGE = ("planes", "height", "width")
_HALVED = ("planes", "height // 2", "width // 2")
_ROW = ("rows", "length")


def _global_flops(sizes: Sizes) -> float:
    return float(sizes["batch"] * sizes["height"] * sizes["width"] * sizes["channels"])


def _channels_last(batch: int, height: int, width: int, channels: int) -> Workload:
    return Workload({"batch": batch, "height": height, "width": width, "channels": channels})


TASKS = (
    _pool(
        "max_pool2d",
        "largest of each 3 x 3 window, stride 2, one row and column of padding",
        "float16",
        (_IMAGE, ("planes", "(height + 1) // 2", "(width + 1) // 2")),
        _images((2048, 112, 112), (48, 1024, 768)),
        _images((5, 37, 45), (3, 6, 18)),
        _EXACT,
        9,
        "torch.nn.functional.max_pool2d(x, 3, 2, 1)",
    ),
    _pool(
        "avg_pool2d",
        "mean of each 2 x 2 window, stride 2",
        "bfloat16",
        (_IMAGE, _HALVED),
        _images((4096, 96, 96), (64, 1024, 640)),
        _images((5, 37, 46), (3, 6, 18)),
        Tolerance(5e-3, 5e-4, "bfloat16 output (8 bits) of four numbers added in float32"),
        4,
        "torch.nn.functional.avg_pool2d(x, 2)",
    ),
    _pool(
        "min_pool2d",
        "smallest of each 3 x 3 window, stride 1, one row and column of padding",
        "float32",
        (_IMAGE, _IMAGE),
        _images((768, 128, 120), (12, 1280, 1024)),
        _images((5, 37, 45), (3, 6, 18)),
        _EXACT,
        9,
        "-torch.nn.functional.max_pool2d(-x, 3, 1, 1)",
    ),
    _pool(
        "lp_pool2d",
        "root of the sum of squares of each 2 x 2 window, stride 2",
        "float32",
        (_IMAGE, _HALVED),
        _images((1536, 96, 104), (24, 1024, 768)),
        _images((5, 37, 46), (3, 6, 18)),
        Tolerance(1e-5, 1e-6, "a float32 root of four squares"),
        8,
        "torch.nn.functional.lp_pool2d(x, 2.0, 2)",
    ),
    _pool(
        "max_pool1d",
        "largest of 8 neighbours in a row, stride 4",
        "float16",
        (_ROW, ("rows", "(length - 4) // 4")),
        _rows((2048, 16384), (65536, 480)),
        _rows((37, 1040), (5, 48)),
        _EXACT,
        8,
        "torch.nn.functional.max_pool1d(x, 8, 4)",
    ),
    _pool(
        "moving_average",
        "mean of 32 neighbours in a row, stride 1",
        "float32",
        (_ROW, ("rows", "length - 31")),
        _rows((1024, 16384), (16384, 1008)),
        _rows((37, 1040), (5, 80)),
        Tolerance(1e-5, 2e-6, "32 float32 numbers near 1 added in any order"),
        32,
        "torch.nn.functional.avg_pool1d(x[:, None], 32, 1)[:, 0]",
    ),
    Task(
        name="global_avg_pool",
        family="pooling",
        summary="mean over all pixels of each channel, channels last",
        sizes=("batch", "height", "width", "channels"),
        inputs=(Tensor("x", "bfloat16", ("batch", "height", "width", "channels"), fill="uniform"),),
        outputs=(Tensor("out", "bfloat16", ("batch", "channels")),),
        workloads=(_channels_last(256, 14, 14, 768), _channels_last(16, 112, 112, 192)),
        extra=(_channels_last(3, 9, 11, 80), _channels_last(2, 5, 7, 48)),
        tolerance=Tolerance(5e-3, 1e-4, "bfloat16 output (8 bits), float32 sums in any order"),
        flops=_global_flops,
        oracle=None,
        references={"torch": _reference("x.mean(dim=(1, 2))")},
    ),
)
