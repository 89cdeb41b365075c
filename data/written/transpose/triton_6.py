import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def transpose_tma(x_desc, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    # TMA for the load (hardware bounds handling, no address registers), regular stores for the output since its
    # row pitch is not always a multiple of 16 bytes (e.g. 37 rows).
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    tile = x_desc.load([pm * BM, pn * BN])
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    mask = (rn[:, None] < N) & (rm[None, :] < M)
    tl.store(out_ptr + rn[:, None] * M + rm[None, :], tl.trans(tile), mask=mask)


def kernel(x):
    M, N = x.shape
    out = torch.empty((N, M), dtype=x.dtype, device=x.device)
    BM, BN = 64, 32
    desc = TensorDescriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    transpose_tma[grid](desc, out, M, N, BM=BM, BN=BN, num_warps=4)
    return out
