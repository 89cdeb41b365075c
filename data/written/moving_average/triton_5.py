import torch
import triton
import triton.language as tl


# Log-doubling in two kernels' worth of shifted adds: s8[i] = sum of 8 neighbours (8 loads), then
# out[i] = s8[i] + s8[i+8] + s8[i+16] + s8[i+24]. The intermediate goes through global scratch (mostly L2).
@triton.jit
def sum8(x_ptr, tmp_ptr, total, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in tl.static_range(8):
        acc += tl.load(x_ptr + i + k, mask=i + k < total, other=0.0)
    tl.store(tmp_ptr + i, acc, mask=i < total)


@triton.jit
def combine(tmp_ptr, out_ptr, length, out_len, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = j < out_len
    q = tmp_ptr + row * length + j
    s = tl.load(q, mask=m, other=0.0) + tl.load(q + 8, mask=m, other=0.0)
    s += tl.load(q + 16, mask=m, other=0.0) + tl.load(q + 24, mask=m, other=0.0)
    tl.store(out_ptr + row * out_len + j, s * 0.03125, mask=m)


def kernel(x):
    rows, length = x.shape
    out_len = length - 31
    out = torch.empty((rows, out_len), device=x.device, dtype=x.dtype)
    tmp = torch.empty_like(x)
    n = x.numel()
    sum8[(triton.cdiv(n, 1024),)](x, tmp, n, BLOCK=1024, num_warps=4)
    combine[(triton.cdiv(out_len, 1024), rows)](tmp, out, length, out_len, BLOCK=1024, num_warps=4)
    return out
