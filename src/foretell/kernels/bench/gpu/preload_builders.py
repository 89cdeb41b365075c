"""Imported once by the builders' server: the heavy modules, one build and one recording, so that no job pays for them.

Triton hashes its own libraries, starts its compiler and looks for ptxas when it first compiles: seconds that each
builder, forked from the server, would otherwise spend again.
"""

import importlib.util

import foretell.kernels.bench.gpu.preload  # noqa: F401
from foretell.kernels import library
from foretell.kernels.bench.gpu.build_job import build
from foretell.kernels.devices import described
from foretell.kernels.record import record

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
        task = library.get("softmax", "gpu")
        build({"spec": task.spec, "source": _SOURCE, "language": "triton", **settings})
        record(task, task.workloads[0], _SOURCE, "triton", described("h200"))


_warm_up()
