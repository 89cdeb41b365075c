import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=2),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=4),
        triton.Config({"BLOCK": 4096}, num_warps=8),
        triton.Config({"BLOCK": 8192}, num_warps=16),
    ],
    key=["n"],
)
@triton.jit
def masked_residual_tuned(x_ptr, keep_ptr, res_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    keep = tl.load(keep_ptr + offs, mask=m, other=0)
    r = tl.load(res_ptr + offs, mask=m, other=0.0)
    # dropped elements are not needed: mask them in the load as well
    x = tl.load(x_ptr + offs, mask=m & (keep != 0), other=0.0)
    y = r.to(tl.float32) + 1.25 * x.to(tl.float32)
    tl.store(out_ptr + offs, y.to(tl.bfloat16), mask=m)


def kernel(x, keep, residual):
    x, keep, residual = x.contiguous(), keep.contiguous(), residual.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    masked_residual_tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, keep, residual, out, n)
    return out
