"""CUDA template of the transpose: straight through, or by tiles in shared memory, padded or not; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

DTYPE = "float32"
_KNOBS = {
    "way": ("direct", "tile"),
    "tile": (32, 16, 64, 128),
    "threads": (256, 64, 128, 512, 1024),
    "pad": (0, 1, 2),
    "along": ("read", "write"),
    "vector": (1, 2, 4),
    "unroll": (1, 4),
    "slip": ("none", "barrier", "floor", "swapped", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    way, tile, slip, vector = knobs["way"], knobs["tile"], knobs["slip"], knobs["vector"]
    if way == "direct":
        if knobs["pad"] or vector > 1 or slip == "barrier" or tile > 64:
            return False
        if knobs["unroll"] > 1 and (knobs["threads"] != 256 or slip != "none"):
            return False
    else:
        if knobs["along"] == "write" or (tile == 128 and (knobs["threads"] not in (256, 512) or vector > 1)):
            return False
        if tile == 16 and (knobs["threads"] > 256 or vector == 4 or knobs["pad"] == 2):
            return False
        if vector > 1 and (knobs["unroll"] > 1 or knobs["threads"] in (64, 1024) or knobs["pad"] == 0):
            return False
        if knobs["pad"] == 2 and (knobs["threads"] != 256 or knobs["unroll"] > 1 or tile == 128):
            return False
        if knobs["unroll"] > 1 and (knobs["threads"] not in (128, 256) or tile > 64):
            return False
    if slip == "none":
        return True
    return bool(knobs["threads"] == 256 and tile in (32, 64) and knobs["unroll"] == 1 and vector == 1
                and knobs["pad"] == (1 if way == "tile" else 0) and knobs["along"] == "read")  # fmt: skip


def _loop(knobs: Knobs, body: str, width: str = "TILE") -> str:
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    return f"""{unroll}for (int e = threadIdx.x; e < TILE * {width}; e += THREADS) {{
    const int i = e / ({width}), j = e % ({width});
    {body}
    }}
    """


def _body(knobs: Knobs) -> str:
    height = "height" if knobs["slip"] == "misnamed" else "rows"
    start = "const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;\n"
    if knobs["way"] == "direct":
        if knobs["along"] == "read":
            at, inside = ("y0 + i", "x0 + j"), f"y0 + i < {height} && x0 + j < cols"
        else:
            at, inside = ("y0 + j", "x0 + i"), f"y0 + j < {height} && x0 + i < cols"
        read = f"x[(long long)({at[0]}) * cols + {at[1]}]"
        place = f"({at[1]}) * rows + {at[0]}" if knobs["slip"] != "swapped" else f"({at[0]}) * cols + {at[1]}"
        return start + _loop(knobs, f"if ({inside}) out[(long long){place}] = {read};")
    load = _loop(knobs, f"if (y0 + i < {height} && x0 + j < cols) part[i][j] = x[(long long)(y0 + i) * cols + x0 + j];")
    if knobs["vector"] > 1:
        packs = """if (y0 + i < rows && x0 + j * V < cols) {
        const Pack<V> p = *reinterpret_cast<const Pack<V>*>(x + (long long)(y0 + i) * cols + x0 + j * V);
        #pragma unroll
        for (int k = 0; k < V; ++k) part[i][j * V + k] = p.v[k];
        }"""
        load = f"if (cols % V == 0) {{\n{_loop(knobs, packs, 'TILE / V')}}} else {{\n{load}}}\n"
    store = "if (x0 + i < cols && y0 + j < rows) out[(long long)(x0 + i) * rows + y0 + j] = part[j][i];"
    if knobs["slip"] == "swapped":
        store = store.replace("part[j][i]", "part[i][j]")
    barrier = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    return f"__shared__ T part[TILE][TILE + PAD];\n{start}{load}{barrier}\n{_loop(knobs, store)}"


def _render(knobs: Knobs) -> str:
    numbers = {"THREADS": knobs["threads"], "TILE": knobs["tile"]}
    numbers |= {"PAD": knobs["pad"]} if knobs["way"] == "tile" else {}
    numbers |= {"V": knobs["vector"]} if knobs["vector"] > 1 else {}
    text = f"""using T = {C_TYPES[DTYPE]};
    {constants(**numbers)}{PACK if knobs["vector"] > 1 else ""}
    {BOUNDED}(const T* __restrict__ x, T* __restrict__ out, int rows, int cols) {{
    {_body(knobs)}
    }}
    """
    whole = "int" if knobs["slip"] == "floor" else "math.ceil"
    host = f"""def kernel(x):
    rows, cols = x.shape
    out = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    grid = ({whole}(cols / {knobs["tile"]}), {whole}(rows / {knobs["tile"]}))
    program.body(grid, ({knobs["threads"]},), (x, out, rows, cols))
    return out
"""
    return module(text, host, (DTYPE,))


TEMPLATES = (Template("transpose", "cuda", _KNOBS, _render, _valid),)
