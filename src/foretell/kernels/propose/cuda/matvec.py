"""CUDA templates of the products of a matrix and a vector: groups of threads along a row, or threads across columns."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, SUM, WARP, constants, fold, module
from foretell.kernels.propose.template import Knobs, Template

RESIDENT_BLOCKS = 528
_GROUPS = {"warp": WARP, "part": 8, "thread": 1}
# Adds up the parts of split sums.
CLOSE = """extern "C" __global__ void __launch_bounds__(256) close(const float* __restrict__ w, T* __restrict__ y,
int count, int parts) {
const int i = blockIdx.x * 256 + threadIdx.x;
if (i >= count) return;
float sum = 0.0f;
for (int p = 0; p < parts; ++p) sum += w[(long long)p * count + i];
y[i] = T(sum);
}
"""


@dataclass(frozen=True)
class _Rows:
    """A matrix times a vector, once or for a batch of them; vectors hold up to 16 bytes."""

    dtype: str
    widest: int
    batched: bool = False


def _row_knobs(rows: _Rows) -> dict[str, tuple[object, ...]]:
    return {
        "way": ("block", "warp", "part", "thread"),
        "threads": (256, 128, 512),
        "vector": tuple(v for v in (1, 2, 4, 8) if v <= rows.widest),
        "rows": (1, 2, 4),
        "keep": ("global", "shared"),
        "fold": ("shuffle", "twice", "tree", "atomic"),
        "grid": ("all", "resident"),
        "splits": (1, 4),
        "unroll": (1, 4),
        "slip": ("none", "misnamed", "narrow", "barrier", "reuse", "floor", "low", "greedy"),
    }


def _row_valid(rows: _Rows, knobs: Knobs) -> bool:
    way, threads, vector, fold_way = knobs["way"], knobs["threads"], knobs["vector"], knobs["fold"]
    packed = vector == rows.widest
    away = (knobs["keep"] != "global") + (knobs["grid"] != "all") + (knobs["splits"] > 1) + (knobs["unroll"] > 1)
    if way != "block" and fold_way != "shuffle":
        return False
    if fold_way != "shuffle" and not (away == 0 and threads == 256 and vector > 1 and knobs["rows"] < 4):
        return False
    if way == "thread" and (vector == 1 or knobs["rows"] > 1 or knobs["splits"] > 1 or threads == 512):
        return False
    if threads == 512 and (away or knobs["rows"] == 2):
        return False
    if knobs["splits"] > 1 and (
        threads != 256 or knobs["rows"] == 2 or way == "part" or (way == "block" and vector > 2)
    ):
        return False
    if away > 1 and not (away == 2 and knobs["splits"] == 1 and way in ("warp", "part") and packed and threads == 256):
        return False
    if away == 1 and (
        vector == 2 or (threads == 128 and not packed) or (knobs["keep"] == "shared" and way == "thread")
    ):
        return False
    return knobs["slip"] == "none" or _row_slips(knobs, packed, away)


def _row_slips(knobs: Knobs, packed: bool, away: int) -> bool:
    way, slip, threads = knobs["way"], knobs["slip"], knobs["threads"]
    if slip == "greedy":
        return bool(knobs["keep"] == "shared" and away == 1 and packed and knobs["rows"] == 1 and way != "thread")
    if away or not packed or threads == 512 or knobs["rows"] == 4:
        return False
    if slip in ("barrier", "reuse"):
        return bool(way == "block" and (knobs["fold"] != "shuffle") == (slip == "barrier") and knobs["rows"] == 2)
    if knobs["fold"] != "shuffle" or way == "thread":
        return False
    return bool(knobs["rows"] == 1 if slip in ("misnamed", "floor") else threads == 256)


def _group(knobs: Knobs) -> int:
    """Threads that share a row."""
    return _GROUPS.get(knobs["way"]) or int(knobs["threads"])


def _row_body(rows: _Rows, knobs: Knobs) -> str:
    """Text of the kernel: a group of threads sums `R` rows side by side."""
    slip, split = knobs["slip"], knobs["splits"] > 1
    group = _group(knobs)
    total = ("__half" if rows.dtype == "float32" else "T") if slip == "low" else "float"
    shared = knobs["keep"] == "shared"
    start, step = "lane * V", "GROUP * V"
    if split:
        start, step = "(blockIdx.z * GROUP + lane) * V", "GROUP * V * gridDim.z"
    stop = "k / (GROUP * V) * (GROUP * V)" if slip == "floor" else "k"
    piece = "" if shared else "const Pack<V> p = *(const Pack<V>*)(x + j);"
    factor = "kept[j + i]" if shared else "float(p.v[i])"
    unroll = "#pragma unroll 4\n" if knobs["unroll"] > 1 else ""
    put = "atomicAdd(y + row0 + r, whole);" if split else "y[row0 + r] = T(whole);"
    work = f"""const long long row0 = ((long long)tile * (THREADS / GROUP) + threadIdx.x / GROUP) * R;
    {total} sum[R];
    #pragma unroll
    for (int r = 0; r < R; ++r) sum[r] = 0.0f;
    {unroll}for (int j = {start}; j < {"length" if slip == "misnamed" else stop}; j += {step}) {{
    {piece}
    #pragma unroll
    for (int r = 0; r < R; ++r) {{
    if (row0 + r < m) {{
    const Pack<V> q = *(const Pack<V>*)(a + (row0 + r) * k + j);
    #pragma unroll
    for (int i = 0; i < V; ++i) sum[r] += {total}(float(q.v[i]) * {factor});
    }}
    }}
    }}
    #pragma unroll
    for (int r = 0; r < R; ++r) {{
    const float whole = fold_sum(float(sum[r]));
    if (lane == 0 && row0 + r < m) {put}
    }}
    """
    if knobs["grid"] == "resident":
        tiles = "const int tiles = (m + THREADS / GROUP * R - 1) / (THREADS / GROUP * R);"
        work = f"{tiles}\nfor (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {{\n{work}\n}}"
    else:
        work = f"const int tile = blockIdx.x;\n{work}"
    head = "const int lane = threadIdx.x % GROUP;\n"
    if rows.batched:
        head += (
            "a += (long long)blockIdx.y * m * k;\nx += (long long)blockIdx.y * k;\ny += (long long)blockIdx.y * m;\n"
        )
    if shared:
        head += """extern __shared__ float kept[];
        for (int j = threadIdx.x; j < k; j += THREADS) kept[j] = float(x[j]);
        __syncthreads();
        """
    text = f"using T = {C_TYPES[rows.dtype]};\n{PACK}"
    text += constants(THREADS=knobs["threads"], GROUP=group, V=knobs["vector"], R=knobs["rows"])
    text += fold(SUM, knobs["fold"], group, slip if slip in ("narrow", "barrier", "reuse") else "none")
    out = "float" if split else "T"
    text += f"""{BOUNDED}(const T* __restrict__ a, const T* __restrict__ x, {out}* __restrict__ y, int m, int k) {{
    {head}{work}
    }}
    """
    return text + (CLOSE if split else "")


def _row_render(rows: _Rows, knobs: Knobs) -> str:
    split = knobs["splits"] > 1
    group = _group(knobs)
    per_block = knobs["threads"] // group * knobs["rows"]
    across = f"math.ceil(m / {per_block})"
    if knobs["grid"] == "resident":
        across = f"min({RESIDENT_BLOCKS}, {across})"
    grid = f"({across}, {'a.shape[0]' if rows.batched else 1}, {knobs['splits']})"
    shared = ", 256 * 1024" if knobs["slip"] == "greedy" else ", k * 4" if knobs["keep"] == "shared" else ""
    host = [
        "m, k = a.shape[-2:]",
        f"y = torch.empty({'a.shape[0], m' if rows.batched else 'm'}, dtype=a.dtype, device=a.device)",
        "w = torch.zeros(y.numel(), dtype=torch.float32, device=a.device)" if split else "",
        f"program.body({grid}, ({knobs['threads']},), (a, x, {'w' if split else 'y'}, m, k){shared})",
        "program.close((math.ceil(y.numel() / 256),), (256,), (w, y, y.numel(), 1))" if split else "",
        "return y",
    ]
    lines = "\n".join(f"    {line}" for line in host if line)
    low = ("float16",) if knobs["slip"] == "low" else ()
    return module(_row_body(rows, knobs), f"def kernel(a, x):\n{lines}\n", (rows.dtype, *low))


_COLUMN_DTYPE = "bfloat16"
_COLUMN_KNOBS: dict[str, tuple[object, ...]] = {
    "way": ("direct", "atomic", "parts"),
    "shape": ((256, 1), (128, 1), (64, 4), (32, 8), (16, 16), (32, 16), (128, 4), (32, 32)),
    "vector": (1, 2, 4, 8),
    "splits": (1, 16, 64, 256),
    "share": ("side", "woven"),
    "merge": ("shared", "atomic"),
    "order": ("near", "far"),
    "unroll": (1, 4, 8),
    "slip": ("none", "misnamed", "barrier", "floor", "low", "empty"),
}


def _column_valid(knobs: Knobs) -> bool:
    way, (wide, tall), vector, splits = knobs["way"], knobs["shape"], knobs["vector"], knobs["splits"]
    if (way == "direct") != (splits == 1) or splits * tall * knobs["unroll"] < 64 or wide * vector > 1024:
        return False
    if tall == 1 and (knobs["merge"] != "shared" or knobs["order"] != "near"):
        return False
    away = (knobs["share"] != "side") + (knobs["merge"] != "shared") + (knobs["order"] != "near")
    if away > 1 or (splits == 1 and knobs["share"] != "side") or (away and (vector not in (1, 8) or way == "parts")):
        return False
    if vector == 2 and splits != 64:
        return False
    if (knobs["unroll"] == 8 and (away or vector not in (1, 8) or splits not in (1, 64))) or (
        knobs["unroll"] == 4 and away and splits != 64
    ):
        return False
    if splits == 256 and (way == "parts" or away) and not (way == "parts" and vector == 8 and knobs["unroll"] == 4):
        return False
    if away and (wide, tall) not in ((128, 1), (64, 4), (32, 8)):
        return False
    if knobs["slip"] == "none":
        return True
    if away or knobs["unroll"] != 4 or vector not in (1, 8) or splits == 256:
        return False
    if knobs["slip"] == "empty":
        return bool(way == "atomic" and splits == 64 and tall <= 4)
    if knobs["slip"] == "barrier":
        return bool(tall >= 8 and way != "parts" and splits != 16)
    return bool((wide, tall) == (64, 4) and splits > 1 if knobs["slip"] != "floor" else (wide, tall) == (32, 16))


def _column_body(knobs: Knobs) -> str:
    slip, way, (wide, tall) = knobs["slip"], knobs["way"], knobs["shape"]
    total = "T" if slip == "low" else "float"
    near = knobs["order"] == "near"
    tx, ty = ("threadIdx.x % WIDE", "threadIdx.x / WIDE") if near else ("threadIdx.x / TALL", "threadIdx.x % TALL")
    start, stop, step = "ty", "k", "TALL"
    if way != "direct" and knobs["share"] == "woven":
        start, step = "blockIdx.y * TALL + ty", "TALL * gridDim.y"
    elif way != "direct":
        start, stop = "blockIdx.y * share + ty", "min((int)(blockIdx.y + 1) * share, k)"
    if slip == "floor":
        stop = f"{stop} / TALL * TALL"
    share = "const int share = (k + gridDim.y - 1) / gridDim.y;" if "share" in start else ""
    unroll = f"#pragma unroll {knobs['unroll']}\n"
    put = {
        "direct": "y[column + i] = T(float(sum[i]));",
        "atomic": "atomicAdd(y + column + i, float(sum[i]));",
        "parts": "y[(long long)blockIdx.y * n + column + i] = float(sum[i]);",
    }[way]
    merge = ""
    barrier = "" if slip == "barrier" else "__syncthreads();"
    if tall > 1 and knobs["merge"] == "shared":
        merge = f"""__shared__ float part[TALL][WIDE * V];
        #pragma unroll
        for (int i = 0; i < V; ++i) part[ty][tx * V + i] = float(sum[i]);
        {barrier}
        if (ty > 0) return;
        #pragma unroll
        for (int i = 0; i < V; ++i)
        for (int t = 1; t < TALL; ++t) sum[i] += {total}(part[t][tx * V + i]);
        """
    elif tall > 1:
        merge = f"""__shared__ float part[WIDE * V];
        for (int j = threadIdx.x; j < WIDE * V; j += THREADS) part[j] = 0.0f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < V; ++i) atomicAdd(&part[tx * V + i], float(sum[i]));
        {barrier}
        if (ty > 0) return;
        #pragma unroll
        for (int i = 0; i < V; ++i) sum[i] = part[tx * V + i];
        """
    text = f"using T = {C_TYPES[_COLUMN_DTYPE]};\n{PACK}"
    text += constants(THREADS=wide * tall, WIDE=wide, TALL=tall, V=knobs["vector"])
    out = "T" if way == "direct" else "float"
    text += f"""{BOUNDED}(const T* __restrict__ x, const T* __restrict__ a, {out}* __restrict__ y, int k, int n) {{
    const int tx = {tx}, ty = {ty};
    const int column = (blockIdx.x * WIDE + tx) * V;
    {share}
    {total} sum[V];
    #pragma unroll
    for (int i = 0; i < V; ++i) sum[i] = {total}(0.0f);
    if (column < n) {{
    {unroll}for (int j = {start}; j < {"depth" if slip == "misnamed" else stop}; j += {step}) {{
    const float factor = float(x[j]);
    const Pack<V> q = *(const Pack<V>*)(a + (long long)j * n + column);
    #pragma unroll
    for (int i = 0; i < V; ++i) sum[i] += {total}(factor * float(q.v[i]));
    }}
    }}
    {merge}
    if (column >= n) return;
    #pragma unroll
    for (int i = 0; i < V; ++i) {put}
    }}
    """
    return text + ("" if way == "direct" else CLOSE)


def _column_render(knobs: Knobs) -> str:
    way, (wide, tall), splits = knobs["way"], knobs["shape"], knobs["splits"]
    made = "zeros(n" if way == "atomic" and knobs["slip"] != "empty" else f"empty({splits if way == 'parts' else 1} * n"
    target = "y" if way == "direct" else "w"
    parts = splits if way == "parts" else 1
    host = [
        "k, n = a.shape",
        "y = torch.empty(n, dtype=a.dtype, device=a.device)",
        "" if way == "direct" else f"w = torch.{made}, dtype=torch.float32, device=a.device)",
        f"program.body((math.ceil(n / {wide * knobs['vector']}), {splits}), ({wide * tall},), (x, a, {target}, k, n))",
        "" if way == "direct" else f"program.close((math.ceil(n / 256),), (256,), (w, y, n, {parts}))",
        "return y",
    ]
    lines = "\n".join(f"    {line}" for line in host if line)
    return module(_column_body(knobs), f"def kernel(x, a):\n{lines}\n", (_COLUMN_DTYPE,))


def _row_template(task: str, rows: _Rows) -> Template:
    return Template(
        task, "cuda", _row_knobs(rows), lambda knobs: _row_render(rows, knobs), lambda knobs: _row_valid(rows, knobs)
    )


TEMPLATES = (
    _row_template("matvec", _Rows("float16", 8)),
    _row_template("batched_matvec", _Rows("float32", 4, batched=True)),
    Template("vecmat", "cuda", _COLUMN_KNOBS, _column_render, _column_valid),
)
