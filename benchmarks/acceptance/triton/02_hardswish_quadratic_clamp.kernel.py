import torch
import torch.nn as nn
import triton
import triton.language as tl


def _configs():
    out = []
    for bs in (1024, 2048, 4096, 8192):
        for nw in (4, 8):
            out.append(triton.Config({"BLOCK_SIZE": bs}, num_warps=nw))
    return out


@triton.autotune(configs=_configs(), key=["numel"])
@triton.jit
def hs_quad_clamp_kernel(
    inp,
    out,
    lo,
    hi,
    numel,
    BLOCK_SIZE: tl.constexpr,
):
    start = tl.program_id(axis=0) * BLOCK_SIZE
    idx = start + tl.arange(0, BLOCK_SIZE)
    m = idx < numel
    x = tl.load(inp + idx, mask=m).to(tl.float32)
    relu6 = tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0)
    h = x * relu6 * (1.0 / 6.0)
    y = h * h - 0.5 * x
    y = tl.minimum(tl.maximum(y, lo), hi)
    tl.store(out + idx, y.to(out.dtype.element_ty), mask=m)


class ModelNew(nn.Module):
    def __init__(self, lo, hi):
        super().__init__()
        self.lo = lo
        self.hi = hi

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        grid = lambda META: (triton.cdiv(n, META["BLOCK_SIZE"]),)
        hs_quad_clamp_kernel[grid](x, y, self.lo, self.hi, n)
        return y
