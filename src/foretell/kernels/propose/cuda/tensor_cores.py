"""The matmul on tensor cores: warps hold 16 x 16 fragments, fed from tiles in shared memory."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import constants
from foretell.kernels.propose.template import Knobs

# Warps of a block as rows x columns of the output tile.
_ARRANGED = {1: (1, 1), 2: (2, 1), 4: (2, 2), 8: (4, 2)}


def sides(knobs: Knobs) -> tuple[int, int]:
    """The two numbers of a knob such as `64x4`."""
    first, second = str(knobs["shape"]).split("x")
    return int(first), int(second)


def tensor_core_body(knobs: Knobs, head: str, fills: str) -> str:
    """CUDA text; `order` says whether a warp's fragments of b are loaded once for all rows or row by row."""
    side, warps = sides(knobs)
    down, across = _ARRANGED[warps]
    numbers = constants(
        THREADS=32 * warps, ROWS=side, COLUMNS=side, DEPTH=knobs["depth"], PAD=knobs["pad"],
        ACROSS=across, TALL=side // down // 16, WIDE=side // across // 16,
    )  # fmt: skip
    load_a = "load_matrix_sync(left, &as[y + i * 16][d], DEPTH + PAD);"
    load_b = "load_matrix_sync(right[j], &bs[d][x + j * 16], COLUMNS + PAD);"
    if knobs["order"] == "columns":
        steps = f"""fragment<matrix_b, 16, 16, 16, __half, row_major> right[WIDE];
        #pragma unroll
        for (int j = 0; j < WIDE; ++j) {load_b}
        #pragma unroll
        for (int i = 0; i < TALL; ++i) {{
        fragment<matrix_a, 16, 16, 16, __half, row_major> left;
        {load_a}
        #pragma unroll
        for (int j = 0; j < WIDE; ++j) mma_sync(sum[i][j], left, right[j], sum[i][j]);
        }}"""
    else:
        steps = f"""#pragma unroll
        for (int i = 0; i < TALL; ++i) {{
        fragment<matrix_a, 16, 16, 16, __half, row_major> left;
        {load_a}
        #pragma unroll
        for (int j = 0; j < WIDE; ++j) {{
        fragment<matrix_b, 16, 16, 16, __half, row_major> right;
        {load_b.replace("right[j]", "right")}
        mma_sync(sum[i][j], left, right, sum[i][j]);
        }}
        }}"""
    return f"""#include <mma.h>
    using namespace nvcuda::wmma;
    {numbers}
    {head} {{
    __shared__ alignas(32) __half as[ROWS][DEPTH + PAD];
    __shared__ alignas(32) __half bs[DEPTH][COLUMNS + PAD];
    __shared__ alignas(32) float stage[THREADS / 32][256];
    const int row0 = blockIdx.y * ROWS, column0 = blockIdx.x * COLUMNS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int y = warp / ACROSS * TALL * 16, x = warp % ACROSS * WIDE * 16;
    fragment<accumulator, 16, 16, 16, float> sum[TALL][WIDE];
    for (int i = 0; i < TALL; ++i)
    for (int j = 0; j < WIDE; ++j) fill_fragment(sum[i][j], 0.0f);
    for (int from = 0; from < k; from += DEPTH) {{
    {fills}
    __syncthreads();
    #pragma unroll
    for (int d = 0; d < DEPTH; d += 16) {{
    {steps}
    }}
    {"" if knobs["slip"] == "barrier" else "__syncthreads();"}
    }}
    #pragma unroll
    for (int i = 0; i < TALL; ++i)
    #pragma unroll
    for (int j = 0; j < WIDE; ++j) {{
    store_matrix_sync(stage[warp], sum[i][j], 16, mem_row_major);
    __syncwarp();
    for (int e = lane; e < 256; e += 32) {{
    const int row = row0 + y + i * 16 + e / 16, column = column0 + x + j * 16 + e % 16;
    if (row < m && column < n) c[(long long)row * n + column] = __half(stage[warp][e]);
    }}
    __syncwarp();
    }}
    }}
    """
