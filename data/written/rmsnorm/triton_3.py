import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_rows(x_ptr, gamma_ptr, out_ptr, rows, cols, eps, R: tl.constexpr, C: tl.constexpr):
    # R rows at once; reads streamed past L2 since they are never needed again
    r0 = tl.program_id(0) * R
    x_blk = tl.make_block_ptr(
        x_ptr, shape=(rows, cols), strides=(cols, 1), offsets=(r0, 0), block_shape=(R, C), order=(1, 0)
    )
    o_blk = tl.make_block_ptr(
        out_ptr, shape=(rows, cols), strides=(cols, 1), offsets=(r0, 0), block_shape=(R, C), order=(1, 0)
    )
    x = tl.load(x_blk, boundary_check=(0, 1), padding_option="zero", eviction_policy="evict_first").to(tl.float32)
    c = tl.arange(0, C)
    g = tl.load(gamma_ptr + c, mask=c < cols, other=0.0).to(tl.float32)
    inv = tl.rsqrt(tl.sum(x * x, axis=1) / cols + eps)
    y = x * inv[:, None] * g[None, :]
    tl.store(o_blk, y.to(tl.bfloat16), boundary_check=(0, 1))


def kernel(x, gamma):
    rows, cols = x.shape
    out = torch.empty_like(x)
    C = triton.next_power_of_2(cols)
    R = max(1, 4096 // C)
    rmsnorm_rows[(triton.cdiv(rows, R),)](x, gamma, out, rows, cols, 1e-5, R=R, C=C, num_warps=4)
    return out
