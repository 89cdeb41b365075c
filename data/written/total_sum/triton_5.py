import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024, "UNROLL": 4}, num_warps=4),
        triton.Config({"BLOCK": 2048, "UNROLL": 4}, num_warps=8),
        triton.Config({"BLOCK": 2048, "UNROLL": 8}, num_warps=8),
        triton.Config({"BLOCK": 4096, "UNROLL": 4}, num_warps=16),
        triton.Config({"BLOCK": 1024, "UNROLL": 8}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def unrolled_partials(x_ptr, part_ptr, n, nparts, BLOCK: tl.constexpr, UNROLL: tl.constexpr):
    # fixed number of partials whatever the config, so that the second kernel does not depend on the tuning
    pid = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    offs = tl.arange(0, BLOCK)
    for start in range(pid * BLOCK * UNROLL, n, nparts * BLOCK * UNROLL):
        for k in tl.static_range(UNROLL):
            i = start + k * BLOCK + offs
            acc += tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(part_ptr + pid, tl.sum(acc, 0))


@triton.jit
def add_parts(part_ptr, out_ptr, nparts, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(part_ptr + i, mask=i < nparts, other=0.0), 0))


def kernel(x):
    n = x.numel()
    nparts = 132 * 4
    part = torch.empty(nparts, device=x.device, dtype=torch.float32)
    out = torch.empty((), device=x.device, dtype=torch.float32)
    unrolled_partials[(nparts,)](x, part, n, nparts)
    add_parts[(1,)](part, out, nparts, BLOCK=1024, num_warps=4)
    return out
