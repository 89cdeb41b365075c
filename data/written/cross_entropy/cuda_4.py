import torch

from foretell.cuda import compile

program = compile(r"""
// Persistent blocks with bulk async copies (Hopper cp.async.bulk + mbarrier): one elected thread keeps
// STAGES chunks of 1024 floats in flight, all 256 threads reduce them online.
constexpr int STAGES = 6;
constexpr int CHUNK = 1024;

__device__ __forceinline__ unsigned smem_u32(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void mbar_init(unsigned long long* bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_u32(bar)), "r"(count));
}
__device__ __forceinline__ void mbar_expect(unsigned long long* bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_u32(bar)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mbar_wait(unsigned long long* bar, unsigned parity) {
    asm volatile(
        "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}"
        ::"r"(smem_u32(bar)), "r"(parity) : "memory");
}
__device__ __forceinline__ void bulk_load(void* dst, const void* src, unsigned bytes, unsigned long long* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(smem_u32(dst)), "l"(src), "r"(bytes), "r"(smem_u32(bar)) : "memory");
}

extern "C" __global__ void __launch_bounds__(256) ce_bulk(const float* __restrict__ logits, const long long* __restrict__ targets,
                                                          float* __restrict__ out, int rows, int cols) {
    __shared__ alignas(128) float buf[STAGES][CHUNK];
    __shared__ alignas(8) unsigned long long full[STAGES];
    __shared__ float pm[8], ps[8];
    const int tid = threadIdx.x, lane = tid & 31, wid = tid >> 5;
    const int chunks = (cols + CHUNK - 1) / CHUNK;
    const int my_rows = (int)blockIdx.x < rows ? (rows - 1 - blockIdx.x) / gridDim.x + 1 : 0;
    const int total = my_rows * chunks;

    if (tid == 0) {
        for (int s = 0; s < STAGES; ++s) mbar_init(&full[s], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    auto issue = [&](int k) {
        int r = blockIdx.x + (k / chunks) * gridDim.x, c = (k % chunks) * CHUNK;
        int n = min(CHUNK, cols - c);
        int s = k % STAGES;
        mbar_expect(&full[s], n * 4);
        bulk_load(buf[s], logits + (size_t)r * cols + c, n * 4, &full[s]);
    };
    if (tid == 0) for (int k = 0; k < STAGES - 1 && k < total; ++k) issue(k);

    float m = -1e30f, sum = 0.0f;
    for (int k = 0; k < total; ++k) {
        int s = k % STAGES;
        mbar_wait(&full[s], (k / STAGES) & 1);
        int n = min(CHUNK, cols - (k % chunks) * CHUNK);
        if (tid * 4 < n) {
            float4 v = ((const float4*)buf[s])[tid];
            float mm = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
            sum = sum * __expf(m - mm) + __expf(v.x - mm) + __expf(v.y - mm) + __expf(v.z - mm) + __expf(v.w - mm);
            m = mm;
        }
        __syncthreads();  // everybody is done with stage (k - 1) and with this one
        if (tid == 0 && k + STAGES - 1 < total) issue(k + STAGES - 1);
        if ((k + 1) % chunks == 0) {
            #pragma unroll
            for (int o = 16; o; o >>= 1) {
                float m2 = __shfl_xor_sync(~0u, m, o), s2 = __shfl_xor_sync(~0u, sum, o);
                float mm = fmaxf(m, m2);
                sum = sum * __expf(m - mm) + s2 * __expf(m2 - mm);
                m = mm;
            }
            if (lane == 0) { pm[wid] = m; ps[wid] = sum; }
            __syncthreads();
            if (tid == 0) {
                float M = pm[0], S = 0.0f;
                for (int w = 1; w < 8; ++w) M = fmaxf(M, pm[w]);
                for (int w = 0; w < 8; ++w) S += ps[w] * __expf(pm[w] - M);
                int r = blockIdx.x + (k / chunks) * gridDim.x;
                out[r] = M + logf(S) - logits[(size_t)r * cols + targets[r]];
            }
            m = -1e30f; sum = 0.0f;
        }
    }
}
""")


def kernel(logits, targets):
    rows, cols = logits.shape
    out = torch.empty(rows, device=logits.device, dtype=torch.float32)
    grid = min(rows, 132 * 8)
    program.ce_bulk((grid,), (256,), (logits, targets, out, rows, cols))
    return out
