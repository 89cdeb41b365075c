import torch
import triton
import triton.language as tl


# Persistent grid-stride: every program accumulates its share in a vector register accumulator and does a single
# reduction and a single atomic at the end (a few hundred atomics in total).
@triton.jit
def grid_stride_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    acc = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(pid * BLOCK, n, step, num_stages=4):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0, eviction_policy="evict_first")
    tl.atomic_add(out_ptr, tl.sum(acc, axis=0), sem="relaxed")


def kernel(x):
    n = x.numel()
    out = torch.zeros((), device=x.device, dtype=torch.float32)
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    BLOCK = 2048
    grid = (min(sms * 8, triton.cdiv(n, BLOCK)),)
    grid_stride_sum[grid](x, out, n, BLOCK=BLOCK, num_warps=4)
    return out
