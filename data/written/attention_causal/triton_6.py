import torch
import triton
import triton.language as tl

# Split over keys: every (query block, key chunk) pair on or below the diagonal is a separate program, partial
# (acc, max, sum) go to scratch and a second kernel merges them. Evens out the triangle and fills the GPU
# even when there are few heads.


@triton.jit
def partial_attn(
    Q,
    K,
    V,
    PO,
    PM,
    PL,
    length,
    qk_scale,
    n_chunks,
    DIM: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    CHUNK: tl.constexpr,
):
    mblk = tl.program_id(0)
    chunk = tl.program_id(1)
    head = tl.program_id(2)
    lo = chunk * CHUNK
    if lo >= (mblk + 1) * BM:
        return
    base = head.to(tl.int64) * length * DIM
    rows = mblk * BM + tl.arange(0, BM)
    d = tl.arange(0, DIM)
    q = tl.load(Q + base + rows[:, None] * DIM + d[None, :], mask=rows[:, None] < length, other=0.0)
    m = tl.full([BM], -1e20, tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, DIM], tl.float32)
    hi = tl.minimum(tl.minimum(lo + CHUNK, (mblk + 1) * BM), length)
    for n0 in range(lo, hi, BN):
        cols = n0 + tl.arange(0, BN)
        k = tl.load(K + base + cols[None, :] * DIM + d[:, None], mask=cols[None, :] < length, other=0.0)
        v = tl.load(V + base + cols[:, None] * DIM + d[None, :], mask=cols[:, None] < length, other=0.0)
        s = tl.dot(q, k) * qk_scale
        keep = rows[:, None] >= cols[None, :]
        s = tl.where(keep, s, -1e20)
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.where(keep, tl.exp2(s - mn[:, None]), 0.0)
        a = tl.exp2(m - mn)
        l = l * a + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * a[:, None])
        m = mn
    row_id = (head * n_chunks + chunk).to(tl.int64) * length + rows
    tl.store(PO + row_id[:, None] * DIM + d[None, :], acc, mask=rows[:, None] < length)
    tl.store(PM + row_id, m, mask=rows < length)
    tl.store(PL + row_id, l, mask=rows < length)


@triton.jit
def merge(
    PO, PM, PL, O, length, n_chunks, DIM: tl.constexpr, BM: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr
):
    head = tl.program_id(1)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    ok = rows < length
    d = tl.arange(0, DIM)
    m = tl.full([ROWS], -1e20, tl.float32)
    l = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    for c in range(0, n_chunks):
        # chunk c was computed for this row's query block only if it starts before the end of that block
        live = ok & (c * CHUNK < (rows // BM + 1) * BM)
        rid = (head * n_chunks + c).to(tl.int64) * length + rows
        pm = tl.load(PM + rid, mask=live, other=-1e20)
        pl = tl.load(PL + rid, mask=live, other=0.0)
        po = tl.load(PO + rid[:, None] * DIM + d[None, :], mask=live[:, None], other=0.0)
        mn = tl.maximum(m, pm)
        a = tl.exp2(m - mn)
        b = tl.exp2(pm - mn)
        l = l * a + pl * b
        acc = acc * a[:, None] + po * b[:, None]
        m = mn
    tl.store(
        O + head.to(tl.int64) * length * DIM + rows[:, None] * DIM + d[None, :],
        (acc / l[:, None]).to(tl.float16),
        mask=ok[:, None],
    )


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    BM, BN, CHUNK, ROWS = 128, 64, 1024, 16
    n_chunks = triton.cdiv(length, CHUNK)
    po = torch.empty((heads, n_chunks, length, dim), device=q.device, dtype=torch.float32)
    pm = torch.empty((heads, n_chunks, length), device=q.device, dtype=torch.float32)
    pl = torch.empty_like(pm)
    partial_attn[(triton.cdiv(length, BM), n_chunks, heads)](
        q,
        k,
        v,
        po,
        pm,
        pl,
        length,
        dim**-0.5 * 1.44269504,
        n_chunks,
        DIM=dim,
        BM=BM,
        BN=BN,
        CHUNK=CHUNK,
        num_warps=8,
        num_stages=3,
    )
    merge[(triton.cdiv(length, ROWS), heads)](
        po, pm, pl, out, length, n_chunks, DIM=dim, BM=BM, ROWS=ROWS, CHUNK=CHUNK, num_warps=4
    )
    return out
