import torch
import triton
import triton.language as tl

# Clever idea: `a` is uniform in [0, 1), so the state forgets fast. Rather than relying on that, use it only for
# parallelism with a decoupled chain: chunks of time publish their final state to the next chunk through a flag
# in global memory (chained scan). Each chunk first computes its local scan while it waits.


@triton.jit
def pair(a1, x1, a2, x2):
    return a1 * a2, x1 * a2 + x2


@triton.jit
def chained(A, X, OUT, STATE, FLAG, time, channels, n_chunks, n_cb, T: tl.constexpr, C: tl.constexpr):
    pid = tl.program_id(0)
    # chunk index is the slowest: predecessors always have smaller program ids, so they are already scheduled
    batch_cb = tl.num_programs(0) // n_chunks
    chunk = pid // batch_cb
    rest = pid % batch_cb
    b = rest // n_cb
    cb = rest % n_cb
    c = cb * C + tl.arange(0, C)
    t = chunk * T + tl.arange(0, T)
    cm = c < channels
    offs = b.to(tl.int64) * time * channels + t[:, None] * channels + c[None, :]
    mask = (t[:, None] < time) & cm[None, :]
    a = tl.load(A + offs, mask=mask, other=1.0)
    x = tl.load(X + offs, mask=mask, other=0.0)
    pa, px = tl.associative_scan((a, x), 0, pair)

    h = tl.zeros([C], tl.float32)
    if chunk > 0:
        prev = FLAG + (chunk - 1) * batch_cb + rest
        while tl.atomic_add(prev, 0, sem="acquire") == 0:
            pass
        h = tl.load(STATE + ((chunk - 1) * batch_cb + rest) * C + tl.arange(0, C), volatile=True)
    y = pa * h[None, :] + px
    if chunk < n_chunks - 1:
        last = tl.sum(tl.where((tl.arange(0, T) == T - 1)[:, None], y, 0.0), 0)
        tl.store(STATE + (chunk * batch_cb + rest) * C + tl.arange(0, C), last)
        tl.debug_barrier()
        tl.atomic_xchg(FLAG + chunk * batch_cb + rest, 1, sem="release")
    tl.store(OUT + offs, y, mask=mask)


def kernel(a, x):
    batch, time, channels = x.shape
    out = torch.empty_like(x)
    T, C = 64, 32
    n_chunks = triton.cdiv(time, T)
    n_cb = triton.cdiv(channels, C)
    total = n_chunks * n_cb * batch
    state = torch.empty((total, C), device=x.device, dtype=torch.float32)
    flag = torch.zeros(total, device=x.device, dtype=torch.int32)
    chained[(total,)](a, x, out, state, flag, time, channels, n_chunks, n_cb, T=T, C=C, num_warps=4)
    return out
