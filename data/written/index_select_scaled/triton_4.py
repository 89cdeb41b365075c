import torch
import triton
import triton.language as tl


# Persistent with index prefetch: while row i is being scaled, the index and scale of the
# program's next row are already loaded, removing one link of the dependent-load chain.
@triton.jit
def select_scaled_prefetch(table_ptr, index_ptr, scale_ptr, out_ptr, count, dim, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0)
    d = tl.arange(0, BLOCK)
    mask = d < dim
    src = tl.load(index_ptr + pid)
    s = tl.load(scale_ptr + pid).to(tl.float32)
    for i in range(pid, count, step):
        v = tl.load(table_ptr + src * dim + d, mask=mask, other=0.0)
        nxt = i + step
        ok = nxt < count
        next_src = tl.load(index_ptr + nxt, mask=ok, other=0)
        next_s = tl.load(scale_ptr + nxt, mask=ok, other=0.0).to(tl.float32)
        o = v.to(tl.float32) * s
        tl.store(out_ptr + i.to(tl.int64) * dim + d, o.to(tl.bfloat16), mask=mask, eviction_policy="evict_first")
        src = next_src
        s = next_s


def kernel(table, index, scale):
    vocab, dim = table.shape
    count = index.numel()
    out = torch.empty((count, dim), dtype=table.dtype, device=table.device)
    BLOCK = triton.next_power_of_2(dim)
    num_warps = 4 if BLOCK >= 1024 else 1
    per_sm = 16 if num_warps == 4 else 32
    grid = (min(count, 132 * per_sm),)
    select_scaled_prefetch[grid](table, index, scale, out, count, dim, BLOCK=BLOCK, num_warps=num_warps)
    return out
