"""The reader of C and C++ sources: counts of loops, memory accesses, arithmetic, pragmas, types and constants.

It follows brackets and statements without a grammar, so it reads unfinished and broken programs too. Counts of
operations come thrice where it matters: in all, inside any loop (`_looped`), and at the deepest loop level (`_inner`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from foretell.kernels.forecast import c_structure as structure
from foretell.kernels.forecast.c_tokens import Token, integer


def _by_word(kinds: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for kind, words in kinds.items():
        for word in words.split():
            table[word] = (*table.get(word, ()), kind)
    return table


_CALLS = {
    "exp": "exp expf exp2 exp2f expm1 expm1f",
    "log": "log logf log2 log2f log10 log1p log1pf",
    "power": "pow powf",
    "root": "sqrt sqrtf rsqrt rsqrtf cbrt hypot",
    "tanh": "tanh tanhf sinh cosh",
    "trig": "sin cos tan sinf cosf tanf sincosf",
    "erf": "erf erff erfc erfcf",
    "pick": "min max fmin fmax fminf fmaxf fabs fabsf abs clamp",
    "fused": "fma fmaf",
    "round": "floor floorf ceil ceilf round roundf rint rintf lrintf nearbyintf",
    "copy": "memcpy memmove copy copy_n",
    "fill": "memset fill fill_n",
    "allocate": "malloc calloc aligned_alloc posix_memalign alloca",
    "prefetch": "__builtin_prefetch _mm_prefetch",
}
_WORDS = {
    "branch": "if switch",
    "jump": "break continue goto",
    "double": "double",
    "float": "float",
    "wide_int": "int64_t size_t long uint64_t ptrdiff_t",
    "narrow_int": "int int32_t uint32_t unsigned short int16_t int8_t uint8_t char",
    "static": "static",
    "restrict": "__restrict__ __restrict restrict",
    "constant": "const constexpr",
    "aligned": "alignas __builtin_assume_aligned aligned",
    "cast": "static_cast reinterpret_cast",
    "volatile": "volatile atomic",
    "template": "template",
    "allocate": "new vector unique_ptr",
    "vector_type": "vector_size __m128 __m256 __m512 __m256i __m512i",
}
_MARKS = {
    "divide": "/ /=",
    "modulo": "% %=",
    "multiply": "* *=",
    "add": "+ - += -=",
    "accumulate": "+= -= *= /=",
    "compare": "< > <= >= == !=",
    "choose": "?",
    "logic": "&& ||",
    "bits": "& | ^ << >> &= |= ^=",
    "statement": ";",
}
_CALL_KINDS, _WORD_KINDS, _MARK_KINDS = _by_word(_CALLS), _by_word(_WORDS), _by_word(_MARKS)
_OTHER_KINDS = (
    "call",
    "intrinsic",
    "intrinsic_512",
    "gather",
    "float_literal",
    "double_literal",
    "text",
    "lambda",
)
_KINDS = tuple(dict.fromkeys((*_CALLS, *_WORDS, *_MARKS, *_OTHER_KINDS)))
_BY_DEPTH = tuple(
    (kind, f"{kind}_looped", f"{kind}_inner")
    for kind in (
        *("divide", "modulo", "multiply", "add", "accumulate", "compare", "choose", "branch", "jump", "call"),
        *("exp", "log", "root", "tanh", "erf", "pick", "copy", "allocate", "intrinsic"),
    )
)

_PRAGMA_WORDS = (
    *("omp", "parallel", "for", "simd", "atomic", "critical", "barrier", "collapse", "reduction"),
    *("nowait", "num_threads", "task", "ivdep", "unroll", "safelen"),
)
_SCHEDULES = ("static", "dynamic", "guided")
_SCHEDULE = re.compile(r"schedule\s*\(\s*(\w+)\s*,?\s*(\d{0,9})")
_TYPES = frozenset(
    (
        *("float", "double", "int", "char", "short", "long", "unsigned", "size_t"),
        *("int64_t", "int32_t", "uint64_t", "uint32_t", "int8_t", "uint8_t"),
    )
)


def count_c(code: Sequence[Token]) -> dict[str, float]:
    """Features of a C or C++ source, given as tokens; the same names for every source, all finite.

    Never fails, and takes time linear in the number of tokens.
    """
    depths, loops = structure.loop_depths(code)
    deepest = max((loop.depth for loop in loops), default=0)
    return {
        "tokens": float(len(code)),
        "names": float(len({text for kind, text in code if kind == "name"})),
        "repeated_statements": float(structure.repeated_statements(code)),
        **_counts(code, depths, deepest),
        **_loops(code, loops, deepest),
        **_subscripts(code, depths),
        **_pragmas(code, depths),
        **_constants(code),
    }


def _kinds(code: Sequence[Token], index: int) -> tuple[str, ...]:
    """What the token at `index` counts as."""
    kind, text = code[index]
    if kind == "mark":
        if text == "[" and index and code[index - 1].text in ("=", "(", ","):
            return ("lambda",)
        return _MARK_KINDS.get(text, ())
    if kind == "number":
        if integer(text) is not None:
            return ()
        return ("float_literal",) if text[-1] in "fF" else ("double_literal",)
    if kind == "name":
        follows = code[index + 1].text if index + 1 < len(code) else ""
        if text.startswith("_mm"):
            wide = ("intrinsic_512",) if text.startswith("_mm512") else ()
            return ("intrinsic", *wide, *(("gather",) if "gather" in text else ()))
        if follows == "(" and text in _CALL_KINDS:
            return ("call", *_CALL_KINDS[text])
        if text in _WORD_KINDS:
            before = code[index - 1].text if index else ""
            return ("cast",) if before == "(" and follows == ")" and text in _TYPES else _WORD_KINDS[text]
        return ("call",) if follows == "(" and text not in ("for", "while") else ()
    return ("text",) if kind == "text" else ()


def _counts(code: Sequence[Token], depths: Sequence[int], deepest: int) -> dict[str, float]:
    total: Counter[str] = Counter()
    looped: Counter[str] = Counter()
    inner: Counter[str] = Counter()
    read = [
        _MARK_KINDS.get(text, ()) if kind == "mark" and text != "[" else _kinds(code, index)
        for index, (kind, text) in enumerate(code)
    ]
    for (kinds, depth), count in Counter(zip(read, depths, strict=True)).items():
        for kind in kinds:
            total[kind] += count
            if depth:
                looped[kind] += count
                if depth == deepest:
                    inner[kind] += count
    found = {kind: float(total.get(kind, 0)) for kind in _KINDS}
    for kind, in_loop, deep in _BY_DEPTH:
        found[in_loop], found[deep] = float(looped.get(kind, 0)), float(inner.get(kind, 0))
    return found


def _loops(code: Sequence[Token], loops: Sequence[structure.Loop], deepest: int) -> dict[str, float]:
    fixed, steps, trips = 0, [1], [1]
    for loop in loops:
        header = code[loop.start : min(loop.body, loop.start + 64)]
        bounds = [_follows(header, i) for i, token in enumerate(header) if token.text in ("<", "<=", "!=")]
        known = [bound for bound in bounds if bound is not None]
        fixed += bool(known)
        trips += known
        steps += [
            step for i, token in enumerate(header) if token.text == "+=" if (step := _follows(header, i)) is not None
        ]
    return {
        "loops": float(len(loops)),
        "loop_depth": float(deepest),
        "loops_outer": float(sum(loop.depth == 1 for loop in loops)),
        "loops_inner": float(sum(loop.depth == deepest for loop in loops)),
        "loops_fixed": float(fixed),
        "loops_stepped": float(len(steps) - 1),
        "trips_log2": _log2(max(trips)),
        "step_log2": _log2(max(steps)),
    }


def _follows(header: Sequence[Token], index: int) -> int | None:
    return integer(header[index + 1].text) if index + 1 < len(header) and header[index + 1].kind == "number" else None


def _subscripts(code: Sequence[Token], depths: Sequence[int]) -> dict[str, float]:
    found = structure.subscripts(code)
    deepest = max((depths[s.at] for s in found), default=0)
    return {
        "subscript": float(len(found)),
        "subscript_looped": float(sum(depths[s.at] > 0 for s in found)),
        "subscript_inner": float(sum(0 < depths[s.at] == deepest for s in found)),
        "subscript_multiplied": float(sum(s.multiplied for s in found)),
        "subscript_multiplied_inner": float(sum(s.multiplied and 0 < depths[s.at] == deepest for s in found)),
        "subscript_added": float(sum(s.added for s in found)),
        "subscript_nested": float(sum(s.nested for s in found)),
        "subscript_constant": float(sum(s.constant for s in found)),
    }


def _pragmas(code: Sequence[Token], depths: Sequence[int]) -> dict[str, float]:
    """Pragmas by the words in them, and how deep in loops a parallel region is started (anew each time)."""
    words: Counter[str] = Counter()
    found = dict.fromkeys((f"schedule_{kind}" for kind in _SCHEDULES), 0.0)
    chunk = parallel_depth = collapse = 0
    for (kind, text), depth in zip(code, depths, strict=True):
        if kind != "directive" or "pragma" not in text:
            continue
        present = set(re.findall(r"[a-z_]+", text))
        words.update(word for word in _PRAGMA_WORDS if word in present)
        if "parallel" in present:
            parallel_depth = max(parallel_depth, depth)
        if clause := _SCHEDULE.search(text):
            if clause[1] in _SCHEDULES:
                found[f"schedule_{clause[1]}"] += 1.0
            chunk = max(chunk, int(clause[2] or 0))
        if clause := re.search(r"collapse\s*\(\s*(\d{1,2})", text):
            collapse = max(collapse, int(clause[1]))
    found |= {f"pragma_{word}": float(words[word]) for word in _PRAGMA_WORDS}
    return found | {
        "parallel_depth": float(parallel_depth),
        "collapse_loops": float(collapse),
        "schedule_chunk_log2": _log2(chunk),
    }


def _constants(code: Sequence[Token]) -> dict[str, float]:
    """Integer constants, among them those a tile or a block would have: even, from 4 to 4096, with few odd factors."""
    named = structure.named_integers(code)
    literal = (integer(text) for kind, text in code if kind == "number")
    values = [abs(v) for v in (*literal, *named.values()) if v is not None]
    tiles = [v for v in values if 4 <= v <= 4096 and (v & -v) >= max(2, v // 8)]
    arrays = structure.local_arrays(code, _TYPES, named)
    return {
        "integers": float(len(values)),
        "integer_max_log2": _log2(max(values, default=0)),
        "integer_median_log2": _log2(median(values) if values else 0),
        "tiles": float(len(tiles)),
        "tile_max_log2": _log2(max(tiles, default=0)),
        "tile_min_log2": _log2(min(tiles, default=0)),
        "tile_median_log2": _log2(median(tiles) if tiles else 0),
        "arrays": float(len(arrays)),
        "array_items_log2": _log2(sum(arrays)),
    }


def _log2(value: float) -> float:
    """log2(1 + value), so that absent counts as 0."""
    return math.log2(1.0 + value)
