import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def transpose_tma(x_desc, out_desc, out_ptr, B, R, C, BR: tl.constexpr, BC: tl.constexpr, TMA_STORE: tl.constexpr):
    tr = tl.cdiv(R, BR)
    tc = tl.cdiv(C, BC)
    total = B * tr * tc
    for t in tl.range(tl.program_id(0), total, tl.num_programs(0), num_stages=3):
        b = t // (tr * tc)
        w = t % (tr * tc)
        r0 = (w // tc) * BR
        c0 = (w % tc) * BC
        tile = x_desc.load([b, r0, c0]).reshape(BR, BC)
        tile_t = tl.trans(tile)
        if TMA_STORE:
            out_desc.store([b, c0, r0], tile_t.reshape(1, BC, BR))
        else:
            ri = r0 + tl.arange(0, BR)
            ci = c0 + tl.arange(0, BC)
            ptr = out_ptr + b.to(tl.int64) * R * C + ci[:, None] * R + ri[None, :]
            tl.store(ptr, tile_t, mask=(ci < C)[:, None] & (ri < R)[None, :])


def kernel(x):
    x = x.contiguous()
    B, R, C = x.shape
    out = torch.empty((B, C, R), device=x.device, dtype=x.dtype)
    BR, BC = (64, 64) if C > 128 else (64, 16)
    x_desc = TensorDescriptor.from_tensor(x, [1, BR, BC])
    tma_store = R % 8 == 0  # strides of a descriptor must be multiples of 16 bytes
    out_desc = TensorDescriptor.from_tensor(out, [1, BC, BR]) if tma_store else x_desc
    total = B * triton.cdiv(R, BR) * triton.cdiv(C, BC)
    transpose_tma[(min(total, 132 * 6),)](
        x_desc, out_desc, out, B, R, C, BR=BR, BC=BC, TMA_STORE=tma_store, num_warps=4
    )
    return out
