import torch
import triton
import triton.language as tl

# Order-preserving integer keys: a bf16 is 16 bits, flip the sign bits so that integer order = float order. The scan runs on
# int32 with integer max (single VIMNMX), no float conversions and no NaN handling in fmax.


@triton.jit
def _imax(a, b):
    return tl.maximum(a, b)


@triton.jit
def cummax_int(X, OUT, rows, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    offs = r.to(tl.int64)[:, None] * cols + c[None, :]
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    bits = tl.load(X + offs, mask=mask, other=0).to(tl.int32)          # int16, sign extended
    # negative floats: invert the magnitude bits
    key = tl.where(bits < 0, bits ^ 0x7FFF, bits)
    key = tl.where(mask, key, -2147483648)
    top = tl.associative_scan(key, 1, _imax)
    back = tl.where(top < 0, top ^ 0x7FFF, top)
    tl.store(OUT + offs, back.to(tl.int16), mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    R = max(1, 2048 // BLOCK)
    cummax_int[(triton.cdiv(rows, R),)](x.view(torch.int16), out.view(torch.int16), rows, cols, R=R, BLOCK=BLOCK, num_warps=4)
    return out
