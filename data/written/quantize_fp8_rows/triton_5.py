import torch
import triton
import triton.language as tl


# Persistent with next-row prefetch: the load of row i + P is issued before the reduction of row i,
# so the reduction latency (shuffles + shared memory + barrier) overlaps with DRAM.
@triton.jit
def quant_fp8_prefetch(x_ptr, codes_ptr, scales_ptr, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0)
    c = tl.arange(0, BLOCK)
    cm = c < cols
    cur = tl.load(x_ptr + pid.to(tl.int64) * cols + c, mask=cm & (pid < rows), other=0.0)
    for row in range(pid, rows, step):
        nxt = row + step
        ahead = tl.load(x_ptr + nxt.to(tl.int64) * cols + c, mask=cm & (nxt < rows), other=0.0)
        x = cur.to(tl.float32)
        top = tl.max(tl.abs(x), axis=0)
        e = top.to(tl.int32, bitcast=True) >> 23
        e = tl.where(top == 0.0, 126, e)
        scale = ((e - 7) << 23).to(tl.float32, bitcast=True)
        inv = ((261 - e) << 23).to(tl.float32, bitcast=True)
        q = (x * inv).to(tl.float8e4nv)
        base = row.to(tl.int64) * cols
        tl.store(codes_ptr + base + c, q.to(tl.uint8, bitcast=True), mask=cm)
        tl.store(scales_ptr + row, scale)
        cur = ahead


def kernel(x):
    rows, cols = x.shape
    codes = torch.empty((rows, cols), dtype=torch.uint8, device=x.device)
    scales = torch.empty((rows,), dtype=torch.float32, device=x.device)
    BLOCK = triton.next_power_of_2(cols)
    num_warps = 8 if BLOCK >= 4096 else 4 if BLOCK >= 1024 else 1
    per_sm = 32 // num_warps
    quant_fp8_prefetch[(min(rows, 132 * per_sm),)](x, codes, scales, rows, cols, BLOCK=BLOCK, num_warps=num_warps)
    return codes, scales
