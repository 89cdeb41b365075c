import torch
import triton
import triton.language as tl

# Candidate pruning by group maxima: the 8 largest items live in the (at most) 8 groups with the largest group maxima.
# Level 1 computes maxima of 32-wide groups while streaming; level 2 picks the best 8 groups by repeated argmax;
# level 3 reloads those 8 * 32 items (L1/L2 hits) and runs a bitonic top-k on 256 items instead of 4096.


@triton.jit
def topk_pruned(X, OUT, cols, G: tl.constexpr, W: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    base = X + row * cols
    g = tl.arange(0, G)
    w = tl.arange(0, W)
    offs = g[:, None] * W + w[None, :]
    x = tl.load(base + offs, mask=offs < cols, other=-float("inf"))
    gmax = tl.max(x, axis=1)                       # (G,)

    k = tl.arange(0, K)
    chosen = tl.zeros([K], tl.int32)
    for i in tl.static_range(K):
        at = tl.argmax(gmax, axis=0)
        chosen = tl.where(k == i, at, chosen)
        gmax = tl.where(g == at, -float("inf"), gmax)

    cand = chosen[:, None] * W + w[None, :]
    y = tl.load(base + cand, mask=cand < cols, other=-float("inf"))
    best = tl.topk(tl.reshape(y, [K * W]), K)
    tl.store(OUT + row * K + k, best)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows, 8), device=x.device, dtype=x.dtype)
    block = triton.next_power_of_2(cols)
    W = 32
    topk_pruned[(rows,)](x, out, cols, G=block // W, W=W, K=8, num_warps=4 if block >= 2048 else 2)
    return out
