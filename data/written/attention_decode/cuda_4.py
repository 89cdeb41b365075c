import torch
from foretell.cuda import compile

# Thread block clusters: the splits of one head form a cluster of 8 blocks and exchange their partial results through
# distributed shared memory, so there is one launch, no scratch in global memory and no atomics.
SOURCE = r"""
#include <cuda_fp16.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CLUSTER 8
#define LANES (DIM / 8)
#define GROUPS (256 / LANES)

__device__ __forceinline__ void f8(const uint4& p, float (&f)[8]) {
    const __half2* h = reinterpret_cast<const __half2*>(&p);
    #pragma unroll
    for (int i = 0; i < 4; i++) { float2 t = __half22float2(h[i]); f[2 * i] = t.x; f[2 * i + 1] = t.y; }
}

extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void decode_cluster(const __half* __restrict__ q,
        const __half* __restrict__ k, const __half* __restrict__ v, __half* __restrict__ out, int length, float scale) {
    __shared__ float acc_s[GROUPS][DIM + 4];
    __shared__ float m_s[GROUPS], l_s[GROUPS];
    __shared__ float block_acc[DIM], block_ml[2];
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank();
    const int head = blockIdx.x / CLUSTER;
    const int tid = threadIdx.x, c = tid % LANES, g = tid / LANES;
    const int per = (length + CLUSTER - 1) / CLUSTER;
    const int lo = rank * per, hi = min(lo + per, length);
    const uint4* kp = reinterpret_cast<const uint4*>(k + (size_t)head * length * DIM) + c;
    const uint4* vp = reinterpret_cast<const uint4*>(v + (size_t)head * length * DIM) + c;

    float qf[8], acc[8] = {};
    f8(reinterpret_cast<const uint4*>(q + head * DIM)[c], qf);
    float m = -1e30f, l = 0.f;
    // every group runs the same number of steps so the shuffles stay converged
    for (int j0 = lo; j0 < hi; j0 += 2 * GROUPS) {
        int ja = j0 + g, jb = ja + GROUPS;
        bool oka = ja < hi, okb = jb < hi;
        uint4 z = make_uint4(0, 0, 0, 0);
        uint4 ka = oka ? kp[(size_t)ja * LANES] : z, kb = okb ? kp[(size_t)jb * LANES] : z;
        uint4 va = oka ? vp[(size_t)ja * LANES] : z, vb = okb ? vp[(size_t)jb * LANES] : z;
        float fa[8], fb[8], sa = 0.f, sb = 0.f;
        f8(ka, fa); f8(kb, fb);
        #pragma unroll
        for (int i = 0; i < 8; i++) { sa += fa[i] * qf[i]; sb += fb[i] * qf[i]; }
        #pragma unroll
        for (int o = LANES / 2; o; o >>= 1) {
            sa += __shfl_xor_sync(~0u, sa, o);
            sb += __shfl_xor_sync(~0u, sb, o);
        }
        sa = oka ? sa * scale : -1e30f;
        sb = okb ? sb * scale : -1e30f;
        float top = fmaxf(m, fmaxf(sa, sb));
        float a = exp2f(m - top), pa = oka ? exp2f(sa - top) : 0.f, pb = okb ? exp2f(sb - top) : 0.f;
        l = l * a + pa + pb;
        f8(va, fa); f8(vb, fb);
        #pragma unroll
        for (int i = 0; i < 8; i++) acc[i] = acc[i] * a + pa * fa[i] + pb * fb[i];
        m = top;
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) acc_s[g][c * 8 + i] = acc[i];
    if (c == 0) { m_s[g] = m; l_s[g] = l; }
    __syncthreads();
    if (tid < DIM) {
        float top = -1e30f, num = 0.f, den = 0.f;
        for (int i = 0; i < GROUPS; i++) top = fmaxf(top, m_s[i]);
        for (int i = 0; i < GROUPS; i++) {
            float w = exp2f(m_s[i] - top);
            num += w * acc_s[i][tid];
            den += w * l_s[i];
        }
        block_acc[tid] = num;
        if (tid == 0) { block_ml[0] = top; block_ml[1] = den; }
    }
    cluster.sync();
    if (rank == 0 && tid < DIM) {
        float top = -1e30f, num = 0.f, den = 0.f;
        for (int b = 0; b < CLUSTER; b++) top = fmaxf(top, *cluster.map_shared_rank(&block_ml[0], b));
        for (int b = 0; b < CLUSTER; b++) {
            float w = exp2f(*cluster.map_shared_rank(&block_ml[0], b) - top);
            num += w * *cluster.map_shared_rank(&block_acc[tid], b);
            den += w * *cluster.map_shared_rank(&block_ml[1], b);
        }
        out[head * DIM + tid] = __float2half(num / den);
    }
    cluster.sync();          // nobody leaves while its shared memory is being read
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = k.shape
    out = torch.empty_like(q)
    programs[dim].decode_cluster((heads * 8,), (256,), (q, k, v, out, length, dim**-0.5 * 1.44269504))
    return out
