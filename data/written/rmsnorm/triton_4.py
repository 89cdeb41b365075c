import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_persistent_prefetch(x_ptr, gamma_ptr, out_ptr, rows, cols, eps, BLOCK: tl.constexpr):
    """Persistent with a software prefetch: next row's load is issued before this row's reduction."""
    pid = tl.program_id(0)
    nprog = tl.num_programs(0)
    c = tl.arange(0, BLOCK)
    cmask = c < cols
    g = tl.load(gamma_ptr + c, mask=cmask, other=0.0).to(tl.float32)
    nxt = tl.load(x_ptr + pid.to(tl.int64) * cols + c, mask=cmask & (pid < rows), other=0.0)
    for row in range(pid, rows, nprog):
        cur = nxt.to(tl.float32)
        ahead = row + nprog
        nxt = tl.load(x_ptr + ahead.to(tl.int64) * cols + c, mask=cmask & (ahead < rows), other=0.0)
        inv = tl.rsqrt(tl.sum(cur * cur, axis=0) / cols + eps)
        tl.store(out_ptr + row.to(tl.int64) * cols + c, (cur * inv * g).to(tl.bfloat16), mask=cmask)


def kernel(x, gamma):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    warps = max(1, min(8, BLOCK // 512))
    ctas = 132 * max(1, 32 // warps)
    rmsnorm_persistent_prefetch[(min(rows, ctas),)](x, gamma, out, rows, cols, 1e-5, BLOCK=BLOCK, num_warps=warps)
    return out
