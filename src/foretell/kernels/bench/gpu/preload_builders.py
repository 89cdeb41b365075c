"""Imported once by the builders' server: the heavy modules, and one build, so that no job pays for what is done once.

Triton hashes its own libraries, starts its compiler and looks for ptxas when it first compiles: seconds that each
builder, forked from the server, would otherwise spend again.
"""

import importlib.util

import foretell.kernels.bench.gpu.preload  # noqa: F401
from foretell.kernels import library
from foretell.kernels.bench.gpu.build_job import build

_SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def body(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def kernel(x):
    out = torch.empty_like(x)
    body[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), 1024)
    return out
"""


def _warm_up() -> None:
    if importlib.util.find_spec("triton") is not None:
        settings = {"capability": 90, "launcher": False, "multiprocessors": 132}
        spec = library.get("softmax", "gpu").spec
        build({"spec": spec, "source": _SOURCE, "language": "triton", **settings})


_warm_up()
