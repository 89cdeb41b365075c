# task: softmax
# honest: 20_honest_softmax.py
import torch, triton
import triton.language as tl

@triton.jit
def k(x, o, n, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + r * n + c, mask=m, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + r * n + c, e / tl.sum(e, 0), mask=m)

def kernel(x):
    o = torch.empty_like(x)
    B = triton.next_power_of_2(x.shape[1])
    k[(x.shape[0],)](x, o, x.shape[1], B=B, num_warps=4 if B <= 1024 else 8)
    return o
