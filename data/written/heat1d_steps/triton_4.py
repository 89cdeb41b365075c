import torch
import triton
import triton.language as tl


# Nine-tap form with a fast path for interior blocks and an exact four-step path (through the triangle of shifted loads)
# only in the first and last block of a row. Autotuned block size.
@triton.jit
def near(p, i, d, length):
    j = i + d
    return tl.load(p + d, mask=(j >= 0) & (j < length), other=0.0)


@triton.jit
def upd(l, c, r, j, length):
    return tl.where((j >= 0) & (j < length), 0.6 * c + 0.2 * (l + r), 0.0)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256}, num_warps=2),
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
        triton.Config({"BLOCK": 2048}, num_warps=8),
    ],
    key=["length"],
)
@triton.jit
def heat_fast(x_ptr, out_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    start = tl.program_id(1) * BLOCK
    i = start + tl.arange(0, BLOCK)
    p = x_ptr + row * length + i
    if (start > 0) & (start + BLOCK + 4 <= length):
        acc = 0.312 * tl.load(p)
        acc += 0.2304 * (tl.load(p - 1) + tl.load(p + 1))
        acc += 0.0928 * (tl.load(p - 2) + tl.load(p + 2))
        acc += 0.0192 * (tl.load(p - 3) + tl.load(p + 3))
        acc += 0.0016 * (tl.load(p - 4) + tl.load(p + 4))
        tl.store(out_ptr + row * length + i, acc)
    else:
        a0 = near(p, i, -4, length)
        a1 = near(p, i, -3, length)
        a2 = near(p, i, -2, length)
        a3 = near(p, i, -1, length)
        a4 = near(p, i, 0, length)
        a5 = near(p, i, 1, length)
        a6 = near(p, i, 2, length)
        a7 = near(p, i, 3, length)
        a8 = near(p, i, 4, length)
        b1 = upd(a0, a1, a2, i - 3, length)
        b2 = upd(a1, a2, a3, i - 2, length)
        b3 = upd(a2, a3, a4, i - 1, length)
        b4 = upd(a3, a4, a5, i, length)
        b5 = upd(a4, a5, a6, i + 1, length)
        b6 = upd(a5, a6, a7, i + 2, length)
        b7 = upd(a6, a7, a8, i + 3, length)
        c2 = upd(b1, b2, b3, i - 2, length)
        c3 = upd(b2, b3, b4, i - 1, length)
        c4 = upd(b3, b4, b5, i, length)
        c5 = upd(b4, b5, b6, i + 1, length)
        c6 = upd(b5, b6, b7, i + 2, length)
        d3 = upd(c2, c3, c4, i - 1, length)
        d4 = upd(c3, c4, c5, i, length)
        d5 = upd(c4, c5, c6, i + 1, length)
        tl.store(out_ptr + row * length + i, upd(d3, d4, d5, i, length), mask=i < length)


def kernel(x):
    rows, length = x.shape
    out = torch.empty_like(x)
    grid = lambda meta: (rows, triton.cdiv(length, meta["BLOCK"]))
    heat_fast[grid](x, out, length)
    return out
