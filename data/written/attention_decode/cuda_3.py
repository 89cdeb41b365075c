import torch
from foretell.cuda import compile

# cp.async pipeline: each block streams K and V tiles (32 keys) into a 4-deep ring of shared memory so that loads
# are always in flight; scores and the weighted sum are computed from shared memory. The last block of a head merges.
SOURCE = r"""
#include <cuda_fp16.h>
#define TILE 32
#define STAGES 4
#define TILE_BYTES (TILE * DIM * 2)
#define CHUNKS (DIM / 8)

__device__ __forceinline__ void fetch(unsigned char* dst, const __half* k, const __half* v, int n0, int hi) {
    for (int i = threadIdx.x; i < TILE * CHUNKS; i += 128) {
        int r = i / CHUNKS, row = min(n0 + r, hi - 1);
        size_t off = (size_t)row * DIM + (i % CHUNKS) * 8;
        unsigned a = (unsigned)__cvta_generic_to_shared(dst + i * 16);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(k + off));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a + TILE_BYTES), "l"(v + off));
    }
}

extern "C" __global__ void __launch_bounds__(128) decode_pipeline(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out, float* part, float* stats, int* tickets,
        int length, int per_split, float scale) {
    extern __shared__ __align__(128) unsigned char ring[];
    __shared__ float sq[DIM], sp[TILE];
    __shared__ int last;
    const int head = blockIdx.y, tid = threadIdx.x;
    const int lo = blockIdx.x * per_split, hi = min(lo + per_split, length);
    k += (size_t)head * length * DIM;
    v += (size_t)head * length * DIM;
    for (int d = tid; d < DIM; d += 128) sq[d] = __half2float(q[head * DIM + d]) * scale;
    const int steps = (hi - lo + TILE - 1) / TILE;
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) fetch(ring + s * 2 * TILE_BYTES, k, v, lo + s * TILE, hi);
        asm volatile("cp.async.commit_group;");
    }
    // 4 threads per key for the scores; DIM-wide (2 groups when DIM = 64) for the values
    const int key = tid / 4, quarter = tid % 4;
    const int d = tid % DIM, vg = tid / DIM, vgroups = 128 / DIM;
    float m = -1e30f, l = 0.f, acc = 0.f;
    for (int it = 0; it < steps; it++) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2));
        __syncthreads();
        if (it + STAGES - 1 < steps)
            fetch(ring + (it + STAGES - 1) % STAGES * 2 * TILE_BYTES, k, v, lo + (it + STAGES - 1) * TILE, hi);
        asm volatile("cp.async.commit_group;");
        const __half* sk = reinterpret_cast<const __half*>(ring + it % STAGES * 2 * TILE_BYTES);
        const __half* sv = sk + TILE * DIM;
        float s = 0.f;
        for (int i = 0; i < DIM / 8; i++) {              // interleave quarters to spread over banks
            int col = 2 * (quarter + 4 * ((i + key) % (DIM / 8)));
            float2 f = __half22float2(*reinterpret_cast<const __half2*>(sk + key * DIM + col));
            s += f.x * sq[col] + f.y * sq[col + 1];
        }
        s += __shfl_xor_sync(0xffffffffu, s, 1);
        s += __shfl_xor_sync(0xffffffffu, s, 2);
        if (quarter == 0) sp[key] = lo + it * TILE + key < hi ? s : -1e30f;
        __syncthreads();
        float top = m;
        for (int j = 0; j < TILE; j++) top = fmaxf(top, sp[j]);
        float a = exp2f(m - top);
        l *= a; acc *= a;
        for (int j = vg; j < TILE; j += vgroups) {
            float p = sp[j] > -1e29f ? exp2f(sp[j] - top) : 0.f;
            l += p;
            acc += p * __half2float(sv[j * DIM + d]);
        }
        m = top;
    }
    const int slots = gridDim.x * vgroups;
    const int slot = head * slots + blockIdx.x * vgroups + vg;
    part[(size_t)slot * DIM + d] = acc;
    if (d == 0) { stats[2 * slot] = m; stats[2 * slot + 1] = l; }
    __threadfence();
    __syncthreads();
    if (tid == 0) last = atomicAdd(tickets + head, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last || tid >= DIM) return;
    __threadfence();
    float top = -1e30f, num = 0.f, den = 0.f;
    for (int s = 0; s < slots; s++) top = fmaxf(top, __ldcg(stats + 2 * (head * slots + s)));
    for (int s = 0; s < slots; s++) {
        float w = exp2f(__ldcg(stats + 2 * (head * slots + s)) - top);
        den += w * __ldcg(stats + 2 * (head * slots + s) + 1);
        num += w * __ldcg(part + (size_t)(head * slots + s) * DIM + tid);
    }
    out[head * DIM + tid] = __float2half(num / den);
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = k.shape
    out = torch.empty_like(q)
    splits = max(1, min((length + 255) // 256, 528 // heads))
    per_split = ((length + splits - 1) // splits + 31) // 32 * 32
    splits = (length + per_split - 1) // per_split
    slots = splits * (128 // dim)
    part = torch.empty((heads, slots, dim), device=q.device, dtype=torch.float32)
    stats = torch.empty((heads, slots, 2), device=q.device, dtype=torch.float32)
    tickets = torch.zeros(heads, device=q.device, dtype=torch.int32)
    programs[dim].decode_pipeline(
        (splits, heads),
        (128,),
        (q, k, v, out, part, stats, tickets, length, per_split, dim**-0.5 * 1.44269504),
        4 * 2 * 32 * dim * 2,
    )
    return out
