import torch
import triton
import triton.language as tl


@triton.jit
def transpose_block_ptr(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    # 1D grid with grouped ordering: consecutive programs walk GROUP row-blocks of the input before moving on in
    # columns, so that the writes of neighbouring programs fall in the same DRAM pages.
    pid = tl.program_id(0)
    grid_m = tl.cdiv(M, BM)
    grid_n = tl.cdiv(N, BN)
    width = GROUP * grid_n
    group_id = pid // width
    first_m = group_id * GROUP
    group_size = tl.minimum(grid_m - first_m, GROUP)
    pid_m = first_m + (pid % width) % group_size
    pid_n = (pid % width) // group_size

    src = tl.make_block_ptr(
        x_ptr, shape=(M, N), strides=(N, 1), offsets=(pid_m * BM, pid_n * BN), block_shape=(BM, BN), order=(1, 0)
    )
    dst = tl.make_block_ptr(
        out_ptr, shape=(N, M), strides=(M, 1), offsets=(pid_n * BN, pid_m * BM), block_shape=(BN, BM), order=(1, 0)
    )
    tile = tl.load(src, boundary_check=(0, 1))
    tl.store(dst, tl.trans(tile), boundary_check=(0, 1))


def kernel(x):
    M, N = x.shape
    out = torch.empty((N, M), dtype=x.dtype, device=x.device)
    BM, BN = 64, 64
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    transpose_block_ptr[grid](x, out, M, N, BM=BM, BN=BN, GROUP=8, num_warps=8)
    return out
