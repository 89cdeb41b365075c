import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 2048, "CTAS_PER_SM": 4}, num_warps=8),
        triton.Config({"BLOCK": 2048, "CTAS_PER_SM": 8}, num_warps=4),
        triton.Config({"BLOCK": 4096, "CTAS_PER_SM": 2}, num_warps=8),
        triton.Config({"BLOCK": 4096, "CTAS_PER_SM": 4}, num_warps=8),
        triton.Config({"BLOCK": 8192, "CTAS_PER_SM": 2}, num_warps=16),
    ],
    key=["n"],
)
@triton.jit
def swiglu_grid_stride(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr, CTAS_PER_SM: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK)
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):
        offs = t * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        a = tl.load(a_ptr + offs, mask=mask).to(tl.float32)
        b = tl.load(b_ptr + offs, mask=mask).to(tl.float32)
        tl.store(o_ptr + offs, (a * tl.sigmoid(a) * b).to(tl.bfloat16), mask=mask)


def kernel(a, b):
    a, b = a.contiguous(), b.contiguous()
    out = torch.empty_like(a)
    n = a.numel()
    grid = lambda meta: (min(triton.cdiv(n, meta["BLOCK"]), 132 * meta["CTAS_PER_SM"]),)
    swiglu_grid_stride[grid](a, b, out, n)
    return out
