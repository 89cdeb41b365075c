import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

__device__ __forceinline__ float power2(float v) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

constexpr float LOG2E = 1.4426950408889634f;

// top and sum of powers so far (in units of log2), and the plain sum
struct State { float top, sum, plain; };

__device__ __forceinline__ void join(State& s, float top, float sum, float plain) {
    const float m = fmaxf(s.top, top);
    s.sum = s.sum * power2(s.top - m) + sum * power2(top - m);
    s.top = m;
    s.plain += plain;
}

template <int N> __device__ __forceinline__ void take(State& s, const float4* v) {
    float m = s.top;
    #pragma unroll
    for (int j = 0; j < N; ++j) m = fmaxf(m, fmaxf(fmaxf(v[j].x, v[j].y), fmaxf(v[j].z, v[j].w)) * LOG2E);
    float sum = s.sum * power2(s.top - m), plain = 0.0f;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        plain += (v[j].x + v[j].y) + (v[j].z + v[j].w);
        sum += (power2(v[j].x * LOG2E - m) + power2(v[j].y * LOG2E - m)) + (power2(v[j].z * LOG2E - m) + power2(v[j].w * LOG2E - m));
    }
    s.top = m; s.sum = sum; s.plain += plain;
}

__device__ __forceinline__ void take1(State& s, float x) {
    join(s, x * LOG2E, 1.0f, x);
}

template <int THREADS> __device__ __forceinline__ void across(State& s) {
    __shared__ float room[3][THREADS / 32];
    #pragma unroll
    for (int o = 16; o; o >>= 1)
        join(s, __shfl_xor_sync(~0u, s.top, o), __shfl_xor_sync(~0u, s.sum, o), __shfl_xor_sync(~0u, s.plain, o));
    const int warp = threadIdx.x >> 5;
    if ((threadIdx.x & 31) == 0) { room[0][warp] = s.top; room[1][warp] = s.sum; room[2][warp] = s.plain; }
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < THREADS / 32; ++w) join(s, room[0][w], room[1][w], room[2][w]);
}

// a row, all of it by one block; UNROLL vectors a thread and step
template <int THREADS, int UNROLL>
__device__ __forceinline__ State whole_row(const float* __restrict__ row, int vocabulary) {
    State s = {-1e30f, 0.0f, 0.0f};
    if (vocabulary % 4 == 0) {
        const float4* from = reinterpret_cast<const float4*>(row);
        const int vectors = vocabulary / 4;
        int i = threadIdx.x;
        for (; i + (UNROLL - 1) * THREADS < vectors; i += UNROLL * THREADS) {
            float4 v[UNROLL];
            #pragma unroll
            for (int j = 0; j < UNROLL; ++j) v[j] = __ldcs(from + i + j * THREADS);
            take<UNROLL>(s, v);
        }
        for (; i < vectors; i += THREADS) {
            const float4 v = __ldcs(from + i);
            take<1>(s, &v);
        }
    } else {
        for (int i = threadIdx.x; i < vocabulary; i += THREADS) take1(s, row[i]);
    }
    across<THREADS>(s);
    return s;
}

// what a row adds: its loss (none where the target is ignored), its squared log-partition, whether it counts
__device__ __forceinline__ float4 row_terms(const State& s, const float* row, long long target, int vocabulary, float smoothing) {
    const float lse = (s.top + log2f(s.sum)) * 0.6931471805599453f;
    const bool counts = target != -100;
    const float loss = counts ? lse - (1.0f - smoothing) * row[target] - smoothing * s.plain / vocabulary : 0.0f;
    return make_float4(loss, lse * lse, counts ? 1.0f : 0.0f, 0.0f);
}

// the last block to finish adds up the rows: no second launch
template <int THREADS, int UNROLL>
__global__ void __launch_bounds__(THREADS) rows_and_total(const float* __restrict__ logits, const long long* __restrict__ target,
        float4* terms, unsigned* done, float* __restrict__ out, int vocabulary, float smoothing, float z_weight) {
    __shared__ bool last;
    __shared__ float room[3][THREADS / 32];
    const float* row = logits + (long long)blockIdx.x * vocabulary;
    const State s = whole_row<THREADS, UNROLL>(row, vocabulary);
    const int tokens = gridDim.x;
    if (threadIdx.x == 0) {
        terms[blockIdx.x] = row_terms(s, row, target[blockIdx.x], vocabulary, smoothing);
        __threadfence();
        last = atomicAdd(done, 1u) == tokens - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float a = 0.0f, b = 0.0f, c = 0.0f;
    for (int i = threadIdx.x; i < tokens; i += THREADS) { const float4 t = __ldcg(terms + i); a += t.x; b += t.y; c += t.z; }
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (int o = 16; o; o >>= 1) { a += __shfl_xor_sync(~0u, a, o); b += __shfl_xor_sync(~0u, b, o); c += __shfl_xor_sync(~0u, c, o); }
    if (lane == 0) { room[0][warp] = a; room[1][warp] = b; room[2][warp] = c; }
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < THREADS / 32; ++w) { a += room[0][w]; b += room[1][w]; c += room[2][w]; }
    out[0] = a / c + z_weight * b / tokens;
}

torch::Tensor smoothed(torch::Tensor logits, torch::Tensor target, double smoothing, double z_weight) {
    const int tokens = logits.size(0), vocabulary = logits.size(1);
    auto out = torch::empty({}, logits.options());
    auto terms = torch::empty({tokens, 4}, logits.options());
    auto stream = c10::cuda::getCurrentCUDAStream();
    const float* l = logits.data_ptr<float>();
    const long long* t = reinterpret_cast<const long long*>(target.data_ptr<int64_t>());
    float4* room = reinterpret_cast<float4*>(terms.data_ptr<float>());
    auto done = torch::zeros({1}, target.options().dtype(torch::kInt32));
    rows_and_total<256, 8><<<tokens, 256, 0, stream>>>(l, t, room, reinterpret_cast<unsigned*>(done.data_ptr<int>()),
        out.data_ptr<float>(), vocabulary, (float)smoothing, (float)z_weight);
    return out;
}
"""

module = load_inline(
    name="smoothed_r1_2",
    cpp_sources="torch::Tensor smoothed(torch::Tensor logits, torch::Tensor target, double smoothing, double z_weight);",
    cuda_sources=SOURCE,
    functions=["smoothed"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, smoothing, z_weight):
        super().__init__()
        self.smoothing = smoothing
        self.z_weight = z_weight

    def forward(self, logits, target):
        return module.smoothed(logits.contiguous(), target.contiguous(), self.smoothing, self.z_weight)
