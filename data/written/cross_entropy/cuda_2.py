import torch

from foretell.cuda import compile

program = compile(r"""
// Warp per row, online softmax with 16-byte loads. No shared memory and no block barriers.
__device__ __forceinline__ void merge(float& m, float& s, float m2, float s2) {
    float mm = fmaxf(m, m2);
    s = s * __expf(m - mm) + s2 * __expf(m2 - mm);
    m = mm;
}

extern "C" __global__ void __launch_bounds__(256) ce_warp(const float* __restrict__ logits,
                                                          const long long* __restrict__ targets,
                                                          float* __restrict__ out, int rows, int cols) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (warp >= rows) return;
    const float* row = logits + (size_t)warp * cols;

    float m = -1e30f, s = 0.0f;
    if ((cols & 3) == 0) {
        const float4* row4 = reinterpret_cast<const float4*>(row);
        int n4 = cols >> 2;
        #pragma unroll 4
        for (int i = lane; i < n4; i += 32) {
            float4 v = __ldcs(row4 + i);
            float local = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
            float mm = fmaxf(m, local);
            // one rescale for four elements
            s = s * __expf(m - mm) + __expf(v.x - mm) + __expf(v.y - mm) + __expf(v.z - mm) + __expf(v.w - mm);
            m = mm;
        }
    } else {
        for (int i = lane; i < cols; i += 32) merge(m, s, row[i], 1.0f);
    }
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        float m2 = __shfl_xor_sync(0xffffffffu, m, o);
        float s2 = __shfl_xor_sync(0xffffffffu, s, o);
        merge(m, s, m2, s2);
    }
    if (lane == 0) out[warp] = m + logf(s) - row[targets[warp]];
}
""")


def kernel(logits, targets):
    rows, cols = logits.shape
    out = torch.empty(rows, device=logits.device, dtype=torch.float32)
    warps_per_block = 8
    program.ce_warp(((rows + warps_per_block - 1) // warps_per_block,), (256,), (logits, targets, out, rows, cols))
    return out
