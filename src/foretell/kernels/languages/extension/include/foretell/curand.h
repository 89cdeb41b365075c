// Random numbers in kernels, for toolkits without cuRAND: Philox 4x32-10 (Salmon et al. 2011) under cuRAND's names.
//
// Philox states give the numbers that cuRAND gives. The default generator is Philox here too, where cuRAND has another.
#pragma once

#include <cuda_runtime.h>

struct curandStatePhilox4_32_10 {
  uint4 counter;
  uint4 output;
  uint2 key;
  unsigned used;  // numbers of `output` that were handed out
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef curandStatePhilox4_32_10 curandState;
typedef curandStatePhilox4_32_10 curandState_t;
typedef curandStatePhilox4_32_10 curandStateXORWOW_t;

static __device__ __forceinline__ uint4 foretell_philox(uint4 c, uint2 k) {
  for (int round = 0; round < 10; ++round) {
    const unsigned low0 = 0xD2511F53u * c.x, high0 = __umulhi(0xD2511F53u, c.x);
    const unsigned low1 = 0xCD9E8D57u * c.z, high1 = __umulhi(0xCD9E8D57u, c.z);
    c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
    k.x += 0x9E3779B9u;
    k.y += 0xBB67AE85u;
  }
  return c;
}
static __device__ __forceinline__ void foretell_advance(curandState* s, unsigned long long steps) {
  const unsigned low = static_cast<unsigned>(steps);
  unsigned high = static_cast<unsigned>(steps >> 32);
  s->counter.x += low;
  if (s->counter.x < low) ++high;
  s->counter.y += high;
  if (high != 0 && s->counter.y < high && ++s->counter.z == 0) ++s->counter.w;
  s->output = foretell_philox(s->counter, s->key);
}
static __device__ __forceinline__ void curand_init(unsigned long long seed, unsigned long long sequence,
                                                   unsigned long long offset, curandState* s) {
  s->key = make_uint2(static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32));
  s->counter = make_uint4(0, 0, static_cast<unsigned>(sequence), static_cast<unsigned>(sequence >> 32));
  s->used = static_cast<unsigned>(offset & 3);
  foretell_advance(s, offset / 4);
}
static __device__ __forceinline__ unsigned curand(curandState* s) {
  const unsigned place = s->used;
  const unsigned value = place == 0 ? s->output.x : place == 1 ? s->output.y : place == 2 ? s->output.z : s->output.w;
  if (++s->used == 4) {
    s->used = 0;
    foretell_advance(s, 1);
  }
  return value;
}
static __device__ __forceinline__ uint4 curand4(curandState* s) {
  const unsigned a = curand(s), b = curand(s), c = curand(s), d = curand(s);
  return make_uint4(a, b, c, d);
}
static __device__ __forceinline__ float foretell_unit(unsigned x) { return x * 2.3283064e-10f + 1.1641532e-10f; }
static __device__ __forceinline__ float curand_uniform(curandState* s) { return foretell_unit(curand(s)); }
static __device__ __forceinline__ float4 curand_uniform4(curandState* s) {
  const uint4 x = curand4(s);
  return make_float4(foretell_unit(x.x), foretell_unit(x.y), foretell_unit(x.z), foretell_unit(x.w));
}
static __device__ __forceinline__ float2 curand_normal2(curandState* s) {
  const float radius = sqrtf(-2.0f * logf(curand_uniform(s)));
  float sine, cosine;
  sincospif(2.0f * curand_uniform(s), &sine, &cosine);
  return make_float2(radius * sine, radius * cosine);
}
static __device__ __forceinline__ float curand_normal(curandState* s) { return curand_normal2(s).x; }
static __device__ __forceinline__ float4 curand_normal4(curandState* s) {
  const float2 a = curand_normal2(s), b = curand_normal2(s);
  return make_float4(a.x, a.y, b.x, b.y);
}
static __device__ __forceinline__ double curand_uniform_double(curandState* s) {
  const unsigned long long low = curand(s), high = curand(s);
  return ((high << 21) ^ low) * 1.1102230246251565e-16 + 5.551115123125783e-17;
}
