"""Which headers a source needs beyond the few that every extension gets.

torch's headers pull in most of the standard library, and sources rely on that without naming what they use. Including
all of it costs seconds per build; so a source's own words say which headers to add.
"""

from __future__ import annotations

import re

_STANDARD = {
    "algorithm": "sort stable_sort partial_sort nth_element find find_if count count_if all_of any_of none_of for_each "
    "transform generate replace remove remove_if reverse rotate unique max_element min_element minmax_element clamp "
    "lower_bound upper_bound binary_search fill_n copy_n copy_if shuffle is_sorted accumulate merge next_permutation "
    "includes set_difference mismatch search partition",
    "numeric": "accumulate iota inner_product partial_sum reduce gcd lcm adjacent_difference",
    "iostream": "cout cerr endl cin clog flush",
    "iomanip": "setprecision setw setfill fixed hex boolalpha",
    "sstream": "stringstream ostringstream istringstream",
    "fstream": "ifstream ofstream fstream",
    "map": "map multimap",
    "unordered_map": "unordered_map unordered_multimap",
    "set": "set multiset",
    "unordered_set": "unordered_set",
    "deque": "deque",
    "queue": "queue priority_queue",
    "stack": "stack",
    "list": "list",
    "functional": "function bind plus minus multiplies divides greater less hash reference_wrapper ref cref invoke",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared",
    "mutex": "mutex lock_guard unique_lock once_flag call_once scoped_lock recursive_mutex",
    "thread": "thread this_thread",
    "atomic": "atomic atomic_int atomic_bool memory_order_relaxed memory_order_acquire memory_order_release",
    "chrono": "chrono",
    "random": "mt19937 mt19937_64 random_device uniform_real_distribution uniform_int_distribution normal_distribution",
    "complex": "complex",
    "variant": "variant visit holds_alternative",
    "any": "any any_cast",
    "bitset": "bitset",
    "iterator": "back_inserter istream_iterator ostream_iterator advance distance",
    "regex": "regex",
    "typeinfo": "type_info",
    "cstdarg": "va_list",
    "future": "future promise async",
    "condition_variable": "condition_variable",
}
_HEADER_OF: dict[str, list[str]] = {}
for _header, _names in _STANDARD.items():
    for _name in _names.split():
        _HEADER_OF.setdefault(_name, []).append(_header)

_HALF = re.compile(r"\b(?:__)?half2?\b|\b__(?:h|float2half|half2float|floats2half2|half22float2)\w*\(")
_BFLOAT16 = re.compile(r"\b(?:__)?nv_bfloat16\w*|\b__nv_bfloat162?\b|\b__float2bfloat16\w*|\b__bfloat162float\w*")
_BRACED_EXTREME = re.compile(r"\b(?:min|max)\s*(?:<[^>()]*>)?\s*\(\s*\{")
# Special functions of the standard library: a tenth of what a compiler reads for <cmath>, and hardly ever called.
_SPECIAL = re.compile(
    r"\b(?:assoc_laguerre|assoc_legendre|beta|comp_ellint_[123]|cyl_bessel_[ijk]|cyl_neumann|ellint_[123]|expint|hermite|"
    r"laguerre|legendre|riemann_zeta|sph_bessel|sph_legendre|sph_neumann)[fl]?\s*\("
)
_WITHOUT_SPECIAL = "-D_GLIBCXX_BITS_SPECFUN_H=1"  # libstdc++ takes its header to be included already
_PARTS = {
    "FORETELL_DISPATCH": re.compile(r"AT_DISPATCH_|acc_type|opmath_type|\b(?:Half|BFloat16)\b|AT_PRIVATE_CASE"),
    "FORETELL_ACCESSORS": re.compile(r"accessor|TensorAccessor|PtrTraits"),
    "FORETELL_CUBLAS": re.compile(r"\bcublas\w+|CUDABlasHandle"),
    "FORETELL_INDEXING": re.compile(r"\bindex(?:_put_)?\s*\(|indexing::"),
}


def trimming_options(source: str) -> tuple[str, ...]:
    """Compiler options that leave out standard headers which the source does not need."""
    return () if _SPECIAL.search(source) else (_WITHOUT_SPECIAL,)


def prelude(source: str, cuda: bool) -> str:
    """Text that goes before the headers of this package: standard headers, and which parts of ours to include."""
    words = set(re.findall(r"\bstd\s*::\s*(\w+)", source))
    if re.search(r"\busing\s+namespace\s+std\b", source):
        words |= set(re.findall(r"\w+", source))
    headers = {header for word in words for header in _HEADER_OF.get(word, ())}
    if _BRACED_EXTREME.search(source):
        headers.add("algorithm")
    lines = [f"#include <{header}>" for header in sorted(headers)]
    if cuda:
        lines += ["#include <cuda_fp16.h>"] if _HALF.search(source) else []
        lines += ["#include <cuda_bf16.h>"] if _BFLOAT16.search(source) else []
    lines += [f"#define {name}" for name, pattern in _PARTS.items() if pattern.search(source)]
    return "\n".join(["#pragma once", *lines, ""])
