import torch
import triton
import triton.language as tl


# Single launch, deterministic: partials + ticket counter, the last program to arrive adds the partials in order.
@triton.jit
def sum_last_block(x_ptr, part_ptr, counter_ptr, out_ptr, n, BLOCK: tl.constexpr, GRID_P2: tl.constexpr):
    pid = tl.program_id(0)
    nprog = tl.num_programs(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(pid * BLOCK, n, nprog * BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(part_ptr + pid, tl.sum(acc, axis=0))
    tl.debug_barrier()
    ticket = tl.atomic_add(counter_ptr, 1, sem="acq_rel", scope="gpu")
    if ticket == nprog - 1:
        i = tl.arange(0, GRID_P2)
        p = tl.load(part_ptr + i, mask=i < nprog, other=0.0, cache_modifier=".cg")
        tl.store(out_ptr, tl.sum(p, axis=0))


def kernel(x):
    n = x.numel()
    BLOCK = 4096
    grid = min(132 * 4, triton.cdiv(n, BLOCK))
    out = torch.empty((), device=x.device, dtype=torch.float32)
    part = torch.empty(grid, device=x.device, dtype=torch.float32)
    counter = torch.zeros(1, device=x.device, dtype=torch.int32)
    sum_last_block[(grid,)](
        x, part, counter, out, n, BLOCK=BLOCK, GRID_P2=triton.next_power_of_2(grid), num_warps=8
    )
    return out
