# task: linear_recurrence
"""Exact: tiles of 64 steps by an associative scan, the state carried from tile to tile."""
import torch
import triton
import triton.language as tl


@triton.jit
def combine(f, g, f2, g2):
    return f * f2, g * f2 + g2


@triton.jit
def scan(a, x, out, time, channels, T: tl.constexpr, BC: tl.constexpr):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    base = tl.program_id(1).to(tl.int64) * time * channels
    h = tl.zeros((BC,), tl.float32)
    for t0 in tl.range(0, time, T, num_stages=3):
        t = t0 + tl.arange(0, T)
        inside = (t[:, None] < time) & (c[None, :] < channels)
        at = base + t[:, None] * channels + c[None, :]
        f = tl.load(a + at, mask=inside, other=1.0)
        g = tl.load(x + at, mask=inside, other=0.0)
        f, g = tl.associative_scan((f, g), 0, combine)
        g += f * h[None, :]
        tl.store(out + at, g, mask=inside)
        h = tl.sum(tl.where(tl.arange(0, T)[:, None] == T - 1, g, 0.0), 0)


def kernel(a, x):
    batch, time, channels = a.shape
    out = torch.empty_like(x)
    wide = 8 if batch * channels < 32768 else 32
    scan[(triton.cdiv(channels, wide), batch)](a, x, out, time, channels, 64, wide, num_warps=2 if wide == 8 else 4)
    return out
