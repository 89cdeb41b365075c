"""CUDA programs without a reduction, with any number of inputs and outputs: ways to walk, packs, kernels; mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.kernels.propose.cuda.fragments import C_TYPES, constants, module
from foretell.kernels.propose.template import Knobs, Template

_MULTIPROCESSORS = 132
TYPES = {**C_TYPES, "int8": "signed char"}
_KNOBS: dict[str, tuple[Any, ...]] = {
    "walk": ("flat", "stride", "chunk", "rows"),
    "threads": (256, 64, 128, 512, 1024),
    "vector": (1, 2, 4, 8),
    "items": (1, 2, 4),
    "variant": ("plain", "alias", "each", "wide", "hoist"),
}
_SLIPS = ("none", "floor", "misnamed", "short")
PACK = "template <class S, int W> struct alignas(sizeof(S) * W) Pack { S v[W]; };\n"


@dataclass(frozen=True)
class Given:
    """An input: read at the element itself, or `at` an index in `row` and `column`."""

    name: str
    dtype: str
    at: str = ""


@dataclass(frozen=True)
class Made:
    """An output: like the input `like`, with `each` elements for one of the inputs'; `made` allocates it otherwise."""

    name: str
    dtype: str
    like: str
    made: str = ""
    each: int = 1


@dataclass(frozen=True)
class Stream:
    """Statements find `NAME_o` of each output from `NAME_v` of each input (`NAME_o0`, ... where it has several).

    `forms` and `slips` are ways to write them; `rows` and `cols` are expressions over the inputs, `scalars` further
    arguments. `whole` says that the number of elements is a multiple of every pack.
    """

    task: str
    inputs: tuple[Given, ...]
    outputs: tuple[Made, ...]
    forms: Mapping[str, str]
    slips: Mapping[str, str]
    rows: str = "1"
    cols: str = "p.numel()"
    scalars: tuple[tuple[str, str], ...] = ()
    whole: bool = False


def stream_template(stream: Stream) -> Template:
    slips = (*(slip for slip in _SLIPS if slip != "short" or not stream.whole), *stream.slips)
    knobs = {**_KNOBS, "form": tuple(stream.forms), "slip": slips}
    return Template(stream.task, "cuda", knobs, lambda chosen: _render(stream, chosen), _valid(stream))


def _valid(stream: Stream) -> Callable[[Knobs], bool]:
    def valid(knobs: Knobs) -> bool:
        walk, threads, vector, items = knobs["walk"], knobs["threads"], knobs["vector"], knobs["items"]
        variant, slip = knobs["variant"], knobs["slip"]
        plainest = knobs["form"] == next(iter(stream.forms))
        if walk == "flat" and items > 1 and threads not in (128, 256, 512):
            return False
        if walk == "stride" and threads not in (128, 256, 512):
            return False
        if walk == "chunk" and (items == 1 or threads not in (128, 256)):
            return False
        if walk == "rows" and (stream.rows == "1" or items > 1 or threads > 256):
            return False
        usual = bool(threads == 256) and (items == 1 or (walk == "chunk" and items == 4))
        if not plainest and not (usual and variant == "plain" and slip == "none" and walk in ("flat", "stride")):
            return False
        if variant != "plain" and slip != "none":
            return False
        if variant in ("wide", "hoist") and (stream.rows == "1" or walk == "rows"):
            return False
        if variant == "hoist":
            return vector > 1 and threads in (128, 256) and walk != "chunk"
        if variant != "plain" and (not usual or (variant == "each" and len(stream.outputs) == 1)):
            return False
        if slip == "none":
            return True
        if slip == "short":
            return usual and vector in (4, 8) and walk in ("flat", "stride")
        if slip == "floor":
            return usual and walk == "flat"
        return usual and vector in (1, 4, 8) and walk in ("flat", "stride") and (slip != "misnamed" or walk == "flat")

    return valid


def _work(stream: Stream, outputs: tuple[Made, ...], knobs: Knobs, name: str) -> str:
    """The device function that works on W elements from `i` on."""
    statements = stream.slips.get(knobs["slip"], stream.forms[knobs["form"]])
    loads, values = "", ""
    for given in stream.inputs:
        kind = TYPES[given.dtype]
        if given.at:
            values += f"const float {given.name}_v = {given.name}[{given.at}];\n"
            continue
        loads += (
            f"const Pack<{kind}, W> pack_{given.name} = *reinterpret_cast<const Pack<{kind}, W>*>({given.name} + i);\n"
        )
        read = f"pack_{given.name}.v[k]"
        values += f"const {'int' if given.dtype == 'uint8' else 'float'} {given.name}_v = {read};\n"
    made, kept, written = "", "", ""
    for output in outputs:
        times = f"{output.each} * " if output.each > 1 else ""
        kind = f"Pack<{TYPES[output.dtype]}, {times}W>"
        made += f"{kind} q_{output.name};\n"
        for part in range(output.each):
            place, mark = (f"{times}k + {part}", str(part)) if output.each > 1 else ("k", "")
            kept += f"q_{output.name}.v[{place}] = static_cast<{TYPES[output.dtype]}>({output.name}_o{mark});\n"
        written += f"*reinterpret_cast<{kind}*>({output.name} + {times}i) = q_{output.name};\n"
    ahead, where = _where(knobs, values + statements)
    parameters = f"{_parameters(stream, outputs, knobs)}, long long i"
    return f"""template <int W> __device__ __forceinline__ void {name}({parameters}) {{
    {loads}
    {made}
    {ahead}
    #pragma unroll
    for (int k = 0; k < W; ++k) {{
    {where}
    {values}
    {statements}
    {kept}
    }}
    {written}
    }}
    """


def _where(knobs: Knobs, text: str) -> tuple[str, str]:
    """Statements that find `row` and `column`, before the loop over a pack and in it."""
    by_row, by_column = (bool(re.search(rf"\b{name}\b", text)) for name in ("row", "column"))
    if not by_row and not by_column:
        return "", ""
    if knobs["walk"] == "rows":
        return "const int row = blockIdx.x;\n", "const int column = int(i + k) - row * cols;\n" if by_column else ""
    if knobs["variant"] == "hoist":
        first = "const unsigned first = unsigned(i) % unsigned(cols);\n" if by_column else ""
        row = "const unsigned row = unsigned(i) / unsigned(cols);\n" if by_row else ""
        return first + row, "const unsigned column = first + k;\n" if by_column else ""
    at, cols = ("(i + k)", "cols") if knobs["variant"] == "wide" else ("unsigned(i + k)", "unsigned(cols)")
    row = f"const int row = {at} / {cols};\n" if by_row else ""
    return "", row + (f"const int column = {at} % {cols};\n" if by_column else "")


def _parameters(stream: Stream, outputs: tuple[Made, ...], knobs: Knobs) -> str:
    star = "*" if knobs["variant"] == "alias" else "* __restrict__"
    found = [f"const {TYPES[given.dtype]}{star} {given.name}" for given in stream.inputs]
    found += [f"{TYPES[output.dtype]}{star} {output.name}" for output in outputs]
    return ", ".join([*found, "int cols", *(f"int {name}" for name, _ in stream.scalars)])


def _arguments(stream: Stream, outputs: tuple[Made, ...]) -> str:
    names = [*(given.name for given in stream.inputs), *(output.name for output in outputs)]
    return ", ".join([*names, "cols", *(name for name, _ in stream.scalars)])


def _walk(stream: Stream, outputs: tuple[Made, ...], knobs: Knobs, name: str) -> str:
    walk, items, slip = knobs["walk"], knobs["items"], knobs["slip"]
    given = _arguments(stream, outputs)
    total = "length" if slip == "misnamed" else "total"
    one = f"if (i < {total}) {name}<1>({given}, i);"
    if knobs["vector"] > 1:
        whole, end = f"i + V <= {total}", "total"
        if knobs["variant"] == "hoist":
            whole, end = f"{whole} && cols % V == 0", "min(i + V, total)"
        one = f"if ({whole}) {name}<V>({given}, i);"
        if slip != "short":
            one += f"\nelse for (long long j = i; j < {end}; ++j) {name}<1>({given}, j);"
    here = "(long long)blockIdx.x * THREADS + threadIdx.x"
    if walk == "rows":
        return f"""const long long base = (long long)blockIdx.x * cols;
        if (cols % V == 0)
        for (int c = threadIdx.x * V; c < cols; c += THREADS * V) {name}<V>({given}, base + c);
        else
        for (int c = threadIdx.x; c < cols; c += THREADS) {name}<1>({given}, base + c);
        """
    if walk == "stride":
        return f"""const long long step = (long long)gridDim.x * THREADS * V;
        for (long long i = ({here}) * V; i < total; i += step) {{
        {one}
        }}
        """
    if items == 1:
        return f"const long long i = ({here}) * V;\n{one}\n"
    place = f"(((long long)blockIdx.x * {items} + s) * THREADS + threadIdx.x) * V"
    if walk == "chunk":
        place = f"(({here}) * {items} + s) * V"
    return f"""#pragma unroll
    for (int s = 0; s < {items}; ++s) {{
    const long long i = {place};
    {one}
    }}
    """


def _render(stream: Stream, knobs: Knobs) -> str:
    threads, vector = knobs["threads"], knobs["vector"]
    groups = [stream.outputs]
    if knobs["variant"] == "each":
        groups = [(output,) for output in stream.outputs]
    text = constants(THREADS=threads, V=vector) + PACK
    launches = ""
    each = threads * vector * knobs["items"]
    grid = {
        "stride": f"min({_MULTIPROCESSORS * 4 * knobs['items']}, math.ceil(rows * cols / {threads * vector}))",
        "rows": "rows",
    }.get(knobs["walk"], f"math.ceil(rows * cols / {each})")
    if knobs["slip"] == "floor":
        grid = f"rows * cols // {each}"
    for number, outputs in enumerate(groups):
        mark = f"_{number}" if len(groups) > 1 else ""
        text += _work(stream, outputs, knobs, f"work{mark}")
        head = f'extern "C" __global__ void __launch_bounds__(THREADS) body{mark}'
        text += f"{head}({_parameters(stream, outputs, knobs)}, long long total) {{\n"
        text += f"{_walk(stream, outputs, knobs, f'work{mark}')}}}\n"
        launches += f"    program.body{mark}(({grid},), ({threads},), ({_arguments(stream, outputs)}, rows * cols))\n"
    names = ", ".join(given.name for given in stream.inputs)
    sizes = "".join(f"    {name} = {value}\n" for name, value in stream.scalars)
    made = "".join(f"    {o.name} = {o.made or f'torch.empty_like({o.like})'}\n" for o in stream.outputs)
    back = ", ".join(output.name for output in stream.outputs)
    host = f"def kernel({names}):\n    rows, cols = {stream.rows}, {stream.cols}\n"
    host += f"{sizes}{made}{launches}    return {back}\n"
    dtypes = (*(given.dtype for given in stream.inputs), *(output.dtype for output in stream.outputs))
    return module(text, host, dtypes)
