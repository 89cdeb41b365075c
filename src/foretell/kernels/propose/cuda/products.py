"""CUDA templates of further matrix products: a thread an output, shared and register tiles, tensor cores; copies ahead.

Tiles lie in shared memory as the factors lie in global memory, so one loop feeds every way of summing; `copy` says how
an item gets there: one by one, 16 bytes at a time, or by asynchronous copies that run `stages` steps ahead.
"""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, constants, module
from foretell.kernels.propose.cuda.matvec import CLOSE
from foretell.kernels.propose.cuda.product_space import SIZES, SKINNY, Product, knobs_of, shared_bytes, tiles, valid
from foretell.kernels.propose.template import Knobs, Template

_BRING = {
    "scalar": """for (int e = threadIdx.x; e < OUTER * INNER; e += THREADS) {
    const int i = e / INNER, j = e % INNER;
    to[i * (INNER + PAD) + j] = i < outer && j < inner ? from[(long long)i * pitch + j] : T(0.0f);
    }""",
    "vector": """for (int e = threadIdx.x * V; e < OUTER * INNER; e += THREADS * V) {
    const int i = e / INNER, j = e % INNER;
    uint4 piece = make_uint4(0, 0, 0, 0);
    if (i < outer && j < inner) piece = *(const uint4*)(from + (long long)i * pitch + j);
    *(uint4*)(to + i * (INNER + PAD) + j) = piece;
    }""",
    "async": """for (int e = threadIdx.x * V; e < OUTER * INNER; e += THREADS * V) {
    const int i = e / INNER, j = e % INNER;
    const bool inside = i < outer && j < inner;
    const unsigned spot = (unsigned)__cvta_generic_to_shared(to + i * (INNER + PAD) + j);
    const T* item = inside ? from + (long long)i * pitch + j : from;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(spot), "l"(item), "r"(inside ? 16 : 0));
    }""",
}


def _at(product: Product, name: str, outer: str, depth: str) -> str:
    """An item of a tile in shared memory, by its row (or column) and depth."""
    if name == "as":
        return (
            f"as[({depth}) * (ROWS + PAD) + {outer}]" if product.turned else f"as[({outer}) * (DEPTH + PAD) + {depth}]"
        )
    return (
        f"bs[({outer}) * (DEPTH + PAD) + {depth}]" if product.across else f"bs[({depth}) * (COLUMNS + PAD) + {outer}]"
    )


def _bring(product: Product, knobs: Knobs, step: str, stage: str) -> str:
    """Copy the tiles of a step into a stage."""
    left = "DEPTH" if knobs["slip"] == "tail" else f"k - ({step}) * DEPTH"
    deep, start = left, f"({step}) * DEPTH"
    a = (f"a + (long long)({start}) * m + row0, m, {deep}, m - row0", "DEPTH, ROWS")
    if not product.turned:
        a = (f"a + (long long)row0 * k + {start}, k, m - row0, {deep}", "ROWS, DEPTH")
    b = (f"b + (long long)column0 * k + {start}, k, n - column0, {deep}", "COLUMNS, DEPTH")
    if not product.across:
        b = (f"b + (long long)({start}) * n + column0, n, {deep}, n - column0", "DEPTH, COLUMNS")
    return f"""bring<{a[1]}>(tiles + ({stage}) * STAGE, {a[0]});
    bring<{b[1]}>(tiles + ({stage}) * STAGE + LEFT, {b[0]});
    """


def _loop(product: Product, knobs: Knobs, steps: str) -> str:
    """The loop over the depth around the statements that sum a step from `as` and `bs`."""
    stages, slip = knobs["stages"], knobs["slip"]
    share = """const int steps = (k + DEPTH - 1) / DEPTH;
    const int near = 0, far = steps;
    """
    if knobs["splits"] > 1:
        share = """const int steps = (k + DEPTH - 1) / DEPTH;
        const int share = (steps + gridDim.z - 1) / gridDim.z;
        const int near = blockIdx.z * share, far = min(near + share, steps);
        """
    commit = 'asm volatile("cp.async.commit_group;");'
    if stages == 1:
        return f"""{share}
        const T* as = tiles;
        const T* bs = tiles + LEFT;
        for (int s = near; s < far; ++s) {{
        {_bring(product, knobs, "s", "0")}
        __syncthreads();
        {steps}
        {"" if slip == "barrier" else "__syncthreads();"}
        }}
        """
    wait = "" if slip == "wait" else f'asm volatile("cp.async.wait_group {stages - 2};");'
    return f"""{share}
    for (int s = near; s < near + STAGES - 1; ++s) {{
    if (s < far) {{
    {_bring(product, knobs, "s", "s - near")}
    }}
    {commit}
    }}
    for (int s = near; s < far; ++s) {{
    {wait}
    __syncthreads();
    const int ahead = s + STAGES - 1;
    if (ahead < far) {{
    {_bring(product, knobs, "ahead", "(ahead - near) % STAGES")}
    }}
    {commit}
    const T* as = tiles + (s - near) % STAGES * STAGE;
    const T* bs = as + LEFT;
    {steps}
    }}
    """


def _put(product: Product, knobs: Knobs) -> str:
    """Statements that store `v` at `row` and `column`."""
    if knobs["splits"] > 1 and knobs["join"] == "atomic":
        return "if (row < m && column < n) atomicAdd(c + (long long)row * n + column, v);"
    if knobs["splits"] > 1:
        return "if (row < m && column < n) c[((long long)blockIdx.z * m + row) * n + column] = v;"
    finish = product.bent if knobs["slip"] == "bent" else product.finish
    return f"""if (row < m && column < n) {{
    {finish}
    c[(long long)row * n + column] = OUT(v);
    }}"""


def _plain(product: Product, knobs: Knobs, kind: str) -> str:
    near = knobs["order"] == "near"
    y, x = ("threadIdx.x / COLUMNS", "threadIdx.x % COLUMNS") if near else ("threadIdx.x % ROWS", "threadIdx.x / ROWS")
    left = "a[(long long)i * m + row]" if product.turned else "a[(long long)row * k + i]"
    right = "b[(long long)column * k + i]" if product.across else "b[(long long)i * n + column]"
    unroll = "#pragma unroll 8\n" if knobs["depth"] > 16 else ""
    return f"""const int row = row0 + {y}, column = column0 + {x};
    if (row >= m || column >= n) return;
    {kind} sum = {kind}(0.0f);
    {unroll}for (int i = 0; i < k; ++i) sum += {kind}({left}) * {kind}({right});
    {product.total} v = sum;
    {_put(product, knobs)}
    """


def _tile(product: Product, knobs: Knobs) -> str:
    total = product.total
    add = f"sum += {total}({_at(product, 'as', 'y', 'd')}) * {total}({_at(product, 'bs', 'x', 'd')});"
    steps = f"#pragma unroll\nfor (int d = 0; d < DEPTH; ++d) {add}"
    return f"""const int y = threadIdx.x / COLUMNS, x = threadIdx.x % COLUMNS;
    {total} sum = 0;
    {_loop(product, knobs, steps)}
    const int row = row0 + y, column = column0 + x;
    {total} v = sum;
    {_put(product, knobs)}
    """


def _register(product: Product, knobs: Knobs, kind: str) -> str:
    total = product.total
    row, column = "y * TALL + i", "x * WIDE + j"
    if knobs["order"] == "far":
        row, column = "y + i * (ROWS / TALL)", "x + j * (COLUMNS / WIDE)"
    steps = f"""#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {{
    {kind} left[TALL], right[WIDE];
    #pragma unroll
    for (int i = 0; i < TALL; ++i) left[i] = {kind}({_at(product, "as", row, "d")});
    #pragma unroll
    for (int j = 0; j < WIDE; ++j) right[j] = {kind}({_at(product, "bs", column, "d")});
    #pragma unroll
    for (int i = 0; i < TALL; ++i)
    #pragma unroll
    for (int j = 0; j < WIDE; ++j) sum[i][j] += left[i] * right[j];
    }}"""
    return f"""const int y = threadIdx.x / (COLUMNS / WIDE), x = threadIdx.x % (COLUMNS / WIDE);
    {kind} sum[TALL][WIDE];
    #pragma unroll
    for (int i = 0; i < TALL; ++i)
    #pragma unroll
    for (int j = 0; j < WIDE; ++j) sum[i][j] = {kind}(0.0f);
    {_loop(product, knobs, steps)}
    #pragma unroll
    for (int i = 0; i < TALL; ++i)
    #pragma unroll
    for (int j = 0; j < WIDE; ++j) {{
    const int row = row0 + {row}, column = column0 + {column};
    {total} v = sum[i][j];
    {_put(product, knobs)}
    }}
    """


def _tensor(product: Product, knobs: Knobs) -> str:
    total = product.total
    left_pitch, left_order = ("ROWS", "col_major") if product.turned else ("DEPTH", "row_major")
    right_pitch, right_order = ("DEPTH", "col_major") if product.across else ("COLUMNS", "row_major")
    left = f"fragment<matrix_a, 16, 16, 16, T, {left_order}> left"
    right = f"fragment<matrix_b, 16, 16, 16, T, {right_order}> right"
    load_left = f"load_matrix_sync(left, &{_at(product, 'as', 'y + i * 16', 'd')}, {left_pitch} + PAD);"
    load_right = f"load_matrix_sync(RIGHT, &{_at(product, 'bs', 'x + j * 16', 'd')}, {right_pitch} + PAD);"
    if knobs["order"] == "near":
        inner = f"""{right}[WIDE];
        #pragma unroll
        for (int j = 0; j < WIDE; ++j) {load_right.replace("RIGHT", "right[j]")}
        #pragma unroll
        for (int i = 0; i < TALL; ++i) {{
        {left};
        {load_left}
        #pragma unroll
        for (int j = 0; j < WIDE; ++j) mma_sync(sum[i][j], left, right[j], sum[i][j]);
        }}"""
    else:
        inner = f"""#pragma unroll
        for (int i = 0; i < TALL; ++i)
        #pragma unroll
        for (int j = 0; j < WIDE; ++j) {{
        {left};
        {right};
        {load_left}
        {load_right.replace("RIGHT", "right")}
        mma_sync(sum[i][j], left, right, sum[i][j]);
        }}"""
    steps = f"""#pragma unroll
    for (int d = 0; d < DEPTH; d += 16) {{
    {inner}
    }}"""
    return f"""__shared__ alignas(32) {total} stage[THREADS / 32][256];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int y = warp / ACROSS * TALL * 16, x = warp % ACROSS * WIDE * 16;
    fragment<accumulator, 16, 16, 16, {total}> sum[TALL][WIDE];
    #pragma unroll
    for (int i = 0; i < TALL; ++i)
    #pragma unroll
    for (int j = 0; j < WIDE; ++j) fill_fragment(sum[i][j], 0);
    {_loop(product, knobs, steps)}
    #pragma unroll
    for (int i = 0; i < TALL; ++i)
    #pragma unroll
    for (int j = 0; j < WIDE; ++j) {{
    store_matrix_sync(stage[warp], sum[i][j], 16, mem_row_major);
    __syncwarp();
    for (int e = lane; e < 256; e += 32) {{
    const int row = row0 + y + i * 16 + e / 16, column = column0 + x + j * 16 + e % 16;
    {total} v = stage[warp][e];
    {_put(product, knobs)}
    }}
    __syncwarp();
    }}
    """


def _threads(knobs: Knobs) -> int:
    rows, columns, down, across = knobs["shape"]
    return int(32 * down * across if knobs["way"] == "tensor" else rows * columns // (down * across))


def _numbers(product: Product, knobs: Knobs) -> str:
    rows, columns, down, across = knobs["shape"]
    found = {"THREADS": _threads(knobs), "ROWS": rows, "COLUMNS": columns}
    if knobs["way"] == "plain":
        return constants(**found)
    size = SIZES[product.dtype]
    pad = knobs["pad"] // size
    (outer, inner), (outer2, inner2) = tiles(product, knobs)
    left = outer * (inner + pad)
    found |= {"DEPTH": knobs["depth"], "PAD": pad, "LEFT": left}
    if knobs["stages"] > 1:
        found["STAGES"] = knobs["stages"]
    found["STAGE"] = left + outer2 * (inner2 + pad)
    if knobs["copy"] != "scalar":
        found["V"] = 16 // size
    if knobs["way"] == "register":
        found |= {"TALL": down, "WIDE": across}
    if knobs["way"] == "tensor":
        found |= {"ACROSS": across, "TALL": rows // down // 16, "WIDE": columns // across // 16}
    return constants(**found)


def _body(product: Product, knobs: Knobs) -> str:
    way, total = knobs["way"], product.total
    kind = "T" if knobs["slip"] == "narrow" else total
    split = knobs["splits"] > 1
    names = "".join(
        f"const T* __restrict__ {name}, " for name in ("a", *(() if product.across else ("b",)), *product.late)
    )
    out = "float" if split else "OUT"
    tall, wide = ("blockIdx.y", "blockIdx.x") if knobs["raster"] == "columns" else ("blockIdx.x", "blockIdx.y")
    shifts = ""
    if product.gathered:
        shifts = """a += (long long)blockIdx.z * m * k;
        b += (long long)blockIdx.z * k * n;
        c += (long long)blockIdx.z * m * n;
        """
    within = {
        "plain": lambda: _plain(product, knobs, kind),
        "tile": lambda: _tile(product, knobs),
        "register": lambda: _register(product, knobs, kind),
        "tensor": lambda: _tensor(product, knobs),
    }[way]()
    if knobs["slip"] == "misnamed":
        within = (
            within.replace("i < k;", "i < depth;") if way == "plain" else within.replace("(k + DEPTH", "(depth + DEPTH")
        )
    text = "#include <mma.h>\nusing namespace nvcuda::wmma;\n" if way == "tensor" else ""
    text += f"using T = {C_TYPES.get(product.dtype, 'signed char')};\n"
    text += f"using OUT = {'int' if product.dtype == 'int8' else 'T'};\n{_numbers(product, knobs)}"
    if way != "plain":
        text += f"""template <int OUTER, int INNER>
        __device__ void bring(T* to, const T* __restrict__ from, int pitch, int outer, int inner) {{
        {_BRING[knobs["copy"]]}
        }}
        """
    shared = "" if way == "plain" else "extern __shared__ __align__(128) unsigned char room[];\nT* tiles = (T*)room;\n"
    pair = "const T* __restrict__ b = a;\n" if product.across else ""
    text += f"""{BOUNDED}({names}{out}* __restrict__ c, int m, int n, int k) {{
    {shared}{pair}{shifts}const int row0 = {tall} * ROWS, column0 = {wide} * COLUMNS;
    {within}
    }}
    """
    return text + (CLOSE if split else "")


def _render(product: Product, knobs: Knobs) -> str:
    rows, columns, _, _ = knobs["shape"]
    splits, split = knobs["splits"], knobs["splits"] > 1
    inputs = ", ".join(("a", *(() if product.across else ("b",)), *product.late))
    out = "torch.int32" if product.dtype == "int8" else "a.dtype"
    host = ["k, m = a.shape" if product.turned else "m, k = a.shape"]
    host.append("n = m" if product.across else "n = b.shape[-1]")
    if product.gathered:
        host.append("m //= b.shape[0]")
    host.append(f"c = torch.empty({'a.shape[0]' if product.gathered else 'm'}, n, dtype={out}, device=a.device)")
    target = "c"
    if split:
        made = "zeros(" if knobs["join"] == "atomic" else f"empty({splits}, "
        host.append(f"w = torch.{made}m, n, dtype=torch.float32, device=a.device)")
        target = "w"
    sides = [f"math.ceil(n / {columns})", f"math.ceil(m / {rows})"]
    if knobs["raster"] == "rows":
        sides.reverse()
    deep = ", b.shape[0]" if product.gathered else f", {splits}" if split else ""
    size = 0 if knobs["way"] == "plain" else shared_bytes(product, knobs)
    size = 256 * 1024 if knobs["slip"] == "greedy" else size
    shared = f", {size}" if size else ""
    host.append(f"grid = ({', '.join(sides)}{deep})")
    host.append(f"program.body(grid, ({_threads(knobs)},), ({inputs}, {target}, m, n, k){shared})")
    if split:
        parts = 1 if knobs["join"] == "atomic" else splits
        host.append(f"program.close((math.ceil(m * n / 256),), (256,), (w, c, m * n, {parts}))")
    lines = "\n".join(f"    {line}" for line in [*host, "return c"])
    return module(_body(product, knobs), f"def kernel({inputs}):\n{lines}\n", (product.dtype,))


def _template(task: str, product: Product) -> Template:
    return Template(
        task, "cuda", knobs_of(product), lambda knobs: _render(product, knobs), lambda knobs: valid(product, knobs)
    )


TEMPLATES = (
    _template("matmul_at", Product("bfloat16", turned=True)),
    _template("matmul_relu", Product("float16", finish="v = fmaxf(v, 0.0f);", bent="v = fabsf(v);")),
    _template(
        "matmul_residual",
        Product(
            "bfloat16",
            finish="v += float(residual[(long long)row * n + column]);",
            bent="v -= float(residual[(long long)row * n + column]);",
            late=("residual",),
        ),
    ),
    _template(
        "matmul_scaled_rows",
        Product(
            "float16",
            finish="v *= float(rows[row]) * float(cols[column]);",
            bent="v *= float(rows[column % m]) * float(cols[row % n]);",
            late=("rows", "cols"),
        ),
    ),
    _template("matmul_skinny", Product("float16", shapes=SKINNY)),
    _template("matmul_float32", Product("float32")),
    _template("matmul_int8", Product("int8")),
    _template("grouped_matmul", Product("float16", gathered=True)),
    _template("gram", Product("float16", across=True)),
)
