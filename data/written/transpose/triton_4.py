import torch
import triton
import triton.language as tl


@triton.jit
def transpose_persistent(x_ptr, out_ptr, M, N, num_tiles, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr):
    """Persistent CTAs over tiles; the loads of the next tile overlap with the stores of this one."""
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0), num_stages=STAGES):
        pm = tile // tiles_n
        pn = tile % tiles_n
        rm = pm * BM + tl.arange(0, BM)
        rn = pn * BN + tl.arange(0, BN)
        mm = rm < M
        mn = rn < N
        x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=mm[:, None] & mn[None, :])
        tl.store(out_ptr + rn[:, None] * M + rm[None, :], tl.trans(x), mask=mn[:, None] & mm[None, :])


def kernel(x):
    M, N = x.shape
    out = torch.empty((N, M), dtype=x.dtype, device=x.device)
    BM, BN = 64, 64
    num_tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
    grid = (min(num_tiles, 132 * 4),)
    transpose_persistent[grid](x, out, M, N, num_tiles, BM=BM, BN=BN, STAGES=3, num_warps=4)
    return out
