import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"GROUPS": 8}, num_warps=1),
        triton.Config({"GROUPS": 16}, num_warps=2),
        triton.Config({"GROUPS": 16}, num_warps=4),
        triton.Config({"GROUPS": 32}, num_warps=4),
        triton.Config({"GROUPS": 64}, num_warps=4),
        triton.Config({"GROUPS": 64}, num_warps=8),
    ],
    key=["blocks"],
)
@triton.jit
def quantize_auto(x_ptr, q_ptr, s_ptr, blocks, GROUPS: tl.constexpr):
    b0 = tl.program_id(0) * GROUPS
    xb = tl.make_block_ptr(x_ptr, (blocks, 128), (128, 1), (b0, 0), (GROUPS, 128), (1, 0))
    qb = tl.make_block_ptr(q_ptr, (blocks, 128), (128, 1), (b0, 0), (GROUPS, 128), (1, 0))
    x = tl.load(xb, boundary_check=(0,), padding_option="zero").to(tl.float32)
    amax = tl.maximum(tl.max(x, axis=1), -tl.min(x, axis=1))
    biased = (amax.to(tl.int32, bitcast=True) >> 23) & 255
    biased = tl.where(biased == 0, 126, biased)
    scale = ((biased - 6) << 23).to(tl.float32, bitcast=True)
    recip = ((260 - biased) << 23).to(tl.float32, bitcast=True)
    q = tl.minimum(tl.floor(x * recip[:, None] + 0.5), 127.0)
    tl.store(qb, q.to(tl.int8), boundary_check=(0,))
    b = b0 + tl.arange(0, GROUPS)
    tl.store(s_ptr + b, scale, mask=b < blocks)


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty_like(x, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    blocks = rows * cols // 128
    quantize_auto[lambda meta: (triton.cdiv(blocks, meta["GROUPS"]),)](x, levels, scales, blocks)
    return levels, scales
