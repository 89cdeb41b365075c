import torch
import triton
import triton.language as tl


@triton.jit
def fused_scatter(
    base_ptr, x_ptr, index_ptr, out_ptr, barrier_ptr, n_base, n_x, dim, BLOCK: tl.constexpr
):
    """Everything in one persistent launch: phase 1 copies base, then a grid barrier (atomic counter + spin; the grid is
    small enough that all programs are resident), then phase 2 scatters with atomics while `out` is hot in L2."""
    pid = tl.program_id(0)
    n_prog = tl.num_programs(0)
    step = n_prog * BLOCK
    lane = tl.arange(0, BLOCK)
    for start in range(pid * BLOCK, n_base, step):
        o = start + lane
        m = o < n_base
        tl.store(out_ptr + o, tl.load(base_ptr + o, mask=m), mask=m)

    tl.debug_barrier()
    tl.atomic_add(barrier_ptr, 1, sem="release")
    while tl.atomic_add(barrier_ptr, 0, sem="acquire") < n_prog:
        pass
    tl.debug_barrier()

    for start in range(pid * BLOCK, n_x, step):
        o = start + lane
        m = o < n_x
        v = tl.load(x_ptr + o, mask=m, other=0.0)
        r = o // dim
        row = tl.load(index_ptr + r, mask=m, other=0)
        tl.atomic_add(out_ptr + row * dim + (o - r * dim), v, mask=m, sem="relaxed")


def kernel(base, x, index):
    vocab, dim = base.shape
    out = torch.empty_like(base)
    barrier = torch.zeros(1, dtype=torch.int32, device=base.device)
    fused_scatter[(132 * 2,)](
        base, x, index, out, barrier, base.numel(), x.numel(), dim, BLOCK=2048, num_warps=16
    )
    return out
