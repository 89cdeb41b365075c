import torch
import triton
import triton.language as tl


# Persistent streaming: each program owns whole rows and walks along them in [R, 32] tiles, pipelined loads.
# Per tile the 32-wide block sums are scanned; shifted access is expressed through tl.gather on the concatenated
# scan: out[s, j] = S[s, 31] - S[s, j] + x[s, j] + (S[s+1, j] - x[s+1, j]).
@triton.jit
def ma_stream(x_ptr, out_ptr, rows, length, out_len, PROGRAMS, R: tl.constexpr):
    s = tl.arange(0, R)
    j = tl.arange(0, 32)
    nxt = tl.minimum(s + 1, R - 1)
    idx = (nxt[:, None] + tl.zeros((1, 32), dtype=tl.int32)).to(tl.int32)
    STEP: tl.constexpr = (R - 1) * 32
    for row in range(tl.program_id(0), rows, PROGRAMS):
        base = x_ptr + row.to(tl.int64) * length
        dst = out_ptr + row.to(tl.int64) * out_len
        for start in range(0, out_len, STEP):
            pos = start + s[:, None] * 32 + j[None, :]
            v = tl.load(base + pos, mask=pos < length, other=0.0)
            inc = tl.cumsum(v, axis=1)
            total = tl.sum(v, axis=1)
            exc = inc - v
            after = tl.gather(exc, idx, 0)
            res = total[:, None] - exc + after
            tl.store(dst + pos, res * 0.03125, mask=(pos < out_len) & (s[:, None] < R - 1))


def kernel(x):
    rows, length = x.shape
    out_len = length - 31
    out = torch.empty((rows, out_len), device=x.device, dtype=x.dtype)
    R = 32
    programs = min(rows, 132 * 8)
    ma_stream[(programs,)](x, out, rows, length, out_len, programs, R=R, num_warps=4, num_stages=3)
    return out
