"""CUDA templates of the layout family but the transpose: by places of the output or the input, tiles; and mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.cuda.pointwise import Form, Program, Read, template
from foretell.kernels.propose.template import Knobs, Template

_PACK_AT = "*reinterpret_cast<const Pack<T, W>*>({})"


def _made(shape: str, like: str = "x") -> str:
    return f"torch.empty(({shape}), dtype={like}.dtype, device={like}.device)"


def _copy(
    pointer: str,
    to: str = "out + i",
    rows: str = "",
    cols: str = "",
    whole: str = "",
    read: bool = True,
    write: bool = True,
    lane: str = "k",
) -> Form:
    """A form that moves items; `read` and `write` say where whole packs are moved."""
    return Form((Read("v", pointer, packed=read, lane=lane),), "v", to, write, rows, cols, whole, raw=True)


def _text(text: str, rows: str = "", cols: str = "", whole: str = "") -> Form:
    return Form((), "", rows=rows, cols=cols, whole=whole, text=text)


def _program(
    task: str,
    dtype: str,
    tensors: tuple[str, ...],
    forms: Mapping[str, Form | tuple[Form, Form]],
    slips: Mapping[str, Form],
    rows: str,
    cols: str,
    out: str = "torch.empty_like(x)",
    integers: tuple[tuple[str, str], ...] = (),
) -> Program:
    kernels = {name: form if isinstance(form, tuple) else (form,) for name, form in forms.items()}
    inputs = tuple((name, dtype) for name in tensors)
    return Program(task, dtype, inputs, kernels, slips, rows, cols, out, integers, ("each", "turned"))


_HEAD_ROW = "x + ((row / (heads * seq) * seq + row % seq) * heads + row / seq % heads) * cols + col"
_PERMUTE_0213 = _program(
    "permute_0213",
    "float16",
    ("x",),
    {
        "plain": _copy(_HEAD_ROW),
        "scatter": _copy(
            "x + i", "out + ((row / (seq * heads) * heads + row % heads) * seq + row / heads % seq) * cols + col"
        ),
        "tokens": _copy(
            "x + i",
            "out + ((row / seq * heads + col / dim) * seq + row % seq) * dim + col % dim",
            "x.shape[0] * x.shape[1]",
            "x.shape[2] * x.shape[3]",
            "dim % V == 0",
        ),
        "heads": _copy(
            "x + ((row / heads * seq + col / dim) * heads + row % heads) * dim + col % dim",
            "out + i",
            "x.shape[0] * x.shape[2]",
            "x.shape[1] * x.shape[3]",
            "dim % V == 0",
        ),
        "each": _copy(_HEAD_ROW, read=False, write=False),
    },
    {
        "copied": _copy("x + i"),
        "mixed": _copy("x + ((row / (heads * seq) * seq + row % heads) * heads + row / heads % seq) * cols + col"),
    },
    "x.shape[0] * x.shape[1] * x.shape[2]",
    "x.shape[3]",
    _made("x.shape[0], x.shape[2], x.shape[1], x.shape[3]"),
    (("seq", "x.shape[1]"), ("heads", "x.shape[2]"), ("dim", "x.shape[3]")),
)

_SIDES = "(col < left ? a + row * left + col : b + row * (cols - left) + col - left)"
_CONCAT_COLUMNS = _program(
    "concat_columns",
    "float32",
    ("a", "b"),
    {
        "plain": _copy(_SIDES, whole="left % V == 0"),
        "each": _copy(_SIDES, read=False),
        "flat": _copy(_SIDES.replace("row", "i / cols").replace("col ", "i % cols "), read=False),
        "parts": (
            _copy("a + i", "out + row * wide + col", "a.shape[0]", "a.shape[1]", "wide % V == 0"),
            _copy(
                "b + i", "out + row * wide + left + col", "b.shape[0]", "b.shape[1]", "wide % V == 0 && left % V == 0"
            ),
        ),
    },
    {
        "stride": _copy(_SIDES.replace("(cols - left)", "left"), whole="left % V == 0"),
        "order": _copy(
            "(col < cols - left ? b + row * (cols - left) + col : a + row * left + col - (cols - left))",
            whole="left % V == 0",
        ),
    },
    "a.shape[0]",
    "a.shape[1] + b.shape[1]",
    _made("a.shape[0], a.shape[1] + b.shape[1]", "a"),
    (("left", "a.shape[1]"), ("wide", "a.shape[1] + b.shape[1]")),
)

_BOTH = f"""const Pack<T, W> p = {_PACK_AT.format("a + i")};
const Pack<T, W> r = {_PACK_AT.format("b + i")};
"""
_INTERLEAVE = _program(
    "interleave",
    "float16",
    ("a", "b"),
    {
        "plain": _copy("(col % 2 == 0 ? a + i / 2 : b + i / 2)", read=False),
        "pairs": _text(
            f"""{_BOTH}Pack<T, 2 * W> q;
            #pragma unroll
            for (int k = 0; k < W; ++k) {{
            q.v[2 * k] = p.v[k];
            q.v[2 * k + 1] = r.v[k];
            }}
            *reinterpret_cast<Pack<T, 2 * W>*>(out + 2 * i) = q;
            """,
            cols="a.shape[1]",
        ),
        "strided": _text(
            f"""{_BOTH}#pragma unroll
            for (int k = 0; k < W; ++k) {{
            out[2 * (i + k)] = p.v[k];
            out[2 * (i + k) + 1] = r.v[k];
            }}
            """,
            cols="a.shape[1]",
        ),
        "parts": (
            _copy("a + i", "out + 2 * i", cols="a.shape[1]", write=False),
            _copy("b + i", "out + 2 * i + 1", cols="a.shape[1]", write=False),
        ),
    },
    {
        "beside": _copy(
            "(col < cols / 2 ? a + row * (cols / 2) + col : b + row * (cols / 2) + col - cols / 2)", read=False
        ),
        "order": _copy("(col % 2 == 0 ? b + i / 2 : a + i / 2)", read=False),
    },
    "a.shape[0]",
    "2 * a.shape[1]",
    _made("a.shape[0], 2 * a.shape[1]", "a"),
)

_FLIPPED = "x + row * cols + cols - 1 - col"
_FLIP_COLUMNS = _program(
    "flip_columns",
    "float32",
    ("x",),
    {
        "plain": _copy(_FLIPPED, read=False),
        "turned": _copy("x + row * cols + cols - W - col", lane="W - 1 - k"),
        "scatter": _copy("x + i", _FLIPPED.replace("x +", "out +"), write=False),
        "staged": (_copy("x + i", "kept + i"), _copy(_FLIPPED.replace("x +", "kept +"), read=False)),
    },
    {
        "offset": _copy("x + row * cols + (cols - col) % cols", read=False),
        "rows": _copy("x + (rows - 1 - row) * cols + col"),
    },
    "x.shape[0]",
    "x.shape[1]",
)

_STORE = "*reinterpret_cast<Pack<T, W>*>(out + i) = q;\n"
_IMAGE_ROW = "(row / (height + 8) * height + y) * (cols - 8)"


def _padded(take: str, shift: int = 4) -> Form:
    return _text(
        f"""const int y = row % (height + 8) - 4;
        Pack<T, W> q;
        #pragma unroll
        for (int k = 0; k < W; ++k) {{
        const int z = col + k - {shift};
        {take}
        }}
        {_STORE}"""
    )


_NEAR = "const bool near = y >= 0 && y < height && z >= 0 && z < cols - 8;\n"
_TAKEN = f"{_NEAR}q.v[k] = near ? x[{_IMAGE_ROW} + z] : T(0.0f);"
_HELD = "x[(row / (height + 8) * height + min(max(y, 0), height - 1)) * (cols - 8) + min(max(z, 0), cols - 9)]"
_PAD_2D = _program(
    "pad_2d",
    "float16",
    ("x",),
    {
        "plain": _padded(_TAKEN),
        "packs": _text(
            f"""constexpr int H = W < 4 ? W : 4;
            const int y = row % (height + 8) - 4;
            Pack<T, W> q;
            #pragma unroll
            for (int p = 0; p < W; p += H) {{
            const int z = col + p - 4;
            {_NEAR}Pack<T, H> part;
            if (near) part = *reinterpret_cast<const Pack<T, H>*>(x + {_IMAGE_ROW} + z);
            #pragma unroll
            for (int k = 0; k < H; ++k) q.v[p + k] = near ? part.v[k] : T(0.0f);
            }}
            {_STORE}"""
        ),
        "held": _padded(f"const T v = {_HELD};\n{_NEAR}q.v[k] = near ? v : T(0.0f);"),
        "filled": (
            Form((), "0.0f"),
            _copy(
                "x + i",
                "out + (row / height * (height + 8) + row % height + 4) * (cols + 8) + col + 4",
                "x.shape[0] * x.shape[1]",
                "x.shape[2]",
                "V <= 4",
            ),
        ),
    },
    {"offset": _padded(_TAKEN, 3), "edge": _padded(f"q.v[k] = {_HELD};")},
    "x.shape[0] * (x.shape[1] + 8)",
    "x.shape[2] + 8",
    _made("x.shape[0], x.shape[1] + 8, x.shape[2] + 8"),
    (("height", "x.shape[1]"),),
)

_ROLL_ROWS = _program(
    "roll_rows",
    "bfloat16",
    ("x",),
    {
        "plain": _copy("x + row * cols + (col + cols - 5) % cols", read=False),
        "choice": _copy("(col < 5 ? x + i + cols - 5 : x + i - 5)", read=False),
        "scatter": _copy("x + i", "out + row * cols + (col + 5) % cols", write=False),
        "parts": (
            _copy("x + row * full + col", "out + row * full + col + 5", cols="x.shape[1] - 5", read=False, write=False),
            _copy("x + row * full + full - 5 + col", "out + row * full + col", cols="5", read=False, write=False),
        ),
    },
    {
        "left": _copy("x + row * cols + (col + 5) % cols", read=False),
        "flat": _copy("x + (i + rows * cols - 5) % (rows * cols)", read=False),
    },
    "x.shape[0]",
    "x.shape[1]",
    integers=(("full", "x.shape[1]"),),
)

_UPSAMPLE = _program(
    "upsample_nearest_2d",
    "float16",
    ("x",),
    {
        "plain": _copy("x + row / 2 * (cols / 2) + col / 2", read=False),
        "lines": _text(
            """Pack<T, W> q;
            #pragma unroll
            for (int k = 0; k < W; ++k) q.v[k] = x[row * (cols / 2) + (col + k) / 2];
            *reinterpret_cast<Pack<T, W>*>(out + 2 * row * cols + col) = q;
            *reinterpret_cast<Pack<T, W>*>(out + (2 * row + 1) * cols + col) = q;
            """,
            "x.shape[0] * x.shape[1]",
        ),
        "pairs": _text(
            f"""const Pack<T, W> p = {_PACK_AT.format("x + i")};
            Pack<T, 2 * W> q;
            #pragma unroll
            for (int k = 0; k < 2 * W; ++k) q.v[k] = p.v[k / 2];
            *reinterpret_cast<Pack<T, 2 * W>*>(out + 4 * row * cols + 2 * col) = q;
            *reinterpret_cast<Pack<T, 2 * W>*>(out + (4 * row + 2) * cols + 2 * col) = q;
            """,
            "x.shape[0] * x.shape[1]",
            "x.shape[2]",
        ),
        "strided": _text(
            """#pragma unroll
            for (int k = 0; k < W; ++k) {
            const T v = x[i + k];
            T* to = out + 4 * row * cols + 2 * (col + k);
            to[0] = v;
            to[1] = v;
            to[2 * cols] = v;
            to[2 * cols + 1] = v;
            }
            """,
            "x.shape[0] * x.shape[1]",
            "x.shape[2]",
        ),
    },
    {
        "rows": _copy("x + row % (rows / 2) * (cols / 2) + col / 2", read=False),
        "tiled": _copy("x + row / 2 * (cols / 2) + col % (cols / 2)", read=False),
    },
    "2 * x.shape[0] * x.shape[1]",
    "2 * x.shape[2]",
    _made("x.shape[0], 2 * x.shape[1], 2 * x.shape[2]"),
)

_TRANSPOSED = {
    "way": ("direct", "tile", "strip"),
    "tile": (32, 16, 64, 128),
    "threads": (256, 64, 128, 512, 1024),
    "pad": (0, 1, 2),
    "along": ("read", "write"),
    "packs": ("none", "load", "both"),
    "vector": (1, 2, 4, 8),
    "unroll": (1, 4),
    "slip": ("none", "barrier", "floor", "swapped", "misnamed", "batch", "shared"),
}


def _transposed_valid(knobs: Knobs) -> bool:
    way, tile, threads, pad, packs = (knobs[name] for name in ("way", "tile", "threads", "pad", "packs"))
    vector, unroll, slip = knobs["vector"], knobs["unroll"], knobs["slip"]
    if (packs == "none") != (vector == 1) or (way != "direct" and knobs["along"] == "write"):
        return False
    if way == "direct" and (pad or vector > 1 or tile == 128 or slip == "barrier" or (unroll > 1 and threads != 256)):
        return False
    if way == "tile":
        if tile == 16 and (threads > 256 or pad == 2 or vector > 1 or unroll > 1):
            return False
        if tile == 64 and threads in (64, 1024):
            return False
        if tile == 128 and (threads not in (256, 512) or vector > 1 or unroll > 1 or pad == 2):
            return False
        if unroll > 1 and (threads not in (128, 256) or pad == 2 or vector > 1):
            return False
        if vector > 1 and (threads not in (128, 256) or pad == 0 or (pad == 1 and packs == "both")):
            return False
    if way == "strip":
        if tile not in (32, 64) or threads not in (128, 256, 512) or pad == 1 or unroll > 1:
            return False
        if vector > 1 and (packs == "load" or vector == 8 or threads != 256 or pad == 0):
            return False
    if slip == "none":
        return True
    sound = threads == 256 and tile in (32, 64) and unroll == 1 and vector == 1 and knobs["along"] == "read"
    if slip in ("misnamed", "shared") and tile == 64:
        return False
    return bool(sound and pad == {"direct": 0, "tile": 1, "strip": 2}[way] and (way != "strip" or slip == "barrier"))


def _loop(knobs: Knobs, body: str, width: str = "TILE") -> str:
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    return f"""{unroll}for (int e = threadIdx.x; e < TILE * ({width}); e += THREADS) {{
    const int i = e / ({width}), j = e % ({width});
    {body}
    }}
    """


def _transposed_body(knobs: Knobs) -> str:
    way, slip = knobs["way"], knobs["slip"]
    height = "height" if slip == "misnamed" else "rows"
    base = "const long long area = (long long)rows * cols;\nconst T* from = x + blockIdx.z * area;\n"
    base += f"T* to = out{'' if slip == 'batch' else ' + blockIdx.z * area'};\n"
    start = "const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;\n"
    if way == "direct":
        row, col = ("y0 + i", "x0 + j") if knobs["along"] == "read" else ("y0 + j", "x0 + i")
        place = f"({row}) * cols + {col}" if slip == "swapped" else f"({col}) * rows + {row}"
        move = f"if ({row} < {height} && {col} < cols) to[{place}] = from[({row}) * cols + {col}];"
        return base + start + _loop(knobs, move)
    load = _loop(knobs, f"if (y0 + i < {height} && x0 + j < cols) part[i][j] = from[(y0 + i) * cols + x0 + j];")
    item = "part[i][j]" if slip == "swapped" else "part[j][i]"
    store = _loop(knobs, f"if (x0 + i < cols && y0 + j < rows) to[(x0 + i) * rows + y0 + j] = {item};")
    if knobs["packs"] != "none":
        take = """if (y0 + i < rows && x0 + j * V < cols) {
        const Pack<V> p = *reinterpret_cast<const Pack<V>*>(from + (y0 + i) * cols + x0 + j * V);
        #pragma unroll
        for (int k = 0; k < V; ++k) part[i][j * V + k] = p.v[k];
        }"""
        load = f"if (cols % V == 0) {{\n{_loop(knobs, take, 'TILE / V')}}} else {{\n{load}}}\n"
    if knobs["packs"] == "both":
        give = """if (x0 + i < cols && y0 + j * V < rows) {
        Pack<V> q;
        #pragma unroll
        for (int k = 0; k < V; ++k) q.v[k] = part[j * V + k][i];
        *reinterpret_cast<Pack<V>*>(to + (x0 + i) * rows + y0 + j * V) = q;
        }"""
        store = f"if (rows % V == 0) {{\n{_loop(knobs, give, 'TILE / V')}}} else {{\n{store}}}\n"
    barrier = "" if slip == "barrier" else "__syncthreads();\n"
    shared = "__shared__ T part[TILE][TILE + PAD];\n"
    if way == "tile":
        return f"{shared}{base}{start}{load}{barrier}{store}"
    return f"""{shared}{base}const int y0 = blockIdx.x * TILE;
    for (int x0 = 0; x0 < cols; x0 += TILE) {{
    {load}{barrier}{store}__syncthreads();
    }}
    """


def _permute_021(knobs: Knobs) -> str:
    way, tile = knobs["way"], knobs["tile"]
    numbers = {"THREADS": knobs["threads"], "TILE": tile}
    numbers |= {"PAD": knobs["pad"]} if way != "direct" else {}
    numbers |= {"V": knobs["vector"]} if knobs["vector"] > 1 else {}
    text = f"""using T = {C_TYPES["bfloat16"]};
    {constants(**numbers)}{PACK if knobs["vector"] > 1 else ""}
    {BOUNDED}(const T* __restrict__ x, T* __restrict__ out, int rows, int cols) {{
    {_transposed_body(knobs)}
    }}
    """
    whole = "int" if knobs["slip"] == "floor" else "math.ceil"
    grid = f"({whole}(cols / {tile}), {whole}(rows / {tile}), batch)"
    if way == "strip":
        grid = f"({whole}(rows / {tile}), 1, batch)"
    shared = ", 300000" if knobs["slip"] == "shared" else ""
    host = f"""def kernel(x):
    batch, rows, cols = x.shape
    out = torch.empty((batch, cols, rows), dtype=x.dtype, device=x.device)
    program.body({grid}, ({knobs["threads"]},), (x, out, rows, cols){shared})
    return out
"""
    return module(text, host, ("bfloat16",))


_PROGRAMS = (_PERMUTE_0213, _CONCAT_COLUMNS, _INTERLEAVE, _FLIP_COLUMNS, _PAD_2D, _ROLL_ROWS, _UPSAMPLE)
TEMPLATES = (
    Template("permute_021", "cuda", _TRANSPOSED, _permute_021, _transposed_valid),
    *(template(program) for program in _PROGRAMS),
)
