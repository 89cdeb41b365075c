"""The reader of CUDA programs: the device text as C++ with what is CUDA's own, and the launches of the host code.

Takes the Python form of this project (CUDA text in a string, launched by `program.name(grid, block, arguments)`), a
module with `load_inline` strings, or bare CUDA text.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from foretell.kernels.candidate import strip_comments
from foretell.kernels.forecast.c_structure import named_integers
from foretell.kernels.forecast.c_tokens import tokens
from foretell.kernels.forecast.host_code import FILLERS, MAKERS, bound_integers, number
from foretell.kernels.forecast.static_c import count_c

_PATTERNS = {
    "kernels": r"__global__",
    "device_functions": r"__device__",
    "syncthreads": r"__syncthreads|\bbar\.sync|\.sync\(\)",
    "syncwarp": r"__syncwarp",
    "shuffle": r"__shfl|__reduce_\w+_sync",
    "shared": r"__shared__",
    "dynamic_shared": r"extern\s+__shared__",
    "atomic": r"\batomic[A-Z]\w*|\batom\.|\bred\.",
    "thread_x": r"threadIdx\.x",
    "thread_y": r"threadIdx\.[yz]",
    "block_x": r"blockIdx\.x",
    "block_y": r"blockIdx\.[yz]",
    "grid_stride": r"gridDim\.x",
    "strided_thread": r"threadIdx\.x\s*\*\s*[A-Za-z_]\w*",
    "wide_types": r"\b(?:float4|uint4|int4|double2|longlong2|Pack|Vec\w*)\b",
    "pair_types": r"\b(?:float2|half2|__half2|__nv_bfloat162|int2|uint2)\b",
    "reinterpret": r"reinterpret_cast",
    "half": r"\b(?:__half|half|__nv_bfloat16)\b",
    "double": r"\bdouble\b",
    "read_only": r"__ldg|__ldcs|__ldca|__ldcg|\bld\.global\.nc",
    "streaming": r"__stcs|__stcg|__stwt",
    "async_copy": r"cp\.async|memcpy_async|__pipeline",
    "tensor_core": r"wmma::|mma\.sync|wgmma|ldmatrix",
    "unroll": r"#\s*pragma\s+unroll",
    "launch_bounds": r"__launch_bounds__",
    "restrict": r"__restrict__",
    "fast_math": r"__expf|__fdividef|__logf|__frcp|__tanhf|ex2\.approx|rsqrtf",
    "exact_math": r"\b(?:expf|tanhf|erff|logf|powf|sqrtf|exp|log|pow|tanh)\s*\(",
    "divide_modulo": r"[%/]\s*[A-Za-z_]",
    "assembly": r"\basm\b",
    "early_return": r"\breturn\s*;",
    "loop_stride_one": r"\+\+\w|\w\+\+",
    "long_index": r"long long|int64_t|size_t",
    "volatile": r"\bvolatile\b",
    "include": r"#\s*include",
    "branch": r"\bif\s*\(",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_LAUNCH = re.compile(r"<<<([^,>]+),([^,>]+)")


def count_cuda(source: str) -> dict[str, float]:
    """Features of a CUDA program; the same names for every source, all finite. Never fails."""
    device, tree = _parts(source)
    code = list(tokens(device))
    named = {name: value for name, value in named_integers(code).items() if value > 1}
    logs = sorted(math.log2(value) for value in named.values())
    return {
        **count_c(code),
        **{f"cuda_{name}": float(len(pattern.findall(device))) for name, pattern in _COMPILED.items()},
        "named_max_log2": logs[-1] if logs else 0.0,
        "named_min_log2": logs[0] if logs else 0.0,
        "named_count": float(len(logs)),
        "named_product_log2": min(64.0, sum(logs)),
        **_launch_features(tree, named, device),
    }


def _parts(source: str) -> tuple[str, ast.Module | None]:
    """The device text, and the tree of the host code where the whole is Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return strip_comments(source, "cpp"), None
    nodes = list(ast.walk(tree))
    remarks = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 60
        if id(node) not in remarks
    ]
    return strip_comments("\n".join(text for text in texts if "__" in text or ";" in text), "cpp"), tree


def _launches(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) >= 3 and isinstance(node.args[1], ast.Tuple):
            yield node


def _launch_features(tree: ast.Module | None, named: dict[str, int], device: str) -> dict[str, float]:
    threads: list[float] = []
    axes = shared = launches = makes = fills = 0
    if tree is not None:
        known = bound_integers(ast.walk(tree)) | named
        for call in _launches(tree):
            launches += 1
            block = call.args[1]
            assert isinstance(block, ast.Tuple)
            sides = [_number(side, known) for side in block.elts]
            threads.append(float(math.prod(side for side in sides if side)))
            axes = max(axes, len(call.args[0].elts) if isinstance(call.args[0], ast.Tuple) else 1)
            shared += len(call.args) > 3 or bool(call.keywords)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                makes += node.func.attr in MAKERS
                fills += node.func.attr in FILLERS
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
