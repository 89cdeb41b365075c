"""Launches of real CUDA C++ against numpy: warps, shared memory, barriers, atomics, matrices, and what goes wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell.kernels.emulate.machine import TooLong
from foretell.kernels.emulate.memory import Fault
from foretell.kernels.emulate.values import NotEmulated
from tests.kernels.emulate.launching import execute, ptx_of

RNG = np.random.default_rng(7)


def test_warps_shuffle_vote_match_and_reduce() -> None:
    """80 threads: the last warp is half full."""
    source = r"""
    extern "C" __global__ void k(const int* in, int* out) {
        int t = threadIdx.x, v = in[t];
        unsigned mask = __activemask();
        int up = __shfl_up_sync(mask, v, 3), down = __shfl_down_sync(mask, v, 5, 16);
        int across = __shfl_xor_sync(mask, v, 7), from = __shfl_sync(mask, v, t + 1, 8);
        unsigned some = __ballot_sync(mask, v > 0), same = __match_any_sync(mask, v & 3);
        int all = __all_sync(mask, v > -100), any = __any_sync(mask, v > 100);
        int sum = __reduce_add_sync(mask, v);
        int* o = out + 9 * t;
        o[0] = up; o[1] = down; o[2] = across; o[3] = from; o[4] = some; o[5] = same;
        o[6] = all; o[7] = any; o[8] = sum;
    }"""
    values = RNG.integers(-10, 10, 80).astype(np.int32)
    out = np.zeros((80, 9), np.int32)
    execute(ptx_of(source), "k", 1, 80, values, out)
    for t in range(80):
        first, lane = t // 32 * 32, t % 32
        warp = values[first : min(first + 32, 80)]

        def at(source: int, own: int = t, warp: Any = warp) -> int | None:
            return int(warp[source]) if source < len(warp) else None

        expected = [
            at(lane - 3 if lane >= 3 else lane),
            at(lane + 5 if lane % 16 + 5 < 16 else lane),
            at(lane ^ 7),
            at(lane // 8 * 8 + (t + 1) % 8),
            sum(1 << i for i, v in enumerate(warp) if v > 0),
            sum(1 << i for i, v in enumerate(warp) if v & 3 == warp[lane] & 3),
            1,
            0,
            int(warp.sum()),
        ]
        found = [int(value) & 0xFFFFFFFF for value in out[t]]
        assert found == [f if e is None else e & 0xFFFFFFFF for e, f in zip(expected, found, strict=True)], t


def test_a_scan_by_shared_memory_and_barriers() -> None:
    source = r"""
    extern "C" __global__ void k(const float* in, float* out, int n) {
        extern __shared__ float room[];
        __shared__ float sums[8];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        float v = i < n ? in[i] : 0.f;
        for (int d = 1; d < 32; d *= 2) { float o = __shfl_up_sync(~0u, v, d); if (t % 32 >= d) v += o; }
        if (t % 32 == 31) sums[t / 32] = v;
        __syncthreads();
        if (t < 8) { float s = 0; for (int k = 0; k < t; ++k) s += sums[k]; room[t] = s; }
        __syncthreads();
        if (i < n) out[i] = v + room[t / 32];
    }"""
    values = RNG.standard_normal(1000).astype(np.float32)
    out = np.full(1000, np.nan, np.float32)
    execute(ptx_of(source), "k", 4, 256, values, out, np.int32(1000), shared=32)
    padded = np.append(values, np.zeros(24, np.float32)).reshape(4, 256)
    np.testing.assert_allclose(out, np.cumsum(padded, axis=1).reshape(-1)[:1000], rtol=1e-4, atol=1e-4)


def test_lanes_that_part_meet_again_and_local_memory_is_theirs() -> None:
    source = r"""
    extern "C" __global__ void k(const int* in, int* out) {
        int t = threadIdx.x + blockIdx.x * blockDim.x, steps = 0, room[16];
        unsigned v = in[t];
        for (int k = 0; k < 16; ++k) room[k] = v * k;
        while (v != 1) { v = v % 2 ? 3 * v + 1 : v / 2; ++steps; if (steps > 200) break; }
        switch (steps % 3) { case 0: steps += room[v % 16]; break; case 1: steps -= room[(v + t) % 16]; break; }
        out[t] = steps + __popc(__ballot_sync(~0u, 1));
    }"""
    values = RNG.integers(1, 100, 192).astype(np.int32)
    out = np.zeros(192, np.int32)
    execute(ptx_of(source), "k", 3, 64, values, out)
    for t, start in enumerate(values.tolist()):
        v, steps = start, 0
        while v != 1:
            v, steps = 3 * v + 1 if v % 2 else v // 2, steps + 1
            if steps > 200:
                break
        if steps % 3 == 0:
            steps += start * (v % 16)
        elif steps % 3 == 1:
            steps -= start * ((v + t) % 16)
        assert out[t] == steps + 32


def test_atomics_count_each_lane_once() -> None:
    source = r"""
    #include <cuda_fp16.h>
    extern "C" __global__ void k(
        const int* in, int* bins, float* sum, int* order, unsigned long long* best, int* lock) {
        int t = threadIdx.x + blockIdx.x * blockDim.x;
        __shared__ int local[4];
        if (threadIdx.x < 4) local[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(&local[in[t] % 4], 1);
        __syncthreads();
        if (threadIdx.x < 4) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
        atomicAdd(sum, 0.5f * in[t]);
        order[atomicAdd(&bins[4], 1)] = t;
        atomicMax(best, ((unsigned long long)in[t] << 32) | t);
        atomicCAS(lock, 0, t + 1);
    }"""
    values = RNG.integers(0, 1000, 512).astype(np.int32)
    bins, total, order = np.zeros(5, np.int32), np.zeros(1, np.float32), np.full(512, -1, np.int32)
    best, lock = np.zeros(1, np.uint64), np.zeros(1, np.int32)
    execute(ptx_of(source), "k", 4, 128, values, bins, total, order, best, lock)
    assert bins.tolist() == [*np.bincount(values % 4, minlength=4).tolist(), 512]
    assert total[0] == pytest.approx(values.sum() / 2, rel=1e-5)
    assert sorted(order.tolist()) == list(range(512))
    assert best[0] >> np.uint64(32) == values.max() and lock[0] > 0


def test_blocks_that_wait_for_each_other() -> None:
    """A barrier over the grid, by spinning: all blocks are in one batch, and those that spin do not starve others."""
    source = r"""
    extern "C" __global__ void k(int* counter, int* out) {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(counter, 1);
            while (atomicAdd(counter, 0) < gridDim.x) {}
        }
        __syncthreads();
        out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile int*)counter;
    }"""
    counter, out = np.zeros(1, np.int32), np.zeros(8 * 40, np.int32)
    execute(ptx_of(source), "k", 8, 40, counter, out, cooperative=True)
    assert (out == 8).all()


def test_earlier_batches_are_seen_by_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.kernels.emulate.module.MOST_LANES", 64)
    source = r"""
    extern "C" __global__ void k(int* last, int* out) {
        if (threadIdx.x == 0) { out[blockIdx.x] = *last; *last = blockIdx.x + 1; }
    }"""
    last, out = np.zeros(1, np.int32), np.zeros(12, np.int32)
    execute(ptx_of(source), "k", (3, 2, 2), 64, last, out)
    assert last[0] > 0 and out.max() > 0


MMA = r"""
extern "C" __global__ void k(const REG* a, const REG* b, const DREG* c, DREG* d) {
    int t = threadIdx.x;
    DREG o[ND];
    asm volatile("mma.sync.aligned.SHAPE {OUTS}, {AS}, {BS}, {CS};" : OUT_LIST : IN_LIST);
    for (int i = 0; i < ND; ++i) d[t * ND + i] = o[i];
}"""


def _mma(shape: str, count_a: int, count_b: int, count_d: int, a: Any, b: Any, c: Any) -> Any:
    """One product by a warp whose fragments are given as registers (32, count)."""
    names = [f"%{i}" for i in range(2 * count_d + count_a + count_b)]
    d_names, rest = names[:count_d], names[count_d:]
    a_names, b_names, c_names = rest[:count_a], rest[count_a : count_a + count_b], rest[count_a + count_b :]
    is_float, constraint = c.dtype.kind == "f", "f" if c.dtype.kind == "f" else "r"
    inputs = [f'"r"(a[t * {count_a} + {i}])' for i in range(count_a)]
    inputs += [f'"r"(b[t * {count_b} + {i}])' for i in range(count_b)]
    inputs += [f'"{constraint}"(c[t * {count_d} + {i}])' for i in range(count_d)]
    source = MMA.replace("SHAPE", shape).replace("OUTS", "{" + ", ".join(d_names) + "}")
    source = source.replace("{{", "{{").replace("AS", "{" + ", ".join(a_names) + "}")
    source = source.replace("BS", "{" + ", ".join(b_names) + "}").replace("CS", "{" + ", ".join(c_names) + "}")
    source = source.replace("{{", "{").replace("}}", "}")
    source = source.replace("OUT_LIST", ", ".join(f'"={constraint}"(o[{i}])' for i in range(count_d)))
    source = source.replace("IN_LIST", ", ".join(inputs)).replace("DREG", "float" if is_float else "int")
    source = source.replace("REG", "unsigned").replace("ND", str(count_d))
    d = np.zeros_like(c)
    execute(ptx_of(source), "k", 1, 32, a, b, c, d)
    return d


def test_products_of_halves() -> None:
    """Fragments laid out by the ISA's own formulas for m16n8k16."""
    a, b = (RNG.standard_normal(shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    c = RNG.standard_normal((16, 8)).astype(np.float32)
    fa, fb, fc = np.zeros((32, 8), np.float16), np.zeros((32, 4), np.float16), np.zeros((32, 4), np.float32)
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            fa[lane, i] = a[row, member * 2 + (i & 1) + (8 if i >= 4 else 0)]
        for i in range(4):
            fb[lane, i] = b[member * 2 + (i & 1) + (8 if i >= 2 else 0), group]
            fc[lane, i] = c[group + (8 if i >= 2 else 0), member * 2 + (i & 1)]
    d = _mma("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, fa.view(np.uint32), fb.view(np.uint32), fc)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for i in range(4):
            assert d[lane, i] == pytest.approx(expected[group + (8 if i >= 2 else 0), member * 2 + (i & 1)], rel=1e-5)


def test_products_of_tf32_drop_the_last_bits() -> None:
    a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in ((16, 8), (8, 8)))
    fa, fb = np.zeros((32, 4), np.float32), np.zeros((32, 2), np.float32)
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        fa[lane] = [a[group, member], a[group + 8, member], a[group, member + 4], a[group + 8, member + 4]]
        fb[lane] = [b[member, group], b[member + 4, group]]
    c = np.zeros((32, 4), np.float32)
    d = _mma("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, fa.view(np.uint32), fb.view(np.uint32), c)
    cut = [(each.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for each in (a, b)]
    expected = cut[0] @ cut[1]
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        assert d[lane, 2] == pytest.approx(expected[group + 8, member * 2], rel=1e-5, abs=1e-6)


def test_products_of_bytes() -> None:
    a, b = RNG.integers(-128, 128, (16, 32)).astype(np.int8), RNG.integers(0, 256, (32, 8)).astype(np.uint8)
    fa, fb = np.zeros((32, 16), np.int8), np.zeros((32, 8), np.uint8)
    for lane in range(32):
        group, member = lane >> 2, lane & 3
        for i in range(16):
            row = group if i < 4 or 8 <= i < 12 else group + 8
            fa[lane, i] = a[row, member * 4 + (i & 3) + (16 if i >= 8 else 0)]
        for i in range(8):
            fb[lane, i] = b[member * 4 + (i & 3) + (16 if i >= 4 else 0), group]
    c = np.full((32, 4), 5, np.int32)
    d = _mma("m16n8k32.row.col.s32.s8.u8.s32", 4, 2, 4, fa.view(np.uint32), fb.view(np.uint32), c)
    expected = a.astype(np.int64) @ b.astype(np.int64) + 5
    assert d[9, 1] == expected[9 >> 2, (9 & 3) * 2 + 1] and d[30, 3] == expected[(30 >> 2) + 8, (30 & 3) * 2 + 1]


WMMA = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half* a, const half* b, float* c, int n) {
    __shared__ half room[256];
    for (int i = threadIdx.x; i < 256; i += 32) room[i] = a[i / 16 * n + i % 16];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fc, c, n, wmma::mem_row_major);
    wmma::load_matrix_sync(fa, room, 16);
    wmma::load_matrix_sync(fb, b, n);
    for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = __hmul(fa.x[i], __float2half(2.f));
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 0.5f;
    wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}"""


def test_wmma_fragments() -> None:
    a, b = (RNG.standard_normal((16, 24)).astype(np.float16) for _ in range(2))
    c = RNG.standard_normal((16, 24)).astype(np.float32)
    before = c.copy()
    execute(ptx_of(WMMA), "k", 1, 32, a, b, c, np.int32(24))
    left, right = a[:, :16].astype(np.float64), b[:, :16].astype(np.float64)
    np.testing.assert_allclose(c[:, :16], left @ right.T + before[:, :16] / 2, rtol=1e-4, atol=1e-5)
    assert (c[:, 16:] == before[:, 16:]).all()


def test_matrices_loaded_from_shared_memory_turned_or_not() -> None:
    source = r"""
    extern "C" __global__ void k(const unsigned short* in, unsigned* out) {
        __shared__ __align__(16) unsigned short room[4 * 64];
        int t = threadIdx.x;
        unsigned to = (unsigned)__cvta_generic_to_shared(room + 8 * t), r[4], s[2];
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + 8 * t));
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
        __syncthreads();
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(to));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(s[0]), "=r"(s[1]) : "r"(to));
        for (int i = 0; i < 4; ++i) out[6 * t + i] = r[i];
        out[6 * t + 4] = s[0]; out[6 * t + 5] = s[1];
    }"""
    matrices = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    out = np.zeros((32, 6), np.uint32)
    execute(ptx_of(source), "k", 1, 32, matrices, out)
    for lane in range(32):
        row, column = lane // 4, lane % 4 * 2
        for k in range(4):
            pair = matrices[k, row, column : column + 2].astype(np.uint32)
            assert out[lane, k] == pair[0] | pair[1] << 16
        turned = matrices[1, column : column + 2, row].astype(np.uint32)
        assert out[lane, 5] == turned[0] | turned[1] << 16


def test_a_copy_that_is_cut_short_is_filled_with_zeros() -> None:
    source = r"""
    extern "C" __global__ void k(const float* in, float* out, int n) {
        __shared__ __align__(16) float room[128];
        int t = threadIdx.x, bytes = max(0, min(16, (n - 4 * t) * 4));
        unsigned to = (unsigned)__cvta_generic_to_shared(room + 4 * t);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(in + 4 * t), "r"(bytes));
        asm volatile("cp.async.wait_all;");
        __syncthreads();
        for (int i = 0; i < 4; ++i) out[4 * t + i] = room[4 * t + i];
    }"""
    values, out = RNG.standard_normal(128).astype(np.float32), np.full(128, np.nan, np.float32)
    strays = execute(ptx_of(source), "k", 1, 32, values, out, np.int32(101))
    assert (out[:101] == values[:101]).all() and (out[101:] == 0).all() and not strays.loads


def test_constants_and_globals_of_a_module() -> None:
    source = r"""
    __constant__ float weights[3] = {1.5f, -2.f, 0.25f};
    __device__ int calls = 41;
    extern "C" __global__ void k(float* out) {
        if (threadIdx.x == 0) calls += 1;
        __syncthreads();
        out[threadIdx.x] = weights[threadIdx.x % 3] * calls;
    }"""
    out = np.zeros(6, np.float32)
    execute(ptx_of(source), "k", 1, 6, out)
    assert out.tolist() == [63.0, -84.0, 10.5] * 2


OUTSIDE = r"""
extern "C" __global__ void k(const float* in, float* out, long long at) {
    out[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 3) BODY;
}"""


def test_what_lies_outside_of_a_buffer() -> None:
    """Within the pages that an allocator gives nobody notices; beyond them it is counted; far away it is a fault."""
    values = np.arange(32, dtype=np.float32)

    def tried(body: str, at: int) -> Any:
        out = np.zeros(32, np.float32)
        strays = execute(ptx_of(OUTSIDE.replace("BODY", body)), "k", 1, 32, values, out, np.int64(at))
        return strays.loads, strays.stores, out

    assert tried("out[at] = 1.f", 40)[:2] == (0, 0)
    loads, _, out = tried("out[0] = in[at]", 140)
    assert loads == 1 and np.isnan(out[0])
    assert tried("out[at] = 1.f", 140)[:2] == (0, 1)
    for body, at in (("out[at] = 1.f", 1 << 40), ("out[at] = 1.f", -(1 << 34)), ("*(float*)at = 1.f", 0)):
        with pytest.raises(Fault, match="outside of"):
            tried(body, at)
    with pytest.raises(Fault, match="misaligned"):
        tried("*(float*)((char*)out + at) = 1.f", 2)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("__shared__ float s[4]; s[in * 1000] = 1.f; *out = s[0]", Fault, "shared memory"),
        ("__trap()", Fault, "traps"),
        ("while (*(volatile int*)out == 0) {}", TooLong, "instructions"),
        ('if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;")', Fault, "barriers"),
        ('asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(0))', NotEmulated, "mbarrier"),
        ('printf("%d", in)', NotEmulated, "call"),
    ],
)
def test_what_ends_a_kernel(body: str, kind: type[Exception], words: str) -> None:
    head = 'extern "C" __device__ int printf(const char*, ...);' if "printf" in body else ""
    source = f'{head} extern "C" __global__ void k(int* out, int in) {{ {body}; }}'
    with pytest.raises(kind, match=words):
        execute(ptx_of(source), "k", 1, 64, np.zeros(4, np.int32), np.int32(1), budget=1e6)


def test_a_thing_that_is_not_known_does_no_harm_where_nobody_goes() -> None:
    source = r"""
    extern "C" __global__ void k(int* out, int in) {
        if (in > 5) { __nanosleep(10); asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(in)); }
        out[threadIdx.x] = in;
    }"""
    out = np.zeros(32, np.int32)
    execute(ptx_of(source), "k", 1, 32, out, np.int32(3))
    assert (out == 3).all()
