import torch
import triton
import triton.language as tl


@triton.jit
def quantize_packed(x_ptr, q_ptr, s_ptr, blocks, GROUPS: tl.constexpr):
    # Reads bf16 pairs as 32-bit words, two words per lane, and packs four int8 levels into one 32-bit store.
    # Layout per block: 64 words in, 32 words out; tile is [GROUPS, 32] for each of the two input words.
    b = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    live = (b < blocks)[:, None]
    lane = tl.arange(0, 32)[None, :]
    base = b[:, None] * 64 + lane * 2
    w0 = tl.load(x_ptr + base, mask=live, other=0)
    w1 = tl.load(x_ptr + base + 1, mask=live, other=0)
    # magnitudes: the maximum over the masked integer images
    top = tl.maximum(tl.maximum(w0 & 0x7FFF, (w0 >> 16) & 0x7FFF), tl.maximum(w1 & 0x7FFF, (w1 >> 16) & 0x7FFF))
    top = tl.max(top, axis=1)
    biased = tl.where(top == 0, 126, top >> 7)
    recip = ((260 - biased) << 23).to(tl.float32, bitcast=True)[:, None]
    a0 = (w0 << 16).to(tl.float32, bitcast=True)
    a1 = (w0 & -65536).to(tl.float32, bitcast=True)
    a2 = (w1 << 16).to(tl.float32, bitcast=True)
    a3 = (w1 & -65536).to(tl.float32, bitcast=True)
    q0 = tl.minimum(tl.floor(a0 * recip + 0.5), 127.0).to(tl.int32) & 255
    q1 = tl.minimum(tl.floor(a1 * recip + 0.5), 127.0).to(tl.int32) & 255
    q2 = tl.minimum(tl.floor(a2 * recip + 0.5), 127.0).to(tl.int32) & 255
    q3 = tl.minimum(tl.floor(a3 * recip + 0.5), 127.0).to(tl.int32) & 255
    packed = q0 | (q1 << 8) | (q2 << 16) | (q3 << 24)
    tl.store(q_ptr + b[:, None] * 32 + lane, packed, mask=live)
    tl.store(s_ptr + b, ((biased - 6) << 23).to(tl.float32, bitcast=True), mask=b < blocks)


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    blocks = rows * cols // 128
    groups = 16
    quantize_packed[(triton.cdiv(blocks, groups),)](
        x.view(torch.int32), levels.view(torch.int32), scales, blocks, GROUPS=groups, num_warps=4
    )
    return levels, scales
