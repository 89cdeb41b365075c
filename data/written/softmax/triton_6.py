import torch
import triton
import triton.language as tl


# Split each row over several programs: kernel 1 writes (max, sumexp) of each chunk, kernel 2 combines the handful of
# partials itself and normalises its chunk. Two reads of x, but every program is small and independent.
@triton.jit
def partial_stats(x_ptr, m_ptr, s_ptr, n_cols, n_chunks, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    offs = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * n_cols + offs, mask=offs < n_cols, other=-float("inf"), eviction_policy="evict_last")
    m = tl.max(x, axis=0)
    s = tl.sum(tl.exp(x - m), axis=0)
    tl.store(m_ptr + row * n_chunks + chunk, m)
    tl.store(s_ptr + row * n_chunks + chunk, s)


@triton.jit
def normalise(x_ptr, m_ptr, s_ptr, out_ptr, n_cols, n_chunks, CHUNK: tl.constexpr, CHUNKS_P2: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    part = tl.arange(0, CHUNKS_P2)
    ms = tl.load(m_ptr + row * n_chunks + part, mask=part < n_chunks, other=-float("inf"))
    ss = tl.load(s_ptr + row * n_chunks + part, mask=part < n_chunks, other=0.0)
    m = tl.max(ms, axis=0)
    inv = 1.0 / tl.sum(ss * tl.exp(ms - m), axis=0)
    offs = chunk * CHUNK + tl.arange(0, CHUNK)
    mask = offs < n_cols
    x = tl.load(x_ptr + row * n_cols + offs, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + offs, tl.exp(x - m) * inv, mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    CHUNK = 1024 if cols > 512 else 512
    n_chunks = triton.cdiv(cols, CHUNK)
    m = torch.empty((rows, n_chunks), device=x.device, dtype=torch.float32)
    s = torch.empty_like(m)
    grid = (rows, n_chunks)
    partial_stats[grid](x, m, s, cols, n_chunks, CHUNK=CHUNK, num_warps=4)
    normalise[grid](x, m, s, out, cols, n_chunks, CHUNK=CHUNK, CHUNKS_P2=triton.next_power_of_2(n_chunks), num_warps=4)
    return out
