"""Layout family on a GPU."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_ROTARY = """\
import torch


def kernel(x, cos, sin):
    near, far = x.chunk(2, dim=2)
    u, w = cos[:, None, :], sin[:, None, :]
    return torch.cat((near * u - far * w, far * u + near * w), dim=2)
"""

_INTERLEAVE = """\
import torch


def kernel(a, b):
    return torch.stack((a, b), dim=2).flatten(1)
"""

_UPSAMPLE = """\
import torch


def kernel(x):
    return torch.nn.functional.interpolate(x[:, None], scale_factor=2, mode="nearest")[:, 0]
"""


def _moved(
    name: str,
    summary: str,
    dtype: str,
    sizes: tuple[str, ...],
    inputs: Mapping[str, tuple[str, ...]],
    out: tuple[str, ...],
    timed: tuple[tuple[int, ...], ...],
    extra: tuple[tuple[int, ...], ...],
    reference: str,
) -> Task:
    """A task that only moves items; `reference` is a torch expression, or a module."""
    if "def kernel" not in reference:
        reference = f"import torch\n\n\ndef kernel({', '.join(inputs)}):\n    return {reference}\n"
    return Task(
        name=name,
        family="layout",
        summary=summary,
        sizes=sizes,
        inputs=tuple(Tensor(tensor, dtype, shape) for tensor, shape in inputs.items()),
        outputs=(Tensor("out", dtype, out),),
        workloads=tuple(Workload(dict(zip(sizes, values, strict=True))) for values in timed),
        extra=tuple(Workload(dict(zip(sizes, values, strict=True))) for values in extra),
        tolerance=Tolerance(0.0, 0.0, "a copy"),
        flops=lambda s: 0.0,
        oracle=None,
        references={"torch": reference},
    )


_MATRIX = ("rows", "cols")
_IMAGES = ("images", "height", "width")

TASKS = (
    Task(
        name="transpose",
        family="layout",
        summary="out[j][i] = x[i][j] of a float32 matrix in row-major order",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols")),),
        outputs=(Tensor("out", "float32", ("cols", "rows")),),
        workloads=(Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 528})),
        extra=(Workload({"rows": 208, "cols": 1040}), Workload({"rows": 37, "cols": 48})),
        tolerance=Tolerance(0.0, 0.0, "a copy"),
        flops=lambda s: 0.0,
        oracle=None,
        references={"torch": "import torch\n\n\ndef kernel(x):\n    return x.t().contiguous()\n"},
    ),
    Task(
        name="rotary",
        family="layout",
        summary="each head's two halves turned by the token's angles: (a cos - b sin, b cos + a sin)",
        sizes=("tokens", "heads", "dim"),
        inputs=(
            Tensor("x", "float16", ("tokens", "heads", "dim")),
            Tensor("cos", "float16", ("tokens", "dim // 2")),
            Tensor("sin", "float16", ("tokens", "dim // 2")),
        ),
        outputs=(Tensor("out", "float16", ("tokens", "heads", "dim")),),
        workloads=(
            Workload({"tokens": 16384, "heads": 32, "dim": 128}),
            Workload({"tokens": 16384, "heads": 16, "dim": 64}),
        ),
        extra=(Workload({"tokens": 37, "heads": 3, "dim": 128}), Workload({"tokens": 5, "heads": 3, "dim": 32})),
        tolerance=Tolerance(3e-3, 8e-3, "float16 output, and perhaps float16 products of numbers up to 5 before a sum"),
        flops=lambda s: 3.0 * s["tokens"] * s["heads"] * s["dim"],
        oracle=None,
        references={"torch": _ROTARY},
    ),
    _moved(
        "permute_021",
        "out[b][j][i] = x[b][i][j] of a batch of matrices",
        "bfloat16",
        ("batch", "rows", "cols"),
        {"x": ("batch", "rows", "cols")},
        ("batch", "cols", "rows"),
        ((16, 1024, 1024), (512, 336, 80)),
        ((3, 37, 208), (2, 80, 48)),
        "x.transpose(1, 2).contiguous()",
    ),
    _moved(
        "permute_0213",
        "out[b][h][s] = x[b][s][h], each a head's row of dim items",
        "float16",
        ("batch", "seq", "heads", "dim"),
        {"x": ("batch", "seq", "heads", "dim")},
        ("batch", "heads", "seq", "dim"),
        ((4, 4096, 16, 64), (64, 512, 12, 48)),
        ((3, 37, 3, 48), (2, 5, 3, 16)),
        "x.permute(0, 2, 1, 3).contiguous()",
    ),
    _moved(
        "concat_columns",
        "the rows of a, each followed by the row of b",
        "float32",
        ("rows", "left", "right"),
        {"a": ("rows", "left"), "b": ("rows", "right")},
        ("rows", "left + right"),
        ((8192, 1024, 1024), (65536, 48, 144)),
        ((37, 80, 208), (5, 16, 48)),
        "torch.cat((a, b), dim=1)",
    ),
    _moved(
        "interleave",
        "out[i][2 j] = a[i][j] and out[i][2 j + 1] = b[i][j]",
        "float16",
        _MATRIX,
        {"a": _MATRIX, "b": _MATRIX},
        ("rows", "2 * cols"),
        ((8192, 2048), (131072, 80)),
        ((37, 208), (5, 48)),
        _INTERLEAVE,
    ),
    _moved(
        "flip_columns",
        "out[i][j] = x[i][cols - 1 - j]",
        "float32",
        _MATRIX,
        {"x": _MATRIX},
        _MATRIX,
        ((8192, 2048), (65536, 208)),
        ((37, 1040), (5, 336)),
        "torch.flip(x, (1,))",
    ),
    _moved(
        "pad_2d",
        "each image with a border of zeros, 4 wide",
        "float16",
        _IMAGES,
        {"x": _IMAGES},
        ("images", "height + 8", "width + 8"),
        ((64, 512, 512), (1024, 112, 112)),
        ((3, 37, 80), (2, 5, 16)),
        "torch.nn.functional.pad(x, (4, 4, 4, 4))",
    ),
    _moved(
        "roll_rows",
        "out[i][j] = x[i][(j - 5) mod cols]",
        "bfloat16",
        _MATRIX,
        {"x": _MATRIX},
        _MATRIX,
        ((8192, 4096), (65536, 336)),
        ((37, 1040), (5, 336)),
        "torch.roll(x, 5, 1)",
    ),
    _moved(
        "upsample_nearest_2d",
        "out[n][i][j] = x[n][i // 2][j // 2]",
        "float16",
        _IMAGES,
        {"x": _IMAGES},
        ("images", "2 * height", "2 * width"),
        ((128, 256, 256), (2048, 56, 56)),
        ((3, 37, 80), (2, 5, 16)),
        _UPSAMPLE,
    ),
)
