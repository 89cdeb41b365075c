# task: attention_alibi
import torch
import triton
import triton.language as tl


@triton.jit
def largest(k, norms, length, D: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(0)
    rd = tl.arange(0, D)
    most = tl.zeros((), tl.float32)
    for start in range(0, length, BLOCK):
        rn = start + tl.arange(0, BLOCK)
        ks = tl.load(k + head * length * D + rn[:, None] * D + rd[None, :], mask=rn[:, None] < length, other=0.0).to(tl.float32)
        most = tl.maximum(most, tl.max(tl.sum(ks * ks, 1)))
    tl.store(norms + head, most)


@triton.jit
def alibi(q, k, v, norms, out, heads, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1)
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    rm, rd = tile * BM + tl.arange(0, BM), tl.arange(0, D)
    base = head * length * D
    qs = tl.load(q + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < length, other=0.0)
    slope = tl.exp2(-8.0 * (head + 1).to(tl.float32) / heads) * 1.4426950408889634
    scale = (1.0 / tl.sqrt(tl.full((), D, tl.float32))) * 1.4426950408889634
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    # No score is larger than the product of norms: what lies further back weighs less than 2^-36, whatever the numbers.
    wide = qs.to(tl.float32)
    bound = tl.sqrt(tl.max(tl.sum(wide * wide, 1)) * tl.load(norms + head)) * scale
    reach = tl.minimum((2.0 * bound + 36.0) / slope, 1e6)
    first = tl.maximum(0, tile * BM - reach.to(tl.int32)) // BN * BN
    last = tl.minimum(length, (tile + 1) * BM)
    for start in range(first, last, BN):
        rn = start + tl.arange(0, BN)
        ks = tl.load(k + base + rn[None, :] * D + rd[:, None], mask=rn[None, :] < length, other=0.0)
        s = tl.dot(qs, ks) * scale
        back = (rm[:, None] - rn[None, :]).to(tl.float32)
        s = tl.where((back >= 0) & (rn[None, :] < length), s - slope * back, -float("inf"))
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        keep = tl.exp2(top - higher)
        total = total * keep + tl.sum(p, 1)
        vs = tl.load(v + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < length, other=0.0)
        acc = tl.dot(p.to(tl.float16), vs, acc * keep[:, None])
        top = higher
    tl.store(out + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16), mask=rm[:, None] < length)


def kernel(q, k, v):
    heads, length, dim = q.shape
    out, norms = torch.empty_like(q), torch.empty(heads, device=q.device)
    largest[(heads,)](k, norms, length, D=dim, BLOCK=128, num_warps=8)
    alibi[(triton.cdiv(length, 128), heads)](
        q, k, v, norms, out, heads, length, D=dim, BM=128, BN=64, num_warps=8 if dim == 128 else 4, num_stages=3
    )
    return out
