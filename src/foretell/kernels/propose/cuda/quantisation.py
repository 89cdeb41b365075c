"""CUDA templates of the quantisation family: walks, packs, groups of threads, ways to scale; mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.kernels.propose.cuda.spans import Span, Sweep, span_template
from foretell.kernels.propose.cuda.streams import Given, Made, Stream, stream_template
from foretell.kernels.propose.template import Knobs


def _fake(scale: str, level: str, low: str = "fmaxf(level, -128.0f)") -> str:
    return f"""const int e = exponents_v;
    {scale}
    const float level = {level};
    const float out_o = fminf({low}, 127.0f) * s;"""


_EXP2, _BITS = "const float s = exp2f(e - 5.0f);", "const float s = __int_as_float((e + 122) << 23);"
_ROUND = "floorf(x_v / s + 0.5f)"


def _nibbles(low: str = "packed_v & 15", high: str = "packed_v >> 4", zero: int = 8) -> str:
    return f"""const float out_o0 = float(({low}) - {zero}) * scales_v;
    const float out_o1 = float(({high}) - {zero}) * scales_v;"""


_STREAMS = (
    Stream(
        "dequantize_block_int8",
        (Given("levels", "int8"), Given("scales", "float16", "row")),
        (Made("out", "float16", "levels", "torch.empty_like(levels, dtype=scales.dtype)"),),
        {
            "plain": "const float out_o = levels_v * scales_v;",
            "half": "const __half out_o = __half(levels_v) * __half(scales_v);",
            "double": "const float out_o = double(levels_v) * double(scales_v);",
        },
        {
            "sign": "const float out_o = -levels_v * scales_v;",
            "halved": "const float out_o = int(levels_v) / 2 * scales_v;",
        },
        rows="levels.numel() // 128",
        cols="128",
        whole=True,
    ),
    Stream(
        "dequantize_int4",
        (Given("packed", "uint8"), Given("scales", "float16", "row")),
        (
            Made(
                "out",
                "float16",
                "packed",
                "torch.empty((packed.shape[0], 2 * packed.shape[1]), dtype=scales.dtype, device=packed.device)",
                each=2,
            ),
        ),
        {
            "plain": _nibbles(),
            "divided": _nibbles("packed_v % 16", "packed_v / 16"),
            "product": "const float base = -8.0f * scales_v;\n"
            "const float out_o0 = fmaf(float(packed_v & 15), scales_v, base);\n"
            "const float out_o1 = fmaf(float(packed_v >> 4), scales_v, base);",
        },
        {"swapped": _nibbles("packed_v >> 4", "packed_v & 15"), "zero": _nibbles(zero=7)},
        rows="packed.numel() // 32",
        cols="32",
        whole=True,
    ),
    Stream(
        "quantize_dequantize",
        (Given("x", "bfloat16"), Given("exponents", "int32", "column")),
        (Made("out", "bfloat16", "x"),),
        {
            "plain": _fake(_EXP2, _ROUND),
            "bits": _fake(f"{_BITS}\nconst float t = __int_as_float((132 - e) << 23);", "floorf(fmaf(x_v, t, 0.5f))"),
            "scaled": _fake("const float s = scalbnf(1.0f, e - 5);", "floorf(scalbnf(x_v, 5 - e) + 0.5f)"),
        },
        {
            "unclamped": _fake(_EXP2, _ROUND, "level"),
            "truncated": _fake(_EXP2, "truncf(x_v / s)"),
        },
        rows="x.shape[0]",
        cols="x.shape[1]",
        whole=True,
    ),
)


def _top(knobs: Knobs, over: int) -> tuple[Sweep, ...]:
    """The largest |v|, `scale` (the largest power of two within it, over 2^over), and its `inverse`."""
    value = "v" if knobs["slip"] == "signed" else "fabsf(v)"
    scale = f"const float scale = exp2f(floorf(log2f(top)) - {over}.0f);\nconst float inverse = 1.0f / scale;\n"
    if knobs["form"] == "bits":
        scale = f"""const int low = (__float_as_int(top) & 0x7f800000) - ({over} << 23);
        const float scale = __int_as_float(low);
        const float inverse = __int_as_float(0x7f000000 - low);
        """
    elif knobs["form"] == "split":
        scale = f"const float scale = scalbnf(1.0f, ilogbf(top) - {over});\nconst float inverse = 1.0f / scale;\n"
    return (Sweep({"top": value}, scale, most=True),)


def _codes(knobs: Knobs) -> Mapping[str, str]:
    value = "v / scale" if knobs["form"] == "split" else "v" if knobs["slip"] == "unscaled" else "v * inverse"
    return {"codes": f"__nv_cvt_float_to_fp8({value}, __NV_SATFINITE, __NV_E4M3)"}


def _levels(knobs: Knobs) -> Mapping[str, str]:
    value = "v / scale" if knobs["form"] == "split" else "v * inverse"
    return {"levels": f"fminf({value if knobs['slip'] == 'truncated' else f'floorf({value} + 0.5f)'}, 127.0f)"}


_SPANS = (
    Span(
        "quantize_fp8_rows",
        (Given("x", "bfloat16"),),
        (),
        {
            "codes": ("uint8", "torch.empty_like(x, dtype=torch.uint8)"),
            "scales": ("float32", "torch.empty(rows, dtype=torch.float32, device=x.device)"),
        },
        lambda knobs: _top(knobs, 7),
        _codes,
        4096,
        ("bits", "split"),
        ("signed", "unscaled"),
        marked={"scales": "scale"},
        head="#include <cuda_fp8.h>\n",
    ),
    Span(
        "quantize_block_int8",
        (Given("x", "bfloat16"),),
        (),
        {
            "levels": ("int8", "torch.empty_like(x, dtype=torch.int8)"),
            "scales": (
                "float32",
                "torch.empty((x.shape[0], x.shape[1] // 128), dtype=torch.float32, device=x.device)",
            ),
        },
        lambda knobs: _top(knobs, 6),
        _levels,
        128,
        ("bits", "split"),
        ("signed", "truncated"),
        marked={"scales": "scale"},
        rows="x.numel() // 128",
        cols="128",
    ),
)

TEMPLATES = (*(stream_template(stream) for stream in _STREAMS), *(span_template(span) for span in _SPANS))
