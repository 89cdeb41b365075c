import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Flat decomposition: the two matrices are treated as one stream of 16-byte packets which each warp walks
// with a private cp.async ring in shared memory (no block barriers). Every warp owns whole rows, persistent.
constexpr int STAGES = 4;      // per warp
constexpr int WARPS = 8;

__device__ __forceinline__ void cp16(void* dst, const void* src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(dst)), "l"(src));
}

extern "C" __global__ void __launch_bounds__(256) kl_ring(const __half* __restrict__ logp, const __half* __restrict__ q,
                                                          float* __restrict__ out, int rows, int cols) {
    __shared__ uint4 ring[WARPS][STAGES][2][32];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int first = blockIdx.x * WARPS + warp, step = gridDim.x * WARPS;
    if (cols & 7) {
        for (int r = first; r < rows; r += step) {
            float acc = 0.0f;
            for (int i = lane; i < cols; i += 32) {
                float v = __half2float(q[(size_t)r * cols + i]);
                if (v > 0.0f) acc += v * (__logf(v) - __half2float(logp[(size_t)r * cols + i]));
            }
            for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(~0u, acc, o);
            if (lane == 0) out[r] = acc;
        }
        return;
    }
    const int n8 = cols >> 3;
    const int per_row = (n8 + 31) / 32;
    const int mine = first < rows ? (rows - 1 - first) / step + 1 : 0;
    const int total = mine * per_row;

    auto fetch = [&](int k) {
        if (k < total) {
            int r = first + (k / per_row) * step, i = (k % per_row) * 32 + lane;
            if (i < n8) {
                cp16(&ring[warp][k % STAGES][0][lane], (const uint4*)(logp + (size_t)r * cols) + i);
                cp16(&ring[warp][k % STAGES][1][lane], (const uint4*)(q + (size_t)r * cols) + i);
            }
        }
        asm volatile("cp.async.commit_group;");
    };
    #pragma unroll
    for (int k = 0; k < STAGES - 1; ++k) fetch(k);
    float acc = 0.0f;
    for (int k = 0; k < total; ++k) {
        fetch(k + STAGES - 1);
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
        // each lane reads only what it copied itself, so no __syncwarp is required
        if ((k % per_row) * 32 + lane < n8) {
            uint4 lu = ring[warp][k % STAGES][0][lane], qu = ring[warp][k % STAGES][1][lane];
            const __half2* l = (const __half2*)&lu;
            const __half2* p = (const __half2*)&qu;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float2 lf = __half22float2(l[j]), qf = __half22float2(p[j]);
                if (qf.x > 0.0f) acc += qf.x * (__logf(qf.x) - lf.x);
                if (qf.y > 0.0f) acc += qf.y * (__logf(qf.y) - lf.y);
            }
        }
        if ((k + 1) % per_row == 0) {
            #pragma unroll
            for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(~0u, acc, o);
            if (lane == 0) out[first + (k / per_row) * step] = acc;
            acc = 0.0f;
        }
    }
}
""")


def kernel(logp, q):
    rows, cols = q.shape
    out = torch.empty(rows, device=q.device, dtype=torch.float32)
    grid = min((rows + 7) // 8, 132 * 6)
    program.kl_ring((grid,), (256,), (logp, q, out, rows, cols))
    return out
