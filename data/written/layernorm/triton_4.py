import torch
import triton
import triton.language as tl

NUM_SMS = 132  # H200


@triton.jit
def layernorm_persistent(
    x_ptr, gamma_ptr, beta_ptr, out_ptr, rows, cols, eps, BLOCK: tl.constexpr, STAGES: tl.constexpr
):
    """Persistent: each program walks rows with stride num_programs, gamma and beta stay in registers."""
    pid = tl.program_id(0)
    step = tl.num_programs(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    gamma = tl.load(gamma_ptr + offs, mask=mask, other=0.0)
    beta = tl.load(beta_ptr + offs, mask=mask, other=0.0)
    for row in tl.range(pid, rows, step, num_stages=STAGES):
        base = row.to(tl.int64) * cols
        x = tl.load(x_ptr + base + offs, mask=mask, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / cols
        xc = tl.where(mask, x - mean, 0.0)
        var = tl.sum(xc * xc, axis=0) / cols
        rstd = tl.rsqrt(var + eps)
        y = xc * rstd * gamma.to(tl.float32) + beta.to(tl.float32)
        tl.store(out_ptr + base + offs, y.to(tl.float16), mask=mask)


def kernel(x, gamma, beta):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    warps = 4 if BLOCK <= 2048 else 8
    per_sm = 16 if BLOCK <= 1024 else 6
    grid = (min(rows, NUM_SMS * per_sm),)
    layernorm_persistent[grid](x, gamma, beta, out, rows, cols, 1e-5, BLOCK=BLOCK, STAGES=3, num_warps=warps)
    return out
