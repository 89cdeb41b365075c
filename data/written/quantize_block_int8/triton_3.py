import torch
import triton
import triton.language as tl


@triton.jit
def quantize_row_kernel(x_ptr, q_ptr, s_ptr, cols, nblk, TILE: tl.constexpr):
    # program per (row, stretch of TILE columns), reshaped to [TILE / 128, 128] for the reduction; the flat load keeps
    # 16-byte accesses per thread
    row = tl.program_id(0).to(tl.int64)
    start = tl.program_id(1) * TILE
    offs = start + tl.arange(0, TILE)
    mask = offs < cols
    x = tl.load(x_ptr + row * cols + offs, mask=mask, other=0.0).to(tl.float32)
    x2 = tl.reshape(x, (TILE // 128, 128))
    amax = tl.max(tl.abs(x2), axis=1)
    e = ((amax.to(tl.int32, bitcast=True) >> 23) & 0xFF) - 126
    e = tl.where(amax == 0.0, 0, e)
    scale = tl.exp2((e - 7).to(tl.float32))
    inv = tl.exp2((7 - e).to(tl.float32))
    q2 = tl.floor(x2 * inv[:, None] + 0.5)
    q2 = tl.where(q2 > 127.0, 127.0, q2)
    q = tl.reshape(q2, (TILE,)).to(tl.int8)
    tl.store(q_ptr + row * cols + offs, q, mask=mask)
    b = tl.program_id(1) * (TILE // 128) + tl.arange(0, TILE // 128)
    tl.store(s_ptr + row * nblk + b, scale, mask=b < nblk)


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty(x.shape, device=x.device, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    tile = min(2048, triton.next_power_of_2(cols))
    quantize_row_kernel[(rows, triton.cdiv(cols, tile))](
        x, levels, scales, cols, cols // 128, TILE=tile, num_warps=max(1, tile // 512)
    )
    return levels, scales
