"""Candidates that break things: the device, the process, the compiler. Each must end as a typed failure, at small cost.

They take any inputs, so that they can be mixed into a batch of any task.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """`statuses` are how it may end."""

    name: str
    language: str
    statuses: frozenset[str]
    source: str


def _cuda(body: str, declared: str = "") -> str:
    return f'''import torch
from foretell.cuda import compile

program = compile(r"""
{declared}
extern "C" __global__ void body(float* out, int n) {{
    {body}
}}
""")


def kernel(*inputs):
    out = torch.empty_like(inputs[0])
    program.body((1,), (32,), (out, inputs[0].numel()))
    return out
'''


def _host(body: str) -> str:
    """Misbehaves only where there is a device, so that it gets past the build."""
    return f"""import ctypes
import os
import torch


def kernel(*inputs):
    out = torch.empty_like(inputs[0])
    if torch.cuda.is_available():
        {body}
    return out
"""


_ASSERT = 'extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);'
CRASH = frozenset({"crash"})
FAULTS = (
    Fault("illegal_address", "cuda", CRASH, _cuda("out[(long long)n + (1ll << 40)] = 1.0f;")),
    Fault("trap", "cuda", CRASH, _cuda('asm volatile("trap;");')),
    Fault("hang", "cuda", frozenset({"timeout"}), _cuda("while (clock64() >= 0) {} out[0] = 1.0f;")),
    Fault("misaligned", "cuda", CRASH, _cuda("*(float4*)(out + 1) = make_float4(0, 0, 0, 0);")),
    Fault(
        "device_assert", "cuda", CRASH, _cuda('if (n >= 0) __assertfail("n < 0", "kernel.cu", 1, "body", 1);', _ASSERT)
    ),
    Fault("out_of_memory", "torch", frozenset({"launch_error"}), _host("torch.empty(1 << 45, device='cuda')")),
    Fault("host_segfault", "torch", CRASH, _host("ctypes.string_at(0)")),
    Fault("leaves", "torch", CRASH, _host("os._exit(3)")),
    Fault("host_loop", "torch", frozenset({"timeout"}), _host("while True: pass")),
    Fault("aborts_while_built", "triton", frozenset({"compile_error"}), "import os\n\nos.abort()\n"),
)
