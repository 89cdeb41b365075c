"""A matrix product whose result is built block by block in registers: a part of the matmul templates."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.propose.template import Knobs


def _rows_at_once(knobs: Knobs, rows: int, load: Callable[[str], str]) -> str:
    """The product of `rows` rows of A with `width` columns of B, held in registers, then stored."""
    width, panel = knobs["width"], knobs["pack"] == "panel"
    used = "used" if panel else str(width)
    count = f"const int64_t used = std::min<int64_t>({width}, n - j);" if panel else ""
    if knobs["hold"] == "vector":
        held = range(rows)
        steps = " ".join(f"s{r} += a[(i + {r}) * k + p] * v;" for r in held)
        keep = " ".join(f"std::memcpy(c + (i + {r}) * n + j, &s{r}, sizeof(float) * {used});" for r in held)
        return f"""{count}
                vec {", ".join(f"s{r} = {{}}" for r in held)};
                for (int64_t p = 0; p < k; ++p) {{
                    vec v;
                    std::memcpy(&v, &{load("0")}, sizeof(v));
                    {steps}
                }}
                {keep}"""
    return f"""{count}
                float s[{rows}][{width}] = {{}};
                for (int64_t p = 0; p < k; ++p)
                    for (int r = 0; r < {rows}; ++r)
                        for (int w = 0; w < {width}; ++w) s[r][w] += a[(i + r) * k + p] * {load("w")};
                for (int r = 0; r < {rows}; ++r) std::memcpy(c + (i + r) * n + j, s[r], sizeof(float) * {used});"""


def block_product(knobs: Knobs, at: Callable[[str, str], str], outer: str, inner: str) -> str:
    """Rows of A in groups of `rows`, columns of B in groups of `width`, what is left over by single rows and columns.

    `at(p, j)` reads B; `outer` and `inner` are the OpenMP lines before the loops over rows and columns.
    """
    width, rows, panel = knobs["width"], knobs["rows"], knobs["pack"] == "panel"

    def load(w: str) -> str:
        return f"bb[(j / {width} * k + p) * {width} + {w}]" if panel else at("p", f"(j + {w})")

    def across(count: int) -> str:
        bound = "j < n" if panel else f"j < n - n % {width}"
        rest = f"""for (int64_t j = n - n % {width}; j < n; ++j)
                for (int64_t r = i; r < i + {count}; ++r) {{
                    float sum = 0.0f;
                    for (int64_t p = 0; p < k; ++p) sum += a[r * k + p] * {at("p", "j")};
                    c[r * n + j] = sum;
                }}"""
        return f"""{inner}for (int64_t j = 0; {bound}; j += {width}) {{
                {_rows_at_once(knobs, count, load)}
            }}
            {"" if panel or knobs["slip"] == "tail" else rest}"""

    end = "whole" if knobs["slip"] != "name" else "whole_rows"
    last = f"for (int64_t i = {end}; i < m; ++i) {{\n            {across(1)}\n        }}" if rows > 1 else ""
    return f"""const int64_t whole = m - m % {rows};
        {outer}for (int64_t i = 0; i < whole; i += {rows}) {{
            {across(rows)}
        }}
        {last}"""
