import torch
import triton
import triton.language as tl


@triton.jit
def upsample_rows(x_ptr, out_ptr, W, BLOCK: tl.constexpr):
    """A program per input row (image and row flattened: out rows 2r and 2r+1). Reads the row once with each element
    doubled through the index and writes it to the two output rows."""
    r = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    mask = j < 2 * W
    v = tl.load(x_ptr + r * W + j // 2, mask=mask)
    dst = out_ptr + r * 4 * W
    tl.store(dst + j, v, mask=mask)
    tl.store(dst + 2 * W + j, v, mask=mask)


def kernel(x):
    N, H, W = x.shape
    out = torch.empty((N, 2 * H, 2 * W), device=x.device, dtype=x.dtype)
    BLOCK = triton.next_power_of_2(2 * W)
    upsample_rows[(N * H,)](x, out, W, BLOCK=BLOCK, num_warps=1 if BLOCK <= 256 else 2)
    return out
