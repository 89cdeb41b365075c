import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


# TMA with 3-D descriptors [group, rows, cols]: the group boundary is a descriptor boundary, so partial tiles of a group are zero
# filled on load and clipped on store without any mask.
@triton.jit
def grouped_tma(a_desc, b_desc, c_desc, m, N, K, total,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr):
    tm = tl.cdiv(m, BM)
    tn = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), total, SMS):
        g = tile // (tm * tn)
        t = tile % (tm * tn)
        om = (t % tm) * BM
        on = (t // tm) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            a = a_desc.load([g, om, k]).reshape(BM, BK)
            b = b_desc.load([g, k, on]).reshape(BK, BN)
            acc = tl.dot(a, b, acc)
        c_desc.store([g, om, on], acc.to(tl.float16).reshape(1, BM, BN))


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    BM, BN, BK = (64, 128, 64) if m <= 64 else (128, 128, 64)
    a_desc = TensorDescriptor(a, [G, m, K], [m * K, K, 1], [1, BM, BK])
    b_desc = TensorDescriptor(b, [G, K, N], [K * N, N, 1], [1, BK, BN])
    c_desc = TensorDescriptor(c, [G, m, N], [m * N, N, 1], [1, BM, BN])
    total = G * triton.cdiv(m, BM) * triton.cdiv(N, BN)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    grouped_tma[(min(total, sms),)](a_desc, b_desc, c_desc, m, N, K, total, BM=BM, BN=BN, BK=BK, SMS=sms,
                                    num_warps=4 if BM == 64 else 8, num_stages=4)
    return c
