"""CUDA templates of the windows (pools, stencils, depthwise_conv2d): by point, tile, march, pack, in two passes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.windows import DEPTHWISE, POOLS, STENCILS, Combine, Dialect, Window

_DIALECT = Dialect("fmaxf", "fminf", "sqrtf", "-INFINITY", "INFINITY")
_OUTSIDE = {"zero": "0.0f", "low": "-3.4e38f", "high": "3.4e38f"}
_KNOBS = {
    "way": ("flat", "block", "tile", "march", "wide", "passes"),
    "threads": (256, 64, 128, 512, 1024),
    "across": (32, 64, 128, 256),
    "down": (1, 2, 4, 8, 16, 32),
    "lanes": ("near", "far"),
    "read": ("plain", "cached", "packed"),
    "slip": ("none", "barrier", "shared", "border", "floor", "mistaken", "misnamed"),
}
_HEAD = BOUNDED.removesuffix("body")


def _valid(knobs: Knobs) -> bool:
    way, threads, across, down, slip = (knobs[k] for k in ("way", "threads", "across", "down", "slip"))
    read, near = knobs["read"], knobs["lanes"] == "near"
    fits = {
        "flat": across == 32 and down in (1, 4, 8) and read != "packed" and (near or down > 1),
        "block": near and read == "plain" and down in (1, 4) and 32 * threads >= across * 32 and threads > 64,
        "tile": near and read == "plain" and down in (8, 16, 32) and threads in (128, 256, 512) and across < 256,
        "march": near and read == "plain" and down in (8, 16, 32) and across <= threads <= 256,
        "wide": near and across == 32 and down in (2, 4, 8) and threads < 1024,
        "passes": near and across == 32 and down in (1, 4) and read == "plain",
    }
    if not fits[way]:
        return False
    if slip == "none":
        return True
    sound = threads == 256 and read == "plain" and near
    if slip in ("barrier", "shared"):
        return bool(sound and way == "tile" and across == 64 and down in (8, 16))
    if slip == "floor":
        return bool(sound and (way == "flat" or (way == "block" and across == 64)) and down == 4)
    usual = {"flat": (1, 4), "wide": (2, 4), "march": (8, 16)}
    return bool(sound and across == (64 if way == "march" else 32) and down in usual.get(way, ()))


def _flat_valid(knobs: Knobs) -> bool:
    """A window within a row has no rows to march down; its tiles are pieces of a row."""
    if knobs["way"] in ("block", "march"):
        return False
    if knobs["way"] == "tile":
        plain = knobs["lanes"] == "near" and knobs["read"] == "plain" and knobs["down"] == 8
        sound = knobs["threads"] == 256 and knobs["across"] in (64, 128) and knobs["slip"] in ("barrier", "shared")
        return bool(plain and (knobs["slip"] == "none" or sound))
    return _valid(knobs)


def _text(combine: Combine, values: Sequence[str]) -> str:
    return re.sub(r"(?<![\w.])(\d+\.\d+)(?![\df])", r"\1f", combine(values, _DIALECT))


def _at(name: str, number: int) -> str:
    return name if number == 0 else f"{name} {'+' if number > 0 else '-'} {abs(number)}"


def _by(name: str, factor: int) -> str:
    return name if factor == 1 else f"{name} * {factor}"


def _outside(window: Window, slip: str) -> str:
    return "0.0f" if slip == "border" else _OUTSIDE[window.outside]


def _item(knobs: Knobs, place: str) -> str:
    return f"__ldg({place})" if knobs["read"] == "cached" else f"*({place})"


def _take(window: Window, knobs: Knobs) -> str:
    """The device function that reads an input, or gives what counts for it outside."""
    found = f"(float){_item(knobs, 'x + ((long long)p * high + y) * wide + q')}"
    checks = []
    if window.pad or knobs["way"] in ("wide", "tile"):
        sides = [] if knobs["slip"] == "border" and window.outside == "zero" and not window.edge else ["q >= 0"]
        checks = ["y >= 0", "y < high", *sides, *(["q < wide"] if sides else [])]
        checks += ["p >= 0", "p < deep"] if window.solid else []
    other = _outside(window, knobs["slip"])
    value = f"{' && '.join(checks)} ? {found} : {other}" if checks else found
    return f"""__device__ __forceinline__
    float take(const T* __restrict__ x, int p, int y, int q, int deep, int high, int wide) {{
    return {value};
    }}
    """


def _taken(window: Window, k: int, y: str = "y", q: str = "q") -> str:
    z, down, across = window.reach[k]
    return f"take(x, {_at('p', z)}, {_at(y, down)}, {_at(q, across)}, deep, high, wide)"


def _result(window: Window, knobs: Knobs) -> str:
    """The value of the point `row`, `col` of plane `p`, from v0, v1, ..."""
    combine = window.mistaken if knobs["slip"] == "mistaken" else window.combine
    value = _text(combine, [f"v{k}" for k in range(len(window.reach))])
    if not window.edge or knobs["slip"] == "border":
        return value
    deep = "p == 0 || p == deep - 1 || " if window.solid else ""
    kept = f"v{window.middle}" if window.edge == "copy" else "0.0f"
    return f"({deep}row == 0 || row == tall - 1 || col == 0 || col == cols - 1) ? {kept} : {value}"


def _weights(window: Window) -> str:
    if not window.weighted:
        return ""
    names = ", ".join(f"w{k} = (float)weights[p % channels * 9 + {k}]" for k in range(len(window.reach)))
    return f"const float {names};\n"


def _source(window: Window, at: str) -> str:
    return f"const float f = source[{at}];\n" if window.source else ""


def _corner(window: Window) -> str:
    """`y` and `q` from `row` and `col`."""
    factor = f" * {window.stride}" if window.stride > 1 else ""
    row = "0" if window.flat else _at(f"row{factor}", -window.pad)
    return f"const int y = {row}, q = {_at(f'col{factor}', -window.pad)};\n"


def _point(window: Window, knobs: Knobs) -> str:
    """Write the point `row`, `col` of plane `p`, whose place is `at`."""
    values = "".join(f"const float v{k} = {_taken(window, k)};\n" for k in range(len(window.reach)))
    return f"""{_corner(window)}{_weights(window)}{_source(window, "at")}{values}
    out[at] = T({_result(window, knobs)});
    """


def _flat(window: Window, knobs: Knobs) -> str:
    limit = "count" if knobs["slip"] == "misnamed" else "(long long)deep * tall * cols"
    place = "((long long)blockIdx.x * DOWN + s) * THREADS + threadIdx.x"
    if knobs["lanes"] == "far":
        place = "((long long)blockIdx.x * THREADS + threadIdx.x) * DOWN + s"
    return f"""for (int s = 0; s < DOWN; ++s) {{
    const long long at = {place};
    if (at >= {limit}) return;
    const int line = at / cols, col = at % cols;
    const int p = line / tall, row = line % tall;
    {_point(window, knobs)}
    }}
    """


_CHUNK = """const int chunks = (tall + HIGH - 1) / HIGH;
const int p = blockIdx.x / chunks, row0 = blockIdx.x % chunks * HIGH, col0 = blockIdx.y * ACROSS;
"""


def _block(window: Window, knobs: Knobs) -> str:
    return f"""{_CHUNK}for (int e = threadIdx.x; e < ACROSS * HIGH; e += THREADS) {{
    const int row = row0 + e / ACROSS, col = col0 + e % ACROSS;
    if (row < tall && col < cols) {{
    const long long at = ((long long)p * tall + row) * cols + col;
    {_point(window, knobs)}
    }}
    }}
    """


def _tile(window: Window, knobs: Knobs) -> str:
    rows, columns = window.size
    stride, pad = window.stride, window.pad
    high, wide = f"(HIGH - 1) * {stride} + {rows}", f"(ACROSS - 1) * {stride} + {columns}"
    barrier = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    values = ""
    for k, (z, down, across) in enumerate(window.reach):
        inner = f"part[{_at(_by('a', stride), down)}][{_at(_by('b', stride), across)}]"
        values += f"const float v{k} = {_taken(window, k) if z else inner};\n"
    corner = _corner(window) if window.solid else ""
    top = "0" if window.flat else _at(_by("row0", stride), -pad)
    extent = "8 * TALL" if knobs["slip"] == "shared" else "TALL"
    return f"""constexpr int TALL = {high}, LONG = {wide};
    __shared__ float part[{extent}][LONG{" * 4" if knobs["slip"] == "shared" else ""}];
    {_CHUNK}for (int e = threadIdx.x; e < TALL * LONG; e += THREADS) {{
    const int y = {top} + e / LONG, q = {_at(_by("col0", stride), -pad)} + e % LONG;
    part[e / LONG][e % LONG] = take(x, p, y, q, deep, high, wide);
    }}
    {barrier}
    {_weights(window)}for (int e = threadIdx.x; e < ACROSS * HIGH; e += THREADS) {{
    const int a = e / ACROSS, b = e % ACROSS;
    const int row = row0 + a, col = col0 + b;
    if (row < tall && col < cols) {{
    const long long at = ((long long)p * tall + row) * cols + col;
    {corner}{_source(window, "at")}{values}
    out[at] = T({_result(window, knobs)});
    }}
    }}
    """


def _march(window: Window, knobs: Knobs) -> str:
    reach, stride = window.reach, window.stride
    earlier = [(z, y + stride, x) for z, y, x in reach]
    kept = {k: reach.index(place) for k, place in enumerate(earlier) if place in reach}
    order = sorted(range(len(reach)), key=lambda k: reach[k][1])
    top = _at(_by("first", stride), -window.pad)
    before = "".join(f"v{kept[k]} = {_taken(window, k, 'start')};\n" for k in order if k in kept)
    step = "".join(f"v{k} = {f'v{kept[k]}' if k in kept else _taken(window, k)};\n" for k in order)
    limit = "rows" if knobs["slip"] == "misnamed" else "tall"
    return f"""const int col = blockIdx.y * ACROSS + threadIdx.x % ACROSS;
    const int chunks = (tall + HIGH - 1) / HIGH;
    const int p = blockIdx.x / chunks;
    const int first = blockIdx.x % chunks * HIGH + threadIdx.x / ACROSS * DOWN;
    if (col >= cols || first >= {limit}) return;
    const int q = {_at(_by("col", stride), -window.pad)}, start = {top}, last = min(first + DOWN, tall);
    {_weights(window)}float {", ".join(f"v{k}" for k in range(len(reach)))};
    {before}for (int row = first; row < last; ++row) {{
    const int y = {_at(_by("row", stride), -window.pad)};
    const long long at = ((long long)p * tall + row) * cols + col;
    {_source(window, "at")}{step}
    out[at] = T({_result(window, knobs)});
    }}
    """


def _wide(window: Window, knobs: Knobs) -> str:
    stride, pad = window.stride, window.pad
    rows, columns = window.size
    outer = "" if window.flat else _at(_by("row", stride), -pad)
    scalar = "take(x, p, y + a, q + j, deep, high, wide)"
    fill = f"#pragma unroll\nfor (int j = 0; j < SPAN; ++j) seg[a][j] = {scalar};"
    if knobs["read"] == "packed":
        checks = "" if not pad or window.flat else " && y + a >= 0 && y + a < high"
        fill = f"""if (wide % TAKEN == 0{checks}) {{
        const Pack<TAKEN> near = *reinterpret_cast<const Pack<TAKEN>*>(
        x + ((long long)p * high + y + a) * wide + c * {stride});
        #pragma unroll
        for (int j = 0; j < SPAN; ++j)
        if (j >= {pad} && j < {pad} + TAKEN) seg[a][j] = (float)near.v[j - {pad}];
        else seg[a][j] = {scalar};
        }} else {{
        {fill}
        }}"""
    values = ""
    for k, (z, down, across) in enumerate(window.reach):
        inner = f"seg[{down}][{_at(_by('j', stride), across)}]"
        values += f"const float v{k} = {_taken(window, k, q=f'q + j * {stride}') if z else inner};\n"
    source = "const float f = col < cols ? source[line * cols + col] : 0.0f;\n" if window.source else ""
    limit = "lines" if knobs["slip"] == "misnamed" else "(long long)deep * tall"
    return f"""constexpr int SPAN = (DOWN - 1) * {stride} + {columns}, TAKEN = DOWN * {stride};
    const int groups = (cols + DOWN - 1) / DOWN;
    const long long t = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long line = t / groups;
    if (line >= {limit}) return;
    const int c = t % groups * DOWN, p = line / tall, row = line % tall;
    const int y = {outer or "0"}, q = {_at(_by("c", stride), -pad)};
    {_weights(window)}float seg[{rows}][SPAN];
    #pragma unroll
    for (int a = 0; a < {rows}; ++a) {{
    {fill}
    }}
    Pack<DOWN> made;
    #pragma unroll
    for (int j = 0; j < DOWN; ++j) {{
    const int col = c + j;
    {source}{values}
    made.v[j] = T({_result(window, knobs)});
    }}
    T* place = out + line * cols + c;
    if (cols % DOWN == 0) {{
    *reinterpret_cast<Pack<DOWN>*>(place) = made;
    }} else {{
    for (int j = 0; j < DOWN; ++j) if (c + j < cols) place[j] = made.v[j];
    }}
    """


def _each(count: str, work: str) -> str:
    """Do the work for every `at` below `count`, DOWN of them a thread."""
    return f"""for (int s = 0; s < DOWN; ++s) {{
    const long long at = ((long long)blockIdx.x * DOWN + s) * THREADS + threadIdx.x;
    if (at >= {count}) return;
    {work}
    }}
    """


def _passes(window: Window, knobs: Knobs) -> str:
    """Two kernels: along rows and then down; or the whole output and then its interior."""
    stages, stride, pad = window.stages, window.stride, window.pad
    if stages is None:
        kept = "x[at]" if window.edge == "copy" else "T(0.0f)"
        deep = "(deep - 2) * " if window.solid else ""
        plane = "line / (high - 2) + 1" if window.solid else "0"
        values = "".join(f"const float v{k} = {_taken(window, k)};\n" for k in range(len(window.reach)))
        combined = _text(window.combine, [f"v{k}" for k in range(len(window.reach))])
        work = f"""const int line = at / (wide - 2), q = at % (wide - 2);
        const int p = {plane}, y = line % (high - 2);
        const long long to = ((long long)p * high + y + 1) * wide + q + 1;
        {_source(window, "to")}{values}
        out[to] = T({combined});"""
        return f"""{_HEAD}first(const T* __restrict__ x, T* __restrict__ out, int n) {{
        {_each("n", f"out[at] = {kept};")}
        }}
        {_HEAD}second({_parameters(window)}) {{
        {_each(f"(long long){deep}(high - 2) * (wide - 2)", work)}
        }}
        """
    outside = _OUTSIDE[window.outside]
    values = ""
    for k, (_, _, across) in enumerate(stages.first):
        place = _at(_by("col", stride), across - pad)
        values += f"const float v{k} = take(x, 0, line, {place}, 1, lines, wide);\n"
    combined = _text(stages.across, [f"v{k}" for k in range(len(stages.first))])
    first = f"""const int line = at / between, col = at % between;
    {values}
    mid[at] = {combined};"""
    values = ""
    for k, (_, down, across) in enumerate(stages.second):
        row = _at("y", down)
        read = f"mid[((long long)p * high + {row}) * between + {_at('col', across)}]"
        checked = f"{row} >= 0 && {row} < high ? {read} : {outside}" if pad else read
        values += f"const float v{k} = {checked};\n"
    combined = _text(stages.down, [f"v{k}" for k in range(len(stages.second))])
    top = "0" if window.flat else _at(_by("row", stride), -pad)
    second = f"""const int line = at / cols, col = at % cols;
    const int p = line / tall, row = line % tall, y = {top};
    {values}
    out[at] = T({combined});"""
    return f"""{_HEAD}first(const T* __restrict__ x, float* __restrict__ mid, int lines, int wide, int between) {{
    {_each("(long long)lines * between", first)}
    }}
    {_HEAD}second(const float* __restrict__ mid, T* __restrict__ out,
    int deep, int high, int tall, int cols, int between) {{
    {_each("(long long)deep * tall * cols", second)}
    }}
    """


def _parameters(window: Window) -> str:
    pointers = [f"const T* __restrict__ {name}" for name in window.inputs]
    numbers = ["deep", "high", "wide", "tall", "cols", *(["channels"] if window.weighted else [])]
    return ", ".join([*pointers, "T* __restrict__ out", *(f"int {name}" for name in numbers)])


_BODIES = {"flat": _flat, "block": _block, "tile": _tile, "march": _march, "wide": _wide}


def _numbers(window: Window, knobs: Knobs) -> dict[str, int]:
    way, threads, across, down = knobs["way"], knobs["threads"], knobs["across"], knobs["down"]
    if way in ("flat", "wide", "passes"):
        return {"THREADS": threads, "DOWN": down}
    if way == "tile":
        return {"THREADS": threads, "ACROSS": across * (8 if window.flat else 1), "HIGH": 1 if window.flat else down}
    numbers = {"THREADS": threads, "ACROSS": across, "HIGH": max(1, threads // across) * down}
    return numbers | ({"DOWN": down} if way == "march" else {})


def _launch(window: Window, knobs: Knobs) -> str:
    way, numbers = knobs["way"], _numbers(window, knobs)
    threads = f"({knobs['threads']},)"
    whole = "int" if knobs["slip"] == "floor" else "math.ceil"
    arguments = [*window.inputs, "out", "deep", "high", "wide", "tall", "cols"]
    arguments += ["x.shape[1]"] if window.weighted else []
    given = ", ".join(arguments)
    share = knobs["threads"] * knobs["down"]
    if way == "passes":
        if window.stages is None:
            inner = f"{'(deep - 2) * ' if window.solid else ''}(high - 2) * (wide - 2)"
            return f"""program.first((math.ceil(x.numel() / {share}),), {threads}, (x, out, x.numel()))
    program.second((math.ceil({inner} / {share}),), {threads}, ({given}))"""
        return f"""between = {_at("cols", -window.stages.lost)}
    mid = torch.empty((deep * high, between), dtype=torch.float32, device=x.device)
    program.first((math.ceil(mid.numel() / {share}),), {threads}, (x, mid, deep * high, wide, between))
    program.second(
        (math.ceil(out.numel() / {share}),), {threads}, (mid, out, deep, high, tall, cols, between)
    )"""
    if way == "flat":
        grid = f"({whole}(out.numel() / {share}),)"
    elif way == "wide":
        grid = f"(math.ceil(deep * tall * math.ceil(cols / {knobs['down']}) / {knobs['threads']}),)"
    else:
        grid = f"(deep * {whole}(tall / {numbers['HIGH']}), math.ceil(cols / {numbers['ACROSS']}))"
    return f"program.body({grid}, {threads}, ({given}))"


def _render(window: Window) -> Callable[[Knobs], str]:
    def render(knobs: Knobs) -> str:
        way = knobs["way"]
        body = f"{BOUNDED}({_parameters(window)}) {{\n{_BODIES[way](window, knobs)}\n}}\n" if way != "passes" else ""
        text = f"""using T = {C_TYPES[window.dtype]};
        {constants(**_numbers(window, knobs))}{PACK if way == "wide" else ""}{_take(window, knobs)}
        {body or _passes(window, knobs)}
        """
        high, tall = ("1", "1") if window.flat else ("x.shape[-2]", window.length(-2))
        shape = "(deep, cols)" if window.flat else "(*x.shape[:-2], tall, cols)"
        host = f"""def kernel({", ".join(window.inputs)}):
    high, wide = {high}, x.shape[-1]
    tall, cols = {tall}, {window.length(-1)}
    deep = x.numel() // (high * wide)
    out = torch.empty({shape}, dtype=x.dtype, device=x.device)
    {_launch(window, knobs)}
    return out
"""
        return module(text, host, (window.dtype,))

    return render


def _template(window: Window) -> Template:
    ways = tuple(way for way in _KNOBS["way"] if way != "passes" or window.stages or window.edge)
    slips = tuple(slip for slip in _KNOBS["slip"] if slip != "border" or window.pad)
    knobs = {**_KNOBS, "way": ways, "slip": slips}
    return Template(window.task, "cuda", knobs, _render(window), _flat_valid if window.flat else _valid)


TEMPLATES = tuple(_template(window) for window in (*POOLS, *STENCILS, DEPTHWISE))
