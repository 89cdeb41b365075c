"""C++ templates of transposes: loop order, tiles, buffers, recursion, register shuffles, threads, and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.dense import HEADER, Rules, fits, parallel, vector_type
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "scheme": ("plain", "flat", "strips", "tiled", "buffered", "recursive", "shuffled"),
    "order": ("read", "write"),
    "inside": ("read", "write"),
    "threads": ("one", "all", "pairs"),
    "tall": (4, 8, 16, 64),
    "wide": (4, 16, 64),
    "source": ("given", "copied"),
    "slip": ("none", "tail", "square", "stride", "name"),
}

_USES = {
    "plain": {"order", "threads", "source"},
    "flat": {"order", "threads", "source"},
    "strips": {"order", "threads", "tall"},
    "tiled": {"order", "inside", "threads", "tall", "wide"},
    "buffered": {"order", "inside", "threads", "tall", "wide"},
    "recursive": {"inside", "threads", "tall", "source"},
    "shuffled": {"order", "threads", "tall"},
}

_RULES: Rules = {
    "plain": lambda k: k["source"] == "given" or k["threads"] != "pairs",
    "flat": lambda k: k["threads"] != "pairs",
    "strips": lambda k: k["threads"] != "pairs" and k["tall"] < 64,
    "tiled": lambda k: k["tall"] != 8 and (k["threads"] != "pairs" or k["order"] == k["inside"]),
    "buffered": lambda k: (
        k["tall"] != 8
        and k["threads"] != "pairs"
        and (k["inside"] == "read" or k["tall"] == k["wide"])
        and k["order"] == "read"
    ),
    "recursive": lambda k: k["threads"] != "pairs" and (k["inside"] == "read" or k["tall"] > 4),
    "shuffled": lambda k: k["tall"] < 64,
    "tail": lambda k: (
        (k["scheme"] == "tiled" and k["tall"] == k["wide"] and k["order"] == k["inside"] == "read" and k["tall"] > 4)
        or (k["scheme"] == "shuffled" and k["order"] == "write")
        or (k["scheme"] == "strips" and k["tall"] == 16)
    ),
    "square": lambda k: k["scheme"] == "plain" and k["source"] == "given" and k["threads"] != "pairs",
    "stride": lambda k: k["scheme"] == "buffered" and k["inside"] == "write",
    "name": lambda k: k["scheme"] == "tiled" and k["threads"] == "pairs" and k["tall"] == k["wide"] == 64,
}

_MOVE = "out[j * rows + i] = x[i * cols + j];"


def _nest(order: str, i: str, j: str) -> str:
    """Two loop heads, rows of the input outside (`read`) or rows of the output outside (`write`)."""
    return f"{i} {j}" if order == "read" else f"{j} {i}"


def _plain(knobs: Knobs) -> str:
    if knobs["slip"] == "square":
        heads = _nest(knobs["order"], "for (int64_t i = 0; i < n; ++i)", "for (int64_t j = 0; j < n; ++j)")
        return f"const int64_t n = std::min(rows, cols);\n    {parallel(knobs)}{heads} {_MOVE}"
    heads = _nest(knobs["order"], "for (int64_t i = 0; i < rows; ++i)", "for (int64_t j = 0; j < cols; ++j)")
    return f"{parallel(knobs)}{heads} {_MOVE}"


def _flat(knobs: Knobs) -> str:
    """One loop over all numbers, in the order of the input or of the output, with the indices found by division."""
    i, j = ("p / cols", "p % cols") if knobs["order"] == "read" else ("p % rows", "p / rows")
    return f"""{parallel(knobs)}for (int64_t p = 0; p < rows * cols; ++p) {{
        const int64_t i = {i}, j = {j};
        {_MOVE}
    }}"""


def _strips(knobs: Knobs) -> str:
    """`tall` rows of the input at once, so that `tall` neighbours of the output are written together (or reversed)."""
    tall = knobs["tall"]
    if knobs["order"] == "read":
        outer, inner, end, other = "i", "j", "rows", "cols"
        steps = " ".join(f"out[j * rows + i + {u}] = x[(i + {u}) * cols + j];" for u in range(tall))
    else:
        outer, inner, end, other = "j", "i", "cols", "rows"
        steps = " ".join(f"out[(j + {u}) * rows + i] = x[i * cols + j + {u}];" for u in range(tall))
    rest = f"""for (int64_t {outer} = {end} - {end} % {tall}; {outer} < {end}; ++{outer})
        for (int64_t {inner} = 0; {inner} < {other}; ++{inner}) {_MOVE}"""
    return f"""{parallel(knobs)}for (int64_t {outer} = 0; {outer} < {end} - {end} % {tall}; {outer} += {tall})
        for (int64_t {inner} = 0; {inner} < {other}; ++{inner}) {{ {steps} }}
    {"" if knobs["slip"] == "tail" else rest}"""


def _tiles(knobs: Knobs, body: str) -> str:
    tall, wide = knobs["tall"], knobs["wide"]
    rows, cols = (f"rows - rows % {tall}", f"cols - cols % {wide}") if knobs["slip"] == "tail" else ("rows", "cols")
    heads = _nest(
        knobs["order"],
        f"for (int64_t i0 = 0; i0 < {rows}; i0 += {tall})",
        f"for (int64_t j0 = 0; j0 < {cols}; j0 += {wide})",
    )
    end = "i0_end" if knobs["slip"] == "name" else f"i0 + {tall}"
    return f"""{parallel(knobs)}{heads} {{
            const int64_t i1 = std::min<int64_t>(rows, {end}), j1 = std::min<int64_t>(cols, j0 + {wide});
            {body}
        }}"""


def _tiled(knobs: Knobs) -> str:
    inner = _nest(knobs["inside"], "for (int64_t i = i0; i < i1; ++i)", "for (int64_t j = j0; j < j1; ++j)")
    return _tiles(knobs, f"{inner} {_MOVE}")


def _buffered(knobs: Knobs) -> str:
    """Each tile goes through a small array, so that both the reads and the writes are in runs."""
    tall, wide = knobs["tall"], knobs["wide"]
    hold = f"float tile[{tall * (wide + 1)}];"
    padded = knobs["inside"] == "write"
    stride = wide + 1 if padded else wide
    back = wide if knobs["slip"] == "stride" else stride
    body = f"""{hold}
            for (int64_t i = i0; i < i1; ++i)
                for (int64_t j = j0; j < j1; ++j) tile[(i - i0) * {stride} + j - j0] = x[i * cols + j];
            for (int64_t j = j0; j < j1; ++j)
                for (int64_t i = i0; i < i1; ++i) out[j * rows + i] = tile[(i - i0) * {back} + j - j0];"""
    return _tiles(knobs, body)


def _halving(knobs: Knobs) -> str:
    """A function that halves the longer side until the piece is small."""
    tall = knobs["tall"]
    inner = _nest(knobs["inside"], "for (int64_t i = i0; i < i1; ++i)", "for (int64_t j = j0; j < j1; ++j)")
    task = "#pragma omp task if ((i1 - i0) * (j1 - j0) > 65536)\n        " if knobs["threads"] == "all" else ""
    wait = "#pragma omp taskwait\n" if knobs["threads"] == "all" else ""
    return f"""
static void move(const float* x, float* out, int64_t rows, int64_t cols, int64_t i0, int64_t i1, int64_t j0,
                 int64_t j1) {{
    if (i1 - i0 <= {tall} && j1 - j0 <= {tall}) {{
        {inner} {_MOVE}
        return;
    }}
    if (i1 - i0 >= j1 - j0) {{
        const int64_t im = (i0 + i1) / 2;
        {task}move(x, out, rows, cols, i0, im, j0, j1);
        move(x, out, rows, cols, im, i1, j0, j1);
    }} else {{
        const int64_t jm = (j0 + j1) / 2;
        {task}move(x, out, rows, cols, i0, i1, j0, jm);
        move(x, out, rows, cols, i0, i1, jm, j1);
    }}
    {wait}
}}
"""


def _recursive(knobs: Knobs) -> str:
    start = "#pragma omp parallel\n    #pragma omp single\n    " if knobs["threads"] == "all" else ""
    return f"{start}move(x, out, rows, cols, 0, rows, 0, cols);"


def _shuffle_type(size: int) -> str:
    return f"{vector_type(size)}typedef int lanes __attribute__((vector_size({4 * size})));\n"


def _shuffled(knobs: Knobs) -> str:
    """Square pieces of `tall` by `tall` numbers transposed in registers by log2(tall) rounds of exchanges."""
    size = knobs["tall"]
    load = " ".join(f"vec r{u}; std::memcpy(&r{u}, x + (i + {u}) * cols + j, sizeof(vec));" for u in range(size))
    store = " ".join(f"std::memcpy(out + (j + {u}) * rows + i, &r{u}, sizeof(vec));" for u in range(size))
    rounds = []
    span = 1
    while span < size:
        low = ", ".join(str(lane if not lane & span else size + lane - span) for lane in range(size))
        high = ", ".join(str(lane + span if not lane & span else size + lane) for lane in range(size))
        for u in range(size):
            if not u & span:
                v = u + span
                rounds.append(
                    f"{{ const vec t = __builtin_shuffle(r{u}, r{v}, (lanes){{{low}}}); "
                    f"r{v} = __builtin_shuffle(r{u}, r{v}, (lanes){{{high}}}); r{u} = t; }}"
                )
        span *= 2
    heads = _nest(
        knobs["order"],
        f"for (int64_t i = 0; i < rows - rows % {size}; i += {size})",
        f"for (int64_t j = 0; j < cols - cols % {size}; j += {size})",
    )
    rest = f"""for (int64_t i = rows - rows % {size}; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {_MOVE}
    for (int64_t i = 0; i < rows - rows % {size}; ++i)
        for (int64_t j = cols - cols % {size}; j < cols; ++j) {_MOVE}"""
    newline = "\n            "
    return f"""{parallel(knobs)}{heads} {{
            {load}
            {newline.join(rounds)}
            {store}
        }}
    {"" if knobs["slip"] == "tail" else rest}"""


_BODIES = {
    "plain": _plain,
    "flat": _flat,
    "strips": _strips,
    "tiled": _tiled,
    "buffered": _buffered,
    "recursive": _recursive,
    "shuffled": _shuffled,
}


def _helpers(knobs: Knobs) -> str:
    if knobs["scheme"] == "recursive":
        return _halving(knobs)
    return _shuffle_type(knobs["tall"]) if knobs["scheme"] == "shuffled" else ""


def _matrix(knobs: Knobs) -> str:
    """Statements that move one matrix."""
    body = _BODIES[knobs["scheme"]](knobs)
    if knobs["source"] == "given":
        return body
    return f"""float* y = new float[rows * cols];
    std::memcpy(y, x, sizeof(float) * rows * cols);
    {body.replace("x[", "y[").replace("(x,", "(y,")}
    delete[] y;"""


def _render(knobs: Knobs) -> str:
    return tidy(f"""{HEADER}{_helpers(knobs)}
extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {_matrix(knobs)}
}}
""")


_BATCH_KNOBS = {
    **_KNOBS,
    "scheme": (*_USES, "last"),
    "threads": ("one", "all", "pairs", "batch"),
    "slip": ("none", "tail", "square", "stride", "plane", "name"),
}
_BATCH_USES = {**_USES, "last": {"order", "threads"}}
_BATCH_RULES: Rules = {
    **_RULES,
    "tiled": lambda k: _RULES["tiled"](k) and (k["threads"] != "pairs" or k["tall"] > 4),
    "last": lambda k: k["threads"] in ("one", "all"),
    "plane": lambda k: k["scheme"] == "flat" and k["source"] == "given",
    "tail": lambda k: _RULES["tail"](k) and k["threads"] in ("all", "batch"),
    "stride": lambda k: _RULES["stride"](k) and k["threads"] == "batch",
    "name": lambda k: k["scheme"] == "tiled" and k["threads"] == "batch" and k["tall"] == k["wide"] == 64,
}


def _batch_last(knobs: Knobs) -> str:
    """The loop over the matrices innermost."""
    heads = _nest(knobs["order"], "for (int64_t i = 0; i < rows; ++i)", "for (int64_t j = 0; j < cols; ++j)")
    return f"""{parallel(knobs)}{heads}
            for (int64_t b = 0; b < batch; ++b) made[(b * cols + j) * rows + i] = given[(b * rows + i) * cols + j];"""


def _each_matrix(knobs: Knobs) -> str:
    inner = {**knobs, "threads": "one"} if knobs["threads"] == "batch" else knobs
    jump = "rows * rows" if knobs["slip"] == "plane" else "rows * cols"
    share = parallel({**knobs, "threads": "all" if knobs["threads"] == "batch" else "one"})
    return f"""{share}for (int64_t b = 0; b < batch; ++b) {{
    const float* __restrict__ x = given + b * rows * cols;
    float* __restrict__ out = made + b * {jump};
    {_matrix(inner)}
    }}"""


def _render_batch(knobs: Knobs) -> str:
    body = _batch_last(knobs) if knobs["scheme"] == "last" else _each_matrix(knobs)
    return tidy(f"""{HEADER}{_helpers(knobs)}
extern "C" void kernel(const float* __restrict__ given, float* __restrict__ made, int64_t batch, int64_t rows,
                       int64_t cols) {{
    {body}
}}
""")


TEMPLATES = (
    Template("transpose", "cpp", _KNOBS, _render, lambda knobs: fits(knobs, _KNOBS, _USES, _RULES)),
    Template(
        "permute_021",
        "cpp",
        _BATCH_KNOBS,
        _render_batch,
        lambda knobs: fits(knobs, _BATCH_KNOBS, _BATCH_USES, _BATCH_RULES),
    ),
)
