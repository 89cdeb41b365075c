"""Stencil family on a GPU."""

from __future__ import annotations

from math import prod

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_STENCIL5 = """\
import torch


def kernel(x):
    out = x.clone()
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    out[1:-1, 1:-1] = 0.6 * x[1:-1, 1:-1] + 0.1 * around
    return out
"""

_INTERIOR = """\
import torch


def kernel({inputs}):
    out = {start}
    {body}
    return out
"""

_STENCIL9 = _INTERIOR.format(
    inputs="x",
    start="x.clone()",
    body="""wide = x.to(torch.promote_types(x.dtype, torch.float32))
    straight = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    corners = wide[:-2, :-2] + wide[:-2, 2:] + wide[2:, :-2] + wide[2:, 2:]
    out[1:-1, 1:-1] = 0.4 * wide[1:-1, 1:-1] + 0.1 * straight + 0.05 * corners""",
)

_LAPLACE3D = _INTERIOR.format(
    inputs="x",
    start="torch.zeros_like(x)",
    body="""inner = slice(1, -1)
    deep = x[:-2, inner, inner] + x[2:, inner, inner]
    high = x[inner, :-2, inner] + x[inner, 2:, inner]
    wide = x[inner, inner, :-2] + x[inner, inner, 2:]
    out[inner, inner, inner] = deep + high + wide - 6 * x[inner, inner, inner]""",
)

_SOBEL = _INTERIOR.format(
    inputs="x",
    start="torch.zeros_like(x)",
    body="""down = x[2:] - x[:-2]
    across = x[:, 2:] - x[:, :-2]
    dy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    dx = across[:-2] + 2 * across[1:-1] + across[2:]
    out[1:-1, 1:-1] = torch.sqrt(dx * dx + dy * dy)""",
)

_JACOBI_SOURCE = _INTERIOR.format(
    inputs="x, source",
    start="x.clone()",
    body="""around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    out[1:-1, 1:-1] = 0.25 * (around + 0.01 * source[1:-1, 1:-1])""",
)

_BLUR = """\
import torch


def kernel(x):
    a = torch.nn.functional.pad(x.to(torch.promote_types(x.dtype, torch.float32)), (2, 2, 2, 2))
    a = (a[:, :-4] + 4 * a[:, 1:-3] + 6 * a[:, 2:-2] + 4 * a[:, 3:-1] + a[:, 4:]) / 16
    a = (a[:-4] + 4 * a[1:-3] + 6 * a[2:-2] + 4 * a[3:-1] + a[4:]) / 16
    return a.to(x.dtype)
"""

_HEAT1D = """\
import torch


def kernel(x):
    for _ in range(4):
        near = torch.nn.functional.pad(x, (1, 1))
        x = x + 0.2 * (near[:, :-2] - 2 * x + near[:, 2:])
    return x
"""


def _plane(height: int, width: int) -> Workload:
    return Workload({"height": height, "width": width})


def _volume(depth: int, height: int, width: int) -> Workload:
    return Workload({"depth": depth, "height": height, "width": width})


def _stencil(
    name: str,
    summary: str,
    dtype: str,
    operations: int,
    tolerance: Tolerance,
    reference: str,
    timed: tuple[Workload, ...] = (_plane(4096, 4096), _plane(16384, 1008)),
    extra: tuple[Workload, ...] = (_plane(37, 141), _plane(5, 48)),
    inputs: tuple[str, ...] = ("x",),
) -> Task:
    """A stencil whose inputs and output all have the shape of the workload's sizes."""
    sizes = tuple(timed[0].sizes)
    return Task(
        name=name,
        family="stencil",
        summary=summary,
        sizes=sizes,
        inputs=tuple(Tensor(given, dtype, sizes) for given in inputs),
        outputs=(Tensor("out", dtype, sizes),),
        workloads=timed,
        extra=extra,
        tolerance=tolerance,
        flops=lambda s: float(operations * prod(s[size] for size in sizes)),
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    Task(
        name="stencil5",
        family="stencil",
        summary="0.6 centre + 0.1 of each of the four neighbours; points on the border stay as they are",
        sizes=("height", "width"),
        inputs=(Tensor("x", "float32", ("height", "width")),),
        outputs=(Tensor("out", "float32", ("height", "width")),),
        workloads=(Workload({"height": 8192, "width": 4096}), Workload({"height": 32768, "width": 1008})),
        extra=(Workload({"height": 37, "width": 1040}), Workload({"height": 5, "width": 48})),
        tolerance=Tolerance(1e-5, 2e-6, "six float32 operations on numbers near 1"),
        flops=lambda s: 6.0 * s["height"] * s["width"],
        oracle=None,
        references={"torch": _STENCIL5},
    ),
    _stencil(
        "stencil9",
        "0.4 centre + 0.1 of each straight neighbour + 0.05 of each corner; points on the border stay as they are",
        "bfloat16",
        11,
        Tolerance(5e-3, 5e-4, "bfloat16 output (8 bits) of nine products added in float32"),
        _STENCIL9,
        timed=(_plane(8192, 4096), _plane(32768, 1008)),
    ),
    _stencil(
        "laplace3d",
        "six neighbours less six times the centre; zero on the border",
        "float32",
        7,
        Tolerance(1e-5, 1e-5, "seven float32 operations on numbers near 10"),
        _LAPLACE3D,
        timed=(_volume(256, 256, 256), _volume(48, 512, 640)),
        extra=(_volume(5, 37, 45), _volume(4, 6, 18)),
    ),
    _stencil(
        "blur_separable",
        "binomial weights (1, 4, 6, 4, 1) / 16 along rows and columns, zero outside",
        "float16",
        16,
        Tolerance(1e-3, 1e-3, "float16 output of 25 products added in float32"),
        _BLUR,
        timed=(_plane(8192, 4096), _plane(32768, 1008)),
    ),
    _stencil(
        "sobel",
        "root of the squared Sobel gradients of each point; zero on the border",
        "float32",
        12,
        Tolerance(2e-5, 2e-5, "float32 gradients of numbers near 1, where terms cancel"),
        _SOBEL,
    ),
    _stencil(
        "jacobi_source",
        "a quarter of the four neighbours plus 0.01 of the source; points on the border stay as they are",
        "float32",
        6,
        Tolerance(1e-5, 2e-6, "six float32 operations on numbers near 1"),
        _JACOBI_SOURCE,
        timed=(_plane(4096, 3072), _plane(12288, 1008)),
        inputs=("x", "source"),
    ),
    _stencil(
        "heat1d_steps",
        "four times x += 0.2 * (left - 2 x + right) along rows, zero outside",
        "float32",
        20,
        Tolerance(1e-5, 3e-6, "four rounds of float32 operations on numbers near 1"),
        _HEAT1D,
        timed=(Workload({"rows": 1024, "length": 16384}), Workload({"rows": 16384, "length": 1008})),
        extra=(Workload({"rows": 37, "length": 1040}), Workload({"rows": 5, "length": 48})),
    ),
)
