import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


# Persistent TMA igemm.
@triton.jit
def igemm_tma(a_desc, b_desc, c_desc, M, N, K,
              BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr):
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), nm * nn, SMS):
        om = (tile // nn) * BM
        on = (tile % nn) * BN
        acc = tl.zeros((BM, BN), dtype=tl.int32)
        for k in tl.range(0, K, BK, num_stages=4):
            a = a_desc.load([om, k])
            b = b_desc.load([k, on])
            acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        c_desc.store([om, on], acc)


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.int32)
    BM, BN, BK = 128, 64, 128
    a_desc = TensorDescriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = TensorDescriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = TensorDescriptor(c, [M, N], [N, 1], [BM, BN])
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
    igemm_tma[(min(tiles, 2 * sms),)](a_desc, b_desc, c_desc, M, N, K, BM=BM, BN=BN, BK=BK, SMS=min(tiles, 2 * sms),
                                      num_warps=4)
    return c
