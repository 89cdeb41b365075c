"""C++ template of the histogram: copies of the table, slices, reductions, atomics, comparisons, and usual mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.dense import HEADER, Rules, fits, parallel
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.template import Knobs, Template

_BLOCK = 4096

_KNOBS = {
    "scheme": ("direct", "slices", "region", "reduction", "atomic", "compare"),
    "threads": ("one", "all"),
    "copies": (1, 2, 4, 8),
    "unroll": (1, 4, 8),
    "layout": ("apart", "mixed"),
    "slices": (2, 8, 32),
    "fetch": ("byte", "word"),
    "few": (4, 16, 64),
    "lane": ("int32_t", "uint8_t", "vector"),
    "schedule": ("static", "dynamic, 1"),
    "check": ("yes", "no"),
    "slip": ("none", "tail", "unset", "narrow", "twice", "lost", "table", "name"),
}

_USES = {
    "direct": {"copies", "unroll", "layout", "check", "fetch"},
    "slices": {"threads", "copies", "unroll", "layout", "slices", "check", "fetch"},
    "region": {"threads", "copies", "unroll", "schedule", "check", "fetch"},
    "reduction": {"threads", "unroll", "schedule", "check"},
    "atomic": {"threads", "check", "schedule"},
    "compare": {"threads", "few", "lane", "copies", "unroll", "fetch"},
}


def _lanes_fit(k: Knobs) -> bool:
    """Copies need an unrolled loop; eight values fetched as one word need eight steps and no test."""
    if k["fetch"] == "word" and (k["unroll"] < 8 or k["check"] == "yes"):
        return False
    return bool(k["copies"] == 1 or k["unroll"] >= k["copies"])


_RULES: Rules = {
    "direct": lambda k: _lanes_fit(k) and (k["copies"] > 1 or k["layout"] == "apart"),
    "slices": lambda k: (
        k["threads"] == "all"
        and _lanes_fit(k)
        and k["copies"] < 8
        and (k["layout"] == "apart" or (k["copies"] == 1 and k["check"] == "no"))
    ),
    "region": lambda k: k["threads"] == "all" and _lanes_fit(k) and k["copies"] < 8,
    "reduction": lambda k: k["threads"] == "all",
    "atomic": lambda k: k["threads"] == "all" and k["check"] == "no",
    "compare": lambda k: (k["copies"], k["unroll"]) in ((1, 1), (4, 8)) and k["fetch"] == "byte",
    "tail": lambda k: (
        k["scheme"] == "direct"
        and k["unroll"] > 1
        and k["check"] == "no"
        and k["copies"] < 4
        and k["layout"] == "apart"
    ),
    "unset": lambda k: (
        k["scheme"] in ("region", "reduction") and k["unroll"] == 4 and k["copies"] == 1 and k["check"] == "no"
    ),
    "narrow": lambda k: (
        (k["scheme"] == "direct" and k["copies"] > 1 and k["unroll"] == 8 and k["fetch"] == "word")
        or (k["scheme"] == "compare" and k["lane"] != "int32_t" and k["few"] == 16 and k["unroll"] == 1)
    ),
    "twice": lambda k: k["scheme"] == "region" and k["copies"] > 1 and k["check"] == "no" and k["schedule"] == "static",
    "lost": lambda k: (
        (k["scheme"] == "slices" and k["layout"] == "apart" and k["copies"] == 1 and k["slices"] == 8)
        or (k["scheme"] == "region" and k["copies"] == 1 and k["schedule"] == "static" and k["check"] == "no")
    ),
    "table": lambda k: k["scheme"] == "region" and k["copies"] == 4 and k["schedule"] == "static",
    "name": lambda k: k["scheme"] == "slices" and k["copies"] == 4 and k["slices"] == 32 and k["unroll"] == 8,
}


def _bump(knobs: Knobs, target: str, i: str) -> str:
    """One value counted; `target` is where, with VALUE for the value."""
    if knobs["check"] == "no":
        return f"{target.replace('VALUE', f'values[{i}]')} += 1;"
    step = target.replace("VALUE", "value")
    return f"{{ const int32_t value = values[{i}]; if (value < bins) {step} += 1; }}"


def _spot(knobs: Knobs, table: str, copy: int) -> str:
    if knobs["copies"] == 1:
        return f"{table}[VALUE]"
    if knobs["layout"] == "mixed":
        return f"{table}[VALUE * {knobs['copies']} + {copy}]"
    return f"{table}[{copy} * bins + VALUE]" if copy else f"{table}[VALUE]"


def _count(knobs: Knobs, table: str, first: str, last: str) -> str:
    """The values from `first` to `last` counted into the copies of `table` in turn."""
    unroll, copies = knobs["unroll"], knobs["copies"]
    if unroll == 1:
        return f"for (int64_t i = {first}; i < {last}; ++i) {_bump(knobs, _spot(knobs, table, 0), 'i')}"
    if knobs["fetch"] == "word":
        spots = (_spot(knobs, table, u % copies).replace("VALUE", f"(word >> {8 * u} & 255)") for u in range(unroll))
        steps = f"uint64_t word; std::memcpy(&word, values + i, 8); {' '.join(f'{spot} += 1;' for spot in spots)}"
    else:
        steps = "\n                ".join(
            _bump(knobs, _spot(knobs, table, u % copies), f"i + {u}") for u in range(unroll)
        )
    rest = f"for (; i < {last}; ++i) {_bump(knobs, _spot(knobs, table, 0), 'i')}"
    return f"""{{
            int64_t i = {first};
            for (; i + {unroll} <= {last}; i += {unroll}) {{
                {steps}
            }}
            {"" if knobs["slip"] == "tail" else rest}
        }}"""


def _folded(knobs: Knobs, table: str) -> str:
    """The sum over the copies of `table` at bin b."""
    return " + ".join(_spot(knobs, table, copy).replace("VALUE", "b") for copy in range(knobs["copies"]))


_ZERO = "std::memset(counts, 0, sizeof(int32_t) * bins);"


def _direct(knobs: Knobs) -> str:
    if knobs["copies"] == 1:
        return f"{_ZERO}\n    {_count(knobs, 'counts', '0', 'count')}"
    kind = "uint16_t" if knobs["slip"] == "narrow" else "int32_t"
    return f"""{kind}* part = new {kind}[{knobs["copies"]} * bins]();
    {_count(knobs, "part", "0", "count")}
    for (int64_t b = 0; b < bins; ++b) counts[b] = {_folded(knobs, "part")};
    delete[] part;"""


def _slices(knobs: Knobs) -> str:
    """The input cut into slices, each with a table of its own; `mixed` lays the tables bin by bin."""
    slices, copies = knobs["slices"], knobs["copies"]
    size = "tables" if knobs["slip"] == "name" else f"{slices * copies}"
    if knobs["layout"] == "mixed":
        count = _count(knobs, "part", "first", "last").replace("part[", f"part[s + {slices} * ")
        total = f"part[b * {slices} + s]"
        table = ""
    else:
        count = _count(knobs, "own", "first", "last")
        total = _folded(knobs, "own")
        table = f"int32_t* own = part + s * {copies} * bins;"
    sign = "=" if knobs["slip"] == "lost" else "+="
    return f"""int32_t* part = new int32_t[{size} * bins]();
    {parallel(knobs)}for (int64_t s = 0; s < {slices}; ++s) {{
        {table}
        const int64_t first = count * s / {slices}, last = count * (s + 1) / {slices};
        {count}
    }}
    {_ZERO}
    for (int64_t s = 0; s < {slices}; ++s) {{
        {table}
        for (int64_t b = 0; b < bins; ++b) counts[b] {sign} {total};
    }}
    delete[] part;"""


def _blocks(knobs: Knobs, table: str) -> str:
    return f"""for (int64_t at = 0; at < count; at += {_BLOCK}) {{
        const int64_t last = std::min<int64_t>(count, at + {_BLOCK});
        {_count(knobs, table, "at", "last")}
    }}"""


def _region(knobs: Knobs) -> str:
    """Each thread with a table of its own, merged under a lock."""
    copies, lost = knobs["copies"], knobs["slip"] == "lost"
    share = "" if knobs["slip"] == "twice" else f"#pragma omp for schedule({knobs['schedule']}) nowait"
    own, free = f"int32_t* own = new int32_t[{copies} * bins]();", "delete[] own;"
    if knobs["slip"] == "table":
        own, free = f"int32_t own[{copies * 128}] = {{}};", ""
    return f"""{"" if knobs["slip"] == "unset" else _ZERO}
    #pragma omp parallel
    {{
    {own}
    {share}
    {_blocks(knobs, "own")}
    {"" if lost else "#pragma omp critical"}
    for (int64_t b = 0; b < bins; ++b) counts[b] {"=" if lost else "+="} {_folded(knobs, "own")};
    {free}
    }}"""


def _reduction(knobs: Knobs) -> str:
    return f"""{"" if knobs["slip"] == "unset" else _ZERO}
    #pragma omp parallel for schedule({knobs["schedule"]}) reduction(+ : counts[:bins])
    {_blocks(knobs, "counts")}"""


def _atomic(knobs: Knobs) -> str:
    return f"""{_ZERO}
    #pragma omp parallel for schedule({knobs["schedule"]})
    for (int64_t at = 0; at < count; at += {_BLOCK})
        for (int64_t i = at; i < std::min<int64_t>(count, at + {_BLOCK}); ++i) {{
            #pragma omp atomic
            counts[values[i]] += 1;
        }}"""


def _compare(knobs: Knobs) -> str:
    """With few bins every value is compared with every bin; with many a table is used.

    Lanes of one byte hold 255 matches at most, so blocks of the input have at most 255 rounds.
    """
    every = knobs["threads"] == "all"
    if knobs["lane"] == "int32_t":
        match = f"""{parallel(knobs)}for (int64_t b = 0; b < bins; ++b) {{
            int32_t total = 0;
            for (int64_t i = 0; i < count; ++i) total += values[i] == b;
            counts[b] = total;
        }}"""
    else:
        block = 64 * (1024 if knobs["slip"] == "narrow" else 255)
        kind, step = "uint8_t part[64]", "for (int l = 0; l < 64; ++l) part[l] += values[i + l] == b;"
        if knobs["lane"] == "vector":
            kind, step = "bytes part", "{ bytes v; std::memcpy(&v, values + i, 64); part -= (bytes)(v == (uint8_t)b); }"
        match = f"""{_ZERO}
        {"#pragma omp parallel for schedule(static) reduction(+ : counts[:bins])" if every else ""}
        for (int64_t at = 0; at < count; at += {block}) {{
            const int64_t last = std::min<int64_t>(count, at + {block}), whole = last - (last - at) % 64;
            for (int64_t b = 0; b < bins; ++b) {{
                {kind} = {{}};
                for (int64_t i = at; i < whole; i += 64) {step}
                uint8_t found[64];
                std::memcpy(found, &part, 64);
                int32_t total = 0;
                for (int l = 0; l < 64; ++l) total += found[l];
                for (int64_t i = whole; i < last; ++i) total += values[i] == b;
                counts[b] += total;
            }}
        }}"""
    return f"""if (bins <= {knobs["few"]}) {{
        {match}
        return;
    }}
    {_slices(knobs) if every else _direct(knobs)}"""


_BODIES = {
    "direct": _direct,
    "slices": _slices,
    "region": _region,
    "reduction": _reduction,
    "atomic": _atomic,
    "compare": _compare,
}


def _render(knobs: Knobs) -> str:
    vector = "\ntypedef uint8_t bytes __attribute__((vector_size(64)));\n" if knobs["lane"] == "vector" else ""
    return tidy(f"""{HEADER}{vector}
extern "C" void kernel(const uint8_t* __restrict__ values, int32_t* __restrict__ counts, int64_t count, int64_t bins) {{
    {_BODIES[knobs["scheme"]](knobs)}
}}
""")


TEMPLATES = (Template("histogram", "cpp", _KNOBS, _render, lambda knobs: fits(knobs, _KNOBS, _USES, _RULES)),)
