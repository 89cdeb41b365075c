import torch
import triton
import triton.language as tl


# Two passes over the row in tiles (second read comes from L2/L1), for rows of any length.
@triton.jit
def quant_fp8_twopass(x_ptr, codes_ptr, scales_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    src = x_ptr + row * cols
    best = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + lane
        x = tl.load(src + c, mask=c < cols, other=0.0, eviction_policy="evict_last").to(tl.float32)
        best = tl.maximum(best, tl.abs(x))
    top = tl.max(best, axis=0)
    e = tl.floor(tl.log2(tl.maximum(top, 1e-38)))
    scale = tl.exp2(e - 7.0)
    # log2 is approximate: repair the two possible off-by-one cases
    scale = tl.where(scale * 128.0 > top, scale * 0.5, scale)
    scale = tl.where(scale * 256.0 <= top, scale * 2.0, scale)
    scale = tl.where(top == 0.0, 0.00390625, scale)
    inv = 1.0 / scale
    for start in range(0, cols, BLOCK):
        c = start + lane
        m = c < cols
        x = tl.load(src + c, mask=m, other=0.0, eviction_policy="evict_first").to(tl.float32)
        q = (x * inv).to(tl.float8e4nv)
        tl.store(codes_ptr + row * cols + c, q.to(tl.uint8, bitcast=True), mask=m)
    tl.store(scales_ptr + row, scale)


def kernel(x):
    rows, cols = x.shape
    codes = torch.empty((rows, cols), dtype=torch.uint8, device=x.device)
    scales = torch.empty((rows,), dtype=torch.float32, device=x.device)
    BLOCK = min(1024, triton.next_power_of_2(cols))
    quant_fp8_twopass[(rows,)](x, codes, scales, cols, BLOCK=BLOCK, num_warps=4)
    return codes, scales
