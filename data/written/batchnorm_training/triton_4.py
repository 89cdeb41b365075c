import torch
import triton
import triton.language as tl


@triton.jit
def bn_stats_atomic(x_ptr, sum_ptr, sq_ptr, c, hw, BLOCK: tl.constexpr, SAMPLES: tl.constexpr, n):
    ch = tl.program_id(0)
    p = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    pm = p < hw
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(SAMPLES):
        i = tl.program_id(2) * SAMPLES + k
        x = tl.load(x_ptr + (i * c + ch) * hw + p, mask=pm & (i < n), other=0.0)
        s += x
        q += x * x
    tl.atomic_add(sum_ptr + ch, tl.sum(s, 0), sem="relaxed")
    tl.atomic_add(sq_ptr + ch, tl.sum(q, 0), sem="relaxed")


@triton.jit
def bn_apply(x_ptr, gamma_ptr, beta_ptr, sum_ptr, sq_ptr, out_ptr, mean_ptr, rstd_ptr, c, hw, total, inv_count, BLOCK: tl.constexpr):
    # flat elementwise sweep; the channel statistics come from L1/L2. Runs in reverse order so that the tail of x,
    # which the statistics pass read last, is still in the 50 MB L2.
    pid = tl.num_programs(0) - 1 - tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    ch = (i // hw) % c
    mean = tl.load(sum_ptr + ch, mask=mask, other=0.0) * inv_count
    var = tl.load(sq_ptr + ch, mask=mask, other=0.0) * inv_count - mean * mean
    rstd = 1.0 / tl.sqrt(tl.maximum(var, 0.0) + 1e-5)
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    y = (x - mean) * rstd * tl.load(gamma_ptr + ch, mask=mask, other=0.0) + tl.load(beta_ptr + ch, mask=mask, other=0.0)
    tl.store(out_ptr + i, y, mask=mask)
    # sample 0 holds every channel's first element exactly once
    first = mask & (i < c * hw) & (i % hw == 0)
    tl.store(mean_ptr + ch, mean, mask=first)
    tl.store(rstd_ptr + ch, rstd, mask=first)


def kernel(x, gamma, beta):
    n, c, hw = x.shape
    out = torch.empty_like(x)
    acc = torch.zeros((2, c), device=x.device, dtype=torch.float32)
    mean = torch.empty((c,), device=x.device, dtype=torch.float32)
    rstd = torch.empty((c,), device=x.device, dtype=torch.float32)
    block = min(1024, triton.next_power_of_2(hw))
    samples = 4 if hw >= 1024 else 16
    bn_stats_atomic[(c, triton.cdiv(hw, block), triton.cdiv(n, samples))](
        x, acc[0], acc[1], c, hw, BLOCK=block, SAMPLES=samples, n=n, num_warps=4 if block > 256 else 2
    )
    total = x.numel()
    bn_apply[(triton.cdiv(total, 1024),)](
        x, gamma, beta, acc[0], acc[1], out, mean, rstd, c, hw, total, 1.0 / (n * hw), BLOCK=1024, num_warps=4
    )
    return out, mean, rstd
