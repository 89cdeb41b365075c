import torch
import triton
import triton.language as tl


# Persistent grid-stride version: each program keeps its 256 counters in
# registers across all of its tiles and only flushes once at the end, so the
# number of global atomics is (#programs * 256) no matter how large n is.
@triton.jit
def histogram_persistent_kernel(values_ptr, counts_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    pid = tl.program_id(0)
    num_programs = tl.num_programs(0)
    bins = tl.arange(0, BINS)
    acc = tl.zeros((BINS,), dtype=tl.int32)
    lanes = tl.arange(0, BLOCK)

    n_tiles = tl.cdiv(n, BLOCK)
    for tile in range(pid, n_tiles, num_programs):
        offs = tile * BLOCK + lanes
        mask = offs < n
        v = tl.load(values_ptr + offs, mask=mask, other=0, eviction_policy="evict_first")
        acc += tl.histogram(v, BINS, mask=mask)

    tl.atomic_add(counts_ptr + bins, acc, mask=acc > 0, sem="relaxed")


def kernel(values):
    n = values.numel()
    counts = torch.zeros(256, dtype=torch.int32, device=values.device)
    BLOCK = 4096
    # 132 SMs on H200, a few CTAs on each to hide latency
    num_sms = 132
    grid = (min(num_sms * 4, triton.cdiv(n, BLOCK)),)
    histogram_persistent_kernel[grid](values, counts, n, BLOCK=BLOCK, BINS=256, num_warps=8, num_stages=3)
    return counts
