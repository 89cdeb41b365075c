import torch
import triton
import triton.language as tl


@triton.jit
def partial_lse_kernel(x_ptr, pmax_ptr, psum_ptr, n_cols, n_chunks, CHUNK: tl.constexpr):
    """Split kernel: grid (rows, chunks); each writes (max, sum of exps) of its chunk."""
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=float("-inf"))
    m = tl.max(x, 0)
    s = tl.sum(tl.exp(x - m), 0)
    tl.store(pmax_ptr + row * n_chunks + chunk, m)
    tl.store(psum_ptr + row * n_chunks + chunk, s)


@triton.jit
def combine_kernel(
    x_ptr,
    t_ptr,
    pmax_ptr,
    psum_ptr,
    out_ptr,
    n_rows,
    n_cols,
    n_chunks,
    ROWS: tl.constexpr,
    CHUNKS: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    rmask = rows < n_rows
    c = tl.arange(0, CHUNKS)
    offs = rows[:, None] * n_chunks + c[None, :]
    mask = rmask[:, None] & (c[None, :] < n_chunks)
    m = tl.load(pmax_ptr + offs, mask=mask, other=-1e38)
    s = tl.load(psum_ptr + offs, mask=mask, other=0.0)
    top = tl.max(m, axis=1)
    total = tl.sum(s * tl.exp(m - top[:, None]), axis=1)
    t = tl.load(t_ptr + rows, mask=rmask, other=0)
    xt = tl.load(x_ptr + rows.to(tl.int64) * n_cols + t, mask=rmask, other=0.0)
    tl.store(out_ptr + rows, tl.log(total) + top - xt, mask=rmask)


def kernel(logits, targets):
    rows, cols = logits.shape
    CHUNK = 1024
    n_chunks = triton.cdiv(cols, CHUNK)
    dev = logits.device
    pmax = torch.empty((rows, n_chunks), device=dev, dtype=torch.float32)
    psum = torch.empty((rows, n_chunks), device=dev, dtype=torch.float32)
    out = torch.empty(rows, device=dev, dtype=torch.float32)
    partial_lse_kernel[(rows, n_chunks)](logits, pmax, psum, cols, n_chunks, CHUNK=CHUNK, num_warps=4)
    ROWS = 64
    combine_kernel[(triton.cdiv(rows, ROWS),)](
        logits,
        targets,
        pmax,
        psum,
        out,
        rows,
        cols,
        n_chunks,
        ROWS=ROWS,
        CHUNKS=triton.next_power_of_2(n_chunks),
        num_warps=2,
    )
    return out
