import torch
import triton
import triton.language as tl


@triton.jit
def upsample_persistent(
    x_ptr, out_ptr, n_tiles, n_rows, W, ROWS: tl.constexpr, COLS: tl.constexpr, STAGES: tl.constexpr
):
    # persistent, pipelined loads of int16 tiles, int32 word stores with the streaming hint
    c = tl.arange(0, COLS)
    cm = c < W
    for t in tl.range(tl.program_id(0), n_tiles, tl.num_programs(0), num_stages=STAGES):
        r = t * ROWS + tl.arange(0, ROWS)
        mask = (r < n_rows)[:, None] & cm[None, :]
        v = tl.load(x_ptr + r[:, None] * W + c[None, :], mask=mask, other=0)
        w = v.to(tl.uint16, bitcast=True).to(tl.uint32)
        w = (w * 65537).to(tl.int32, bitcast=True)
        o = out_ptr + r[:, None] * (2 * W) + c[None, :]
        tl.store(o, w, mask=mask, cache_modifier=".cs")
        tl.store(o + W, w, mask=mask, cache_modifier=".cs")


def kernel(x):
    N, H, W = x.shape
    out = torch.empty((N, 2 * H, 2 * W), device=x.device, dtype=x.dtype)
    n_rows = N * H
    COLS = triton.next_power_of_2(W)
    ROWS = max(1, 4096 // COLS)
    n_tiles = triton.cdiv(n_rows, ROWS)
    upsample_persistent[(min(n_tiles, 132 * 4),)](
        x.view(torch.int16), out.view(torch.int32), n_tiles, n_rows, W, ROWS=ROWS, COLS=COLS, STAGES=3, num_warps=8
    )
    return out
