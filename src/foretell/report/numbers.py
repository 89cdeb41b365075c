"""Numbers as people read them: speedups, seconds, bytes, shares. Used by the report and by the command line."""

from __future__ import annotations

import math


def times(speedup: float | None, digits: int = 3, sign: str = "×") -> str:
    """3.42×, 0.87×, 12.4×; a dash where there is none."""
    if speedup is None or not math.isfinite(speedup):
        return "–"
    if speedup >= 100:
        return f"{speedup:.0f}{sign}"
    decimals = max(0, digits - 1 - max(0, math.floor(math.log10(speedup)) if speedup > 0 else 0))
    text = f"{speedup:.{decimals}f}"
    if float(text) == 0.0 and speedup > 0:
        text = f"{speedup:.2g}"
    return f"{text}{sign}"


def seconds(value: float | None) -> str:
    """12 ms, 3.4 s, 2 min 5 s, 1 h 12 min."""
    if value is None or not math.isfinite(value):
        return "–"
    if value < 0:
        return f"−{seconds(-value)}"
    if value == 0:
        return "0 s"
    if value < 1e-3:
        return f"{value * 1e6:.3g} µs"
    if value < 0.9995:
        return f"{value * 1e3:.3g} ms"
    if value < 99.95:
        decimals = 0 if value == round(value) else 1 if value >= 9.995 else 2
        return f"{value:.{decimals}f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def percent(share: float | None, digits: int = 0) -> str:
    """82 %; a dash where there is none, and never 0 % for something above zero."""
    if share is None or not math.isfinite(share):
        return "–"
    if 0 < share < 0.5 * 10 ** (-digits - 2):
        return f"<{10**-digits:g} %"
    return f"{share * 100:.{digits}f} %"


def size(value: float) -> str:
    """Bytes in powers of 1024: 32 KiB, 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def rate(value: float, unit: str) -> str:
    """Powers of 1000: 12.3 GB/s, 1.4 TFLOP/s, 2.5 GHz."""
    for prefix in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5:
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    return f"{value:.3g} P{unit}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """1 candidate, 12 candidates."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}".replace(",", " ")
