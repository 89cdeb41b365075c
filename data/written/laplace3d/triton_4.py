import torch
import triton
import triton.language as tl


# Autotuned 3D tiles [BZ, BY, BX]: everything in one block of registers, L1 catches the overlap.
@triton.autotune(
    configs=[
        triton.Config({"BZ": 2, "BY": 8, "BX": 64}, num_warps=4),
        triton.Config({"BZ": 4, "BY": 4, "BX": 64}, num_warps=4),
        triton.Config({"BZ": 4, "BY": 4, "BX": 128}, num_warps=8),
        triton.Config({"BZ": 2, "BY": 4, "BX": 128}, num_warps=4),
        triton.Config({"BZ": 8, "BY": 8, "BX": 32}, num_warps=8),
    ],
    key=["D", "H", "W"],
)
@triton.jit
def laplace_block(x_ptr, out_ptr, D, H, W, BZ: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr):
    nx = tl.cdiv(W, BX)
    ny = tl.cdiv(H, BY)
    pid = tl.program_id(0)
    bx = pid % nx
    by = (pid // nx) % ny
    bz = pid // (nx * ny)
    z = (bz * BZ + tl.arange(0, BZ))[:, None, None]
    y = (by * BY + tl.arange(0, BY))[None, :, None]
    x = (bx * BX + tl.arange(0, BX))[None, None, :]
    HW = H * W
    off = z * HW + y * W + x
    mask = (z < D) & (y < H) & (x < W)
    inner = (z > 0) & (z < D - 1) & (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
    p = x_ptr + off
    acc = -6.0 * tl.load(p, mask=inner, other=0.0)
    acc += tl.load(p - 1, mask=inner, other=0.0)
    acc += tl.load(p + 1, mask=inner, other=0.0)
    acc += tl.load(p - W, mask=inner, other=0.0)
    acc += tl.load(p + W, mask=inner, other=0.0)
    acc += tl.load(p - HW, mask=inner, other=0.0)
    acc += tl.load(p + HW, mask=inner, other=0.0)
    tl.store(out_ptr + off, acc, mask=mask)


def kernel(x):
    D, H, W = x.shape
    out = torch.empty_like(x)
    grid = lambda m: (triton.cdiv(D, m["BZ"]) * triton.cdiv(H, m["BY"]) * triton.cdiv(W, m["BX"]),)
    laplace_block[grid](x, out, D, H, W)
    return out
