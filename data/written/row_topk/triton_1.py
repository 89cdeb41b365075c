import torch
import triton
import triton.language as tl


@triton.jit
def topk_repeat_max(x_ptr, out_ptr, cols, BLOCK: tl.constexpr, K: tl.constexpr):
    # whole row in registers; take the maximum K times, removing one occurrence each time
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=-float("inf"))
    for i in range(K):
        top, at = tl.max(x, axis=0, return_indices=True)
        tl.store(out_ptr + row * K + i, top)
        x = tl.where(c == at, -float("inf"), x)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows, 8), device=x.device, dtype=x.dtype)
    BLOCK = triton.next_power_of_2(cols)
    topk_repeat_max[(rows,)](x, out, cols, BLOCK=BLOCK, K=8, num_warps=4)
    return out
