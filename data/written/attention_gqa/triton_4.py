import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def gqa_tma_persistent(qd, kd, vd, od, heads, length, qk_scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    # persistent: one program per SM walks tiles (kv head, head in group, query block), TMA for all loads and stores
    n_m = tl.cdiv(length, BM)
    total = heads * n_m
    for tile in tl.range(tl.program_id(0), total, tl.num_programs(0)):
        head = tile // n_m
        m0 = (tile % n_m) * BM
        kv = head // 4
        q = qd.load([head, m0, 0]).reshape([BM, D])
        m_i = tl.full([BM], -1.0e30, tl.float32)
        l_i = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        for n0 in tl.range(0, length, BN):
            k = kd.load([kv, n0, 0]).reshape([BN, D])
            s = tl.dot(q, k.T)
            if n0 + BN > length:
                # TMA padded with zeros: score 0, must not count
                s = tl.where((n0 + tl.arange(0, BN) < length)[None, :], s, -1.0e30)
            m_new = tl.maximum(m_i, tl.max(s, 1) * qk_scale)
            p = tl.math.exp2(s * qk_scale - m_new[:, None])
            alpha = tl.math.exp2(m_i - m_new)
            l_i = l_i * alpha + tl.sum(p, 1)
            v = vd.load([kv, n0, 0]).reshape([BN, D])
            acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
            m_i = m_new
        res = acc / l_i[:, None]
        od.store([head, m0, 0], res.to(tl.float16).reshape([1, BM, D]))


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    BM = 128
    BN = 128 if dim == 64 else 64
    qd = TensorDescriptor.from_tensor(q, [1, BM, dim])
    kd = TensorDescriptor.from_tensor(k, [1, BN, dim])
    vd = TensorDescriptor.from_tensor(v, [1, BN, dim])
    od = TensorDescriptor.from_tensor(out, [1, BM, dim])
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    tiles = heads * triton.cdiv(length, BM)
    gqa_tma_persistent[(min(tiles, sms),)](
        qd, kd, vd, od, heads, length, dim**-0.5 * 1.4426950408889634, D=dim, BM=BM, BN=BN, num_warps=8, num_stages=3
    )
    return out
