import torch
import triton
import triton.language as tl


@triton.jit
def copy_into(src_ptr, dst_ptr, rows, cols, dst_stride, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm < rows)[:, None] & (rn < cols)[None, :]
    v = tl.load(src_ptr + rm[:, None] * cols + rn[None, :], mask=mask)
    tl.store(dst_ptr + rm[:, None] * dst_stride + rn[None, :], v, mask=mask)


def _copy(src, dst):
    rows, cols = src.shape
    BN = min(512, triton.next_power_of_2(cols))
    BM = max(1, 4096 // BN)
    copy_into[(triton.cdiv(rows, BM), triton.cdiv(cols, BN))](src, dst, rows, cols, dst.stride(0), BM=BM, BN=BN, num_warps=8)


def kernel(a, b):
    # two strided copies, one launch each
    a, b = a.contiguous(), b.contiguous()
    left, right = a.shape[1], b.shape[1]
    out = torch.empty((a.shape[0], left + right), device=a.device, dtype=a.dtype)
    _copy(a, out[:, :left])
    _copy(b, out[:, left:])
    return out
