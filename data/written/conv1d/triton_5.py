import torch
import triton
import triton.language as tl


# Persistent: 132 SMs, each walks over tiles. The weights are repacked to [5, C, O] so the accumulator can be
# computed as [L, O] tiles = X^T @ W; x tile is loaded as [C, L] and transposed in the dot operand.
@triton.jit
def repack_kco(w_ptr, wp_ptr, O, C, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = O * C * 5
    k = i // (C * O)
    rem = i % (C * O)
    c = rem // O
    o = rem % O
    v = tl.load(w_ptr + (o * C + c) * 5 + k, mask=i < total)
    tl.store(wp_ptr + i, v, mask=i < total)


@triton.jit
def conv1d_persistent(
    x_ptr,
    wp_ptr,
    out_ptr,
    B,
    C,
    O,
    L,
    tiles_l,
    tiles_o,
    NUM_SMS: tl.constexpr,
    BLOCK_L: tl.constexpr,
    BLOCK_O: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    start = tl.program_id(0)
    total = B * tiles_l * tiles_o
    for tile in range(start, total, NUM_SMS):
        to = tile % tiles_o
        rest = tile // tiles_o
        t_l = rest % tiles_l
        b = (rest // tiles_l).to(tl.int64)
        offs_l = t_l * BLOCK_L + tl.arange(0, BLOCK_L)
        offs_o = to * BLOCK_O + tl.arange(0, BLOCK_O)
        acc = tl.zeros((BLOCK_L, BLOCK_O), dtype=tl.float32)
        for c0 in range(0, C, BLOCK_C):
            c = c0 + tl.arange(0, BLOCK_C)
            for k in tl.static_range(5):
                pos = offs_l + (k - 2)
                xt = tl.load(
                    x_ptr + b * C * L + c[:, None] * L + pos[None, :],
                    mask=(c[:, None] < C) & (pos[None, :] >= 0) & (pos[None, :] < L),
                    other=0.0,
                )
                w = tl.load(
                    wp_ptr + (k * C + c)[:, None] * O + offs_o[None, :],
                    mask=(c[:, None] < C) & (offs_o[None, :] < O),
                    other=0.0,
                )
                acc = tl.dot(tl.trans(xt), w, acc)
        res = tl.trans(acc).to(tl.float16)
        tl.store(
            out_ptr + b * O * L + offs_o[:, None] * L + offs_l[None, :],
            res,
            mask=(offs_o[:, None] < O) & (offs_l[None, :] < L),
        )


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[0]
    out = torch.empty((B, O, L), device=x.device, dtype=x.dtype)
    wp = torch.empty((5, C, O), device=x.device, dtype=x.dtype)
    repack_kco[(triton.cdiv(O * C * 5, 1024),)](weights, wp, O, C, BLOCK=1024)
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    BLOCK_L, BLOCK_O = 128, 128
    tiles_l, tiles_o = triton.cdiv(L, BLOCK_L), triton.cdiv(O, BLOCK_O)
    grid = (min(sms, B * tiles_l * tiles_o),)
    conv1d_persistent[grid](
        x,
        wp,
        out,
        B,
        C,
        O,
        L,
        tiles_l,
        tiles_o,
        NUM_SMS=grid[0],
        BLOCK_L=BLOCK_L,
        BLOCK_O=BLOCK_O,
        BLOCK_C=32,
        num_warps=8,
        num_stages=3,
    )
    return out
