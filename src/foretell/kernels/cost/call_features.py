"""What a library call is, in numbers: work and bytes for its roofline, and its shape as logarithms.

A call belongs to one of `CLASSES`, each with features of its own; all but the roofline's times are free of the device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foretell.kernels.cost.flops import flops_of
from foretell.kernels.operators import family_of
from foretell.kernels.program import LibraryCall, View

CLASSES = (
    "product", "convolution", "depthwise", "transposed", "row", "normalisation", "reduction", "scan", "pooling",
    "attention", "recurrent", "indexing", "sorting", "elementwise", "copy", "other",
)  # fmt: skip
_GATHERS = frozenset({"embedding", "index", "index_select", "gather", "_unsafe_index", "take"})
_ROWS = frozenset({"_softmax", "_log_softmax", "softmax", "log_softmax", "_safe_softmax", "logsumexp"})
_FREE = frozenset({"factory"})


@dataclass(frozen=True)
class CallFeatures:
    """A call's class, its operations and bytes, the dtype that it computes in, and its features by name."""

    kind: str
    operator: str
    flops: float
    bytes: float
    dtype: str
    tensor_cores: bool
    shape: dict[str, float]


def features_of(call: LibraryCall) -> CallFeatures:
    """The features of a call; a class `other` has its size alone."""
    name = call.name[:-1] if call.name.endswith("_") and not call.name.endswith("__") else call.name
    views = list(call.tensors())
    results = [view for view in call.results if view is not None] or list(call.mutated)
    main = views[0] if views else (results[0] if results else None)
    dtype = main.dtype if main is not None else "float32"
    kind = _kind(name, call)
    moved = _bytes(name, call, views, results)
    narrow = dtype in ("float16", "bfloat16")
    flags = dict(call.flags)
    allowed = (
        flags.get("matmul_precision", "highest") != "highest" if kind == "product" else flags.get("cudnn_tf32", True)
    )
    tensor = kind in ("product", "convolution", "transposed", "attention", "recurrent") and (
        narrow or (bool(allowed) and dtype == "float32" and kind != "attention")
    )
    shape = {"bytes": _log2(moved), "results": _log2(sum(view.count for view in results)), "narrow": float(narrow)}
    shape |= _SHAPES.get(kind, _plain)(call, views, results)
    return CallFeatures(kind, name, flops_of(call), moved, dtype, tensor, shape)


def _log2(value: float) -> float:
    return math.log2(1.0 + value)


def _kind(name: str, call: LibraryCall) -> str:
    family = family_of(call.operator)
    if family == "convolution":
        arguments = call.arguments
        if name in ("im2col", "col2im"):
            return "copy"
        views = list(call.tensors())
        groups = arguments[8] if name == "convolution" and len(arguments) > 8 else 1
        if len(views) > 1 and groups > 1 and (views[1].shape[1] == 1 or views[0].shape[1] == groups):
            return "depthwise"
        transposed = "transpose" in name or (name in ("convolution", "_convolution") and arguments[6:7] == (True,))
        return "transposed" if transposed else "convolution"
    if name in _ROWS:
        return "row"
    named = {
        "matmul": "product", "normalisation": "normalisation", "reduction": "reduction", "scan": "scan",
        "pooling": "pooling", "attention": "attention", "recurrent": "recurrent", "indexing": "indexing",
        "sorting": "sorting", "elementwise": "elementwise", "copy": "copy", "loss": "other", "resampling": "other",
        "factory": "copy", "foreach": "elementwise", "optimiser": "elementwise",
    }  # fmt: skip
    return named.get(family or "", "other")


def _bytes(name: str, call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> float:
    """Bytes that are read and written once each."""
    written = sum(view.distinct_bytes for view in dict.fromkeys((*results, *call.mutated)))
    if name in ("zero", "fill", "copy") and views:
        return float(written + sum(view.distinct_bytes for view in views[1:]))
    read = dict.fromkeys(views)
    if name in _GATHERS and len(views) > 1:
        table, *others = read
        return float(written + min(table.distinct_bytes, written) + sum(view.distinct_bytes for view in others))
    if name.startswith("nll_loss") and len(views) > 1:
        return float(views[1].count * 32 + written)
    return float(written + sum(view.distinct_bytes for view in read))


def _plain(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    largest = max((view.count for view in (*views, *results)), default=0)
    return {"largest": _log2(largest), "jumps": float(any(not _is_dense(view) for view in views[:2]))}


def _is_dense(view: View) -> bool:
    """Whether its elements lie as in a contiguous tensor."""
    expected = 1
    for side, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if side != 1 and stride != expected:
            return False
        expected *= side
    return True


def _product(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    adds = call.name in ("addmm", "baddbmm", "addbmm", "addmv", "_addmm_activation")
    factors = views[1:] if adds and len(views) > 2 else views
    if len(factors) < 2 or not factors[0].shape or not results:
        return {"m": 0.0, "n": 0.0, "k": 0.0, "batch": 0.0, "left": 0.0, "right": 0.0, "tiles": 0.0, "adds": 0.0}
    left, right = factors[0], factors[1]
    inner = left.shape[-1]
    m = left.shape[-2] if len(left.shape) > 1 else 1
    n = right.shape[-1] if len(right.shape) > 1 else 1
    batch = max(1, results[0].count // max(1, m * n))
    tiles = math.ceil(m / 128) * math.ceil(n / 128) * batch
    return {
        "m": _log2(m), "n": _log2(n), "k": _log2(inner), "batch": _log2(batch), "tiles": _log2(tiles),
        "left": float(len(left.strides) > 1 and left.strides[-1] != 1), "adds": float(adds),
        "right": float(len(right.strides) > 1 and right.strides[-1] != 1),
        "odd": float(any(side % 8 for side in (n, inner))),
    }  # fmt: skip


def _convolution(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    if len(views) < 2 or not results:
        return {}
    source, weight, result = views[0], views[1], results[0]
    stride = _numbers(call.arguments[3]) if len(call.arguments) > 3 else (1,)
    dilation = _numbers(call.arguments[5]) if len(call.arguments) > 5 else (1,)
    rank = len(weight.shape) - 2
    groups = call.arguments[8] if call.name == "convolution" and len(call.arguments) > 8 else 1
    taps = math.prod(weight.shape[2:])
    return {
        "images": _log2(source.shape[0]), "from": _log2(source.shape[1] / groups),
        "to": _log2(result.shape[1] / groups), "groups": _log2(groups), "taps": _log2(taps),
        "places": _log2(math.prod(result.shape[2:])),
        "stride": _log2(math.prod(stride) if len(stride) > 1 else stride[0] ** rank),
        "dilated": float(max(dilation) > 1), "one": float(rank == 1), "three": float(rank == 3),
        "pointwise": float(taps == 1), "threes": float(taps == 3**rank), "biased": float(len(views) > 2),
        "odd": float(source.shape[1] % 8 != 0), "channels_last": float(source.strides[1:2] == (1,)),
    }  # fmt: skip


def _numbers(value: Any) -> tuple[int, ...]:
    if isinstance(value, tuple) and value:
        return tuple(int(each) for each in value)
    return (int(value),) if isinstance(value, int) else (1,)


def _along(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    """Softmax, reductions, scans: the length along the dimension, rows, and how far apart its elements lie."""
    if not views or not views[0].shape:
        return {"length": 0.0, "rows": 0.0, "apart": 0.0}
    source = views[0]
    at = 2 if call.name == "linalg_vector_norm" else 1
    dims = list(_numbers_or(call.arguments[at] if len(call.arguments) > at else None))
    dims = [dim % len(source.shape) for dim in dims if -len(source.shape) <= dim < len(source.shape)]
    if not dims or (call.name in ("argmax", "argmin") and call.arguments[1:2] == (None,)):
        dims = list(range(len(source.shape)))
    length = math.prod(source.shape[dim] for dim in dims)
    apart = min((source.strides[dim] for dim in dims if source.shape[dim] > 1), default=1)
    outer = source.count / max(1, length * max(1, apart))
    return {
        "length": _log2(length),
        "rows": _log2(source.count / max(1, length)),
        "apart": _log2(apart),
        "outer": _log2(outer),
    }


def _numbers_or(value: Any) -> tuple[int, ...]:
    if isinstance(value, bool) or value is None:
        return ()
    if isinstance(value, tuple):
        return tuple(each for each in value if isinstance(each, int))
    return (value,) if isinstance(value, int) else ()


def _normalisation(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    source = views[0] if views else None
    if source is None or not source.shape:
        return {"length": 0.0, "rows": 0.0, "training": 0.0}
    arguments = call.arguments
    training, rows, length = 0.0, 1.0, 1.0
    if "layer_norm" in call.name or "rms_norm" in call.name:
        length = math.prod(_numbers(arguments[1])) if len(arguments) > 1 else source.shape[-1]
        rows = source.count / max(1, length)
    elif "group_norm" in call.name and len(arguments) > 6:
        rows = source.shape[0] * _numbers(arguments[6])[0]
        length = source.count / max(1, rows)
    else:
        rows = source.shape[1] if len(source.shape) > 1 else 1
        length = source.count / max(1, rows)
        training = float(len(arguments) > 5 and arguments[5] is True)
    inner = math.prod(source.shape[2:]) if len(source.shape) > 2 else 1
    return {"length": _log2(length), "rows": _log2(rows), "training": training, "inner": _log2(inner)}


def _pooling(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    source, result = (views[0], results[0]) if views and results else (None, None)
    if source is None or result is None or not source.shape:
        return {"taps": 0.0, "stride": 0.0, "width": 0.0, "planes": 0.0}
    dims = {"1": 1, "2": 2, "3": 3}.get(call.name.partition("pool")[2][:1], 2)
    window = _numbers(call.arguments[1]) if len(call.arguments) > 1 else (1,)
    taps = math.prod(window) if len(window) > 1 else window[0] ** dims
    if "adaptive" in call.name:
        taps = max(1, source.count // max(1, result.count))
    planes = math.prod(source.shape[:-dims]) if len(source.shape) > dims else 1
    return {
        "taps": _log2(taps), "stride": _log2(source.count / max(1, result.count)), "width": _log2(result.shape[-1]),
        "planes": _log2(planes),
    }  # fmt: skip


def _attention(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    if len(views) < 2 or len(views[0].shape) < 2:
        return {"queries": 0.0, "keys": 0.0, "width": 0.0, "heads": 0.0, "causal": 0.0, "masked": 0.0}
    query, key = views[0], views[1]
    heads = query.count / max(1, query.shape[-1] * query.shape[-2])
    return {
        "queries": _log2(query.shape[-2]), "keys": _log2(key.shape[-2]), "width": _log2(query.shape[-1]),
        "heads": _log2(heads), "causal": float(call.arguments[5:6] == (True,)), "masked": float(len(views) > 3),
    }  # fmt: skip


def _recurrent(call: LibraryCall, views: Sequence[View], results: Sequence[View]) -> dict[str, float]:
    source = views[0] if views else None
    matrices = [view for view in views[1:] if len(view.shape) == 2]
    if source is None or len(source.shape) < 3 or not matrices:
        return {"steps": 0.0, "layers": 0.0, "batch": 0.0, "width": 0.0, "hidden": 0.0}
    first = call.arguments[-1] is True
    batch, steps = (source.shape[0], source.shape[1]) if first else (source.shape[1], source.shape[0])
    layers = len(matrices) / 2
    return {
        "steps": _log2(steps * layers), "layers": _log2(layers), "batch": _log2(batch),
        "width": _log2(source.shape[-1]), "hidden": _log2(matrices[-1].shape[-1]), "each": _log2(steps),
    }  # fmt: skip


_SHAPES = {
    "product": _product, "convolution": _convolution, "depthwise": _convolution, "transposed": _convolution,
    "row": _along, "reduction": _along, "scan": _along, "sorting": _along, "normalisation": _normalisation,
    "pooling": _pooling, "attention": _attention, "recurrent": _recurrent,
}  # fmt: skip
