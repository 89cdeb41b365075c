"""The reader of CUDA programs: the device text as C++ with what is CUDA's own, and the launches of the host code.

Takes the Python form of this project (CUDA text in a string, launched by `program.name(grid, block, arguments)`), a
module with `load_inline` strings, or bare CUDA text.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter

from foretell.kernels.candidate import strip_comments
from foretell.kernels.forecast.c_structure import named_integers
from foretell.kernels.forecast.c_tokens import tokens
from foretell.kernels.forecast.host_code import FILLERS, MAKERS, bound_integers, number
from foretell.kernels.forecast.static_c import count_c
from foretell.kernels.forecast.syntax import Nodes, by_kind
from foretell.kernels.python_text import tree

# What is counted in the device text: whole words, pieces of text (none within another), and patterns. A pattern that
# begins with letters is found much faster than one that begins with `\b`, so the look behind comes after them.
_WORDS = {
    "wide_types": (
        "float4",
        "uint4",
        "int4",
        "double2",
        "longlong2",
        "Pack",
    ),
    "pair_types": (
        "float2",
        "half2",
        "__half2",
        "__nv_bfloat162",
        "int2",
        "uint2",
    ),
    "half": (
        "__half",
        "half",
        "__nv_bfloat16",
    ),
    "double": ("double",),
    "assembly": ("asm",),
    "volatile": ("volatile",),
}
_PIECES = {
    "kernels": ("__global__",),
    "device_functions": ("__device__",),
    "syncwarp": ("__syncwarp",),
    "shared": ("__shared__",),
    "thread_x": ("threadIdx.x",),
    "block_x": ("blockIdx.x",),
    "grid_stride": ("gridDim.x",),
    "reinterpret": ("reinterpret_cast",),
    "streaming": ("__stcs", "__stcg", "__stwt"),
    "async_copy": ("cp.async", "memcpy_async", "__pipeline"),
    "launch_bounds": ("__launch_bounds__",),
    "restrict": ("__restrict__",),
    "fast_math": ("__expf", "__fdividef", "__logf", "__frcp", "__tanhf", "ex2.approx", "rsqrtf"),
    "long_index": ("long long", "int64_t", "size_t"),
}
_PATTERNS = {
    "syncthreads": r"__syncthreads|bar\.sync(?<!\wbar\.sync)|\.sync\(\)",
    "shuffle": r"__shfl|__reduce_\w{1,20}_sync",
    "dynamic_shared": r"extern\s+__shared__",
    "atomic": r"atomic(?<!\watomic)[A-Z]\w*|atom\.(?<!\watom\.)|red\.(?<!\wred\.)",
    "thread_y": r"threadIdx\.[yz]",
    "block_y": r"blockIdx\.[yz]",
    "strided_thread": r"threadIdx\.x\s*\*\s*[A-Za-z_]\w*",
    "read_only": r"__ld(?:g|cs|ca|cg)|ld\.global\.nc(?<!\wld\.global\.nc)",
    "tensor_core": r"wmma::|mma\.sync|wgmma|ldmatrix",
    "unroll": r"#\s*pragma\s+unroll",
    "exact_math": r"(?:e(?<!\we)(?:xpf?|rff)|l(?<!\wl)ogf?|p(?<!\wp)owf?|s(?<!\ws)qrtf|t(?<!\wt)anhf?)\s*\(",
    "divide_modulo": r"[%/]\s*[A-Za-z_]",
    "early_return": r"return(?<!\wreturn)\s*;",
    "loop_stride_one": r"\+\+\w|\w\+\+",
    "include": r"#\s*include",
    "branch": r"if(?<!\wif)\s*\(",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_WORD = re.compile(r"\w+")
_LAUNCH = re.compile(r"(?<!<)<<<(?!<)[^,>]{1,400},[^,>]")  # bounded: no text makes the search start over and over


def count_cuda(source: str) -> dict[str, float]:
    """Features of a CUDA program; the same names for every source, all finite. Never fails."""
    device, host = _parts(source)
    code = tokens(device)
    named = {name: value for name, value in named_integers(code).items() if value > 1}
    logs = sorted(math.log2(value) for value in named.values())
    return {
        **count_c(code),
        **{f"cuda_{name}": float(count) for name, count in _counts(device).items()},
        "named_max_log2": logs[-1] if logs else 0.0,
        "named_min_log2": logs[0] if logs else 0.0,
        "named_count": float(len(logs)),
        "named_product_log2": min(64.0, sum(logs)),
        **_launch_features(host, named, device),
    }


def _counts(device: str) -> dict[str, int]:
    words = Counter(_WORD.findall(device))
    found = {name: sum(words.get(word, 0) for word in kinds) for name, kinds in _WORDS.items()}
    found["wide_types"] += sum(count for word, count in words.items() if word.startswith("Vec"))
    found |= {name: sum(map(device.count, pieces)) for name, pieces in _PIECES.items()}
    return found | {name: len(pattern.findall(device)) for name, pattern in _COMPILED.items()}


def _parts(source: str) -> tuple[str, Nodes | None]:
    """The device text, and the nodes of the host code where the whole is Python."""
    try:
        nodes = by_kind(tree(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return strip_comments(source, "cpp"), None
    remarks = {id(node.value) for node in nodes[ast.Expr]}
    texts = [
        node.value
        for node in nodes[ast.Constant]
        if isinstance(node.value, str) and len(node.value) > 60 and id(node) not in remarks
    ]
    return strip_comments("\n".join(text for text in texts if "__" in text or ";" in text), "cpp"), nodes


def _launch_features(nodes: Nodes | None, named: dict[str, int], device: str) -> dict[str, float]:
    threads: list[float] = []
    axes = shared = launches = makes = fills = 0
    if nodes is not None:
        known = bound_integers(nodes[ast.Assign]) | named
        for call in nodes[ast.Call]:
            if isinstance(call.func, ast.Attribute):
                makes += call.func.attr in MAKERS
                fills += call.func.attr in FILLERS
            if len(call.args) < 3 or not isinstance(call.args[1], ast.Tuple):
                continue
            launches += 1
            sides = [_number(side, known) for side in call.args[1].elts]
            threads.append(float(math.prod(side for side in sides if side)))
            axes = max(axes, len(call.args[0].elts) if isinstance(call.args[0], ast.Tuple) else 1)
            shared += len(call.args) > 3 or bool(call.keywords)
    launches = launches or len(_LAUNCH.findall(device))
    return {
        "launches": float(launches),
        "grid_axes": float(axes),
        "block_threads_log2": math.log2(max(1.0, max(threads, default=1.0))),
        "launches_shared": float(shared),
        "host_makes": float(makes),
        "host_fills": float(fills),
    }


def _number(node: ast.expr, known: dict[str, int]) -> int | None:
    """As `number`, and a product of two of them."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = number(node.left, known), number(node.right, known)
        return left * right if left and right else None
    return number(node, known)
