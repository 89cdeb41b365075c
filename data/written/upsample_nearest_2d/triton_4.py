import torch
import triton
import triton.language as tl


@triton.jit
def upsample_packed(x_ptr, out_ptr, n_in, W, BLOCK: tl.constexpr):
    """Bit trick: an input half v becomes the 32-bit word (v << 16) | v, so the output is viewed as int32 and every
    input element becomes exactly one word in each of two rows. No masks inside rows are needed: flat input index."""
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = p < n_in
    v = tl.load(x_ptr + p, mask=mask, other=0)
    w = v.to(tl.int32) & 0xFFFF
    w = w | (w << 16)
    row = p // W
    # output as words: row r of the input -> words [2r*W, 2r*W + W) and the next W words
    o = p + row * W
    tl.store(out_ptr + o, w, mask=mask)
    tl.store(out_ptr + o + W, w, mask=mask)


def kernel(x):
    N, H, W = x.shape
    out = torch.empty((N, 2 * H, 2 * W), device=x.device, dtype=x.dtype)
    n_in = x.numel()
    BLOCK = 2048
    upsample_packed[(triton.cdiv(n_in, BLOCK),)](
        x.view(torch.int16), out.view(torch.int32), n_in, W, BLOCK=BLOCK, num_warps=8
    )
    return out
