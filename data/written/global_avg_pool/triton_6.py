import torch
import triton
import triton.language as tl


# Single launch with a "last block done" epilogue: partials to global, a counter per (image, channel block); the program
# that arrives last sums the partials and writes bf16. Saves the second launch (a few microseconds matter here).
@triton.jit
def gap_last_block(
    x_ptr, part_ptr, count_ptr, out_ptr, P, C, S, CHUNK, inv,
    BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr, SP: tl.constexpr,
):
    cb = tl.program_id(0)
    b = tl.program_id(1)
    s = tl.program_id(2)
    c = cb * BLOCK_C + tl.arange(0, BLOCK_C)
    cm = c < C
    end = tl.minimum((s + 1) * CHUNK, P)
    base = x_ptr + b.to(tl.int64) * P * C
    acc = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    for p0 in range(s * CHUNK, end, BLOCK_P):
        q = p0 + tl.arange(0, BLOCK_P)
        acc += tl.load(base + q[:, None] * C + c[None, :], mask=(q < end)[:, None] & cm[None, :], other=0.0).to(tl.float32)
    total = tl.sum(acc, axis=0)
    if SP == 1:
        tl.store(out_ptr + b * C + c, (total * inv).to(tl.bfloat16), mask=cm)
    else:
        tl.store(part_ptr + (b * S + s) * C + c, total, mask=cm)
        tl.debug_barrier()
        done = tl.atomic_add(count_ptr + b * tl.num_programs(0) + cb, 1, sem="acq_rel")
        if done == S - 1:
            r = tl.arange(0, SP)
            v = tl.load(
                part_ptr + (b * S + r)[:, None] * C + c[None, :],
                mask=(r < S)[:, None] & cm[None, :], other=0.0, cache_modifier=".cg",
            )
            tl.store(out_ptr + b * C + c, (tl.sum(v, axis=0) * inv).to(tl.bfloat16), mask=cm)


def kernel(x):
    B, H, W, C = x.shape
    P = H * W
    out = torch.empty((B, C), device=x.device, dtype=x.dtype)
    BLOCK_C = 64
    cbs = triton.cdiv(C, BLOCK_C)
    S = max(1, min(32, P // 128, triton.cdiv(132 * 8, B * cbs)))
    part = torch.empty((B, S, C), device=x.device, dtype=torch.float32)
    count = torch.zeros((B * cbs,), device=x.device, dtype=torch.int32)
    gap_last_block[(cbs, B, S)](
        x, part, count, out, P, C, S, triton.cdiv(P, S), 1.0 / P,
        BLOCK_P=64, BLOCK_C=BLOCK_C, SP=triton.next_power_of_2(S), num_warps=8,
    )
    return out
