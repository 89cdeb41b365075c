"""Floating-point operations of a library call, by formulas and by tables of operations per element.

Conventions, those of the library's own formulas: a multiplication, addition, division, square root, exponential or
logarithm is one; copies, casts, comparisons, selections, sign changes and rounding to whole numbers are none; composite
functions are counted as they would be written out (a sigmoid is four, a softmax five per element).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from foretell.kernels.operators import family_of
from foretell.kernels.program import LibraryCall, View

# Per element of the (first) result.
PER_RESULT: Mapping[str, float] = {
    "abs": 0, "angle": 0, "bitwise_and": 0, "bitwise_left_shift": 0, "bitwise_not": 0, "bitwise_or": 0,
    "bitwise_right_shift": 0, "bitwise_xor": 0, "ceil": 0, "conj_physical": 0, "copysign": 0, "eq": 0, "floor": 0,
    "frexp": 0, "ge": 0, "gt": 0, "isclose": 0, "isfinite": 0, "isin": 0, "isinf": 0, "isnan": 0, "le": 0,
    "logical_and": 0, "logical_not": 0, "logical_or": 0, "logical_xor": 0, "lt": 0, "masked_fill": 0, "nan_to_num": 0,
    "ne": 0, "neg": 0, "positive": 0, "round": 0, "sgn": 0, "sign": 0, "signbit": 0, "threshold": 0, "trunc": 0,
    "where": 0,
    "__and__": 0, "__or__": 0, "__xor__": 0, "__lshift__": 0, "__rshift__": 0, "hardshrink": 0,
    "addcmul": 2, "addcdiv": 2, "lerp": 3, "hypot": 3, "relu6": 2, "hardtanh": 2, "softshrink": 2, "xlogy": 2,
    "leaky_relu": 3, "prelu": 3, "_prelu_kernel": 3, "rrelu_with_noise": 3, "tanh": 4, "sigmoid": 4, "elu": 4,
    "hardsigmoid": 4,
    "sinh": 4, "cosh": 4, "erf": 1, "hardswish": 5, "silu": 5, "selu": 5, "celu": 5, "glu": 5, "logaddexp": 5,
    "softplus": 6,
    "log_sigmoid_forward": 6, "gelu": 8, "mish": 9, "silu_backward": 9, "sigmoid_backward": 3, "tanh_backward": 3,
    "gelu_backward": 12, "logit": 3, "binary_cross_entropy": 6, "binary_cross_entropy_with_logits": 6, "huber_loss": 5,
    "smooth_l1_loss": 5, "mse_loss": 2, "l1_loss": 1, "soft_margin_loss": 4, "kl_div": 4,
}  # fmt: skip
GELU_TANH, GELU_TANH_BACKWARD = 12.0, 20.0

# Per element of the first argument.
PER_ARGUMENT: Mapping[str, float] = {
    "all": 0, "any": 0, "count_nonzero": 0, "equal": 0, "linalg_vector_norm": 2, "norm": 2, "dist": 3, "var": 4,
    "std": 4,
    "var_mean": 4, "std_mean": 4, "logsumexp": 4, "_softmax": 5, "softmax": 5, "_safe_softmax": 5, "_masked_softmax": 5,
    "_log_softmax": 5, "log_softmax": 5, "_softmax_backward_data": 4, "_log_softmax_backward_data": 4,
    "native_layer_norm": 8, "layer_norm": 8, "native_group_norm": 8, "group_norm": 8, "instance_norm": 8,
    "native_batch_norm": 8,
    "cudnn_batch_norm": 8, "batch_norm": 8, "_native_batch_norm_legit": 8, "_batch_norm_with_update": 8,
    "_native_batch_norm_legit_no_training": 4, "_batch_norm_no_update": 4, "rms_norm": 4, "_fused_rms_norm": 4,
    "native_layer_norm_backward": 14, "native_group_norm_backward": 14, "native_batch_norm_backward": 14,
    "bincount": 1, "histc": 1,
}  # fmt: skip
# Losses that reduce: the table above is for each element, and the reduction is one more.
_REDUCING = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "smooth_l1_loss",
                       "mse_loss", "l1_loss", "soft_margin_loss"})  # fmt: skip
_ADDING = frozenset({"index_add", "scatter_add", "scatter_reduce", "index_reduce"})
_TRAINING = {"native_batch_norm": 5, "cudnn_batch_norm": 5, "batch_norm": 5, "instance_norm": 5}  # position of the flag
_NARROW = frozenset({"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"})


def flops_of(call: LibraryCall) -> float:
    """Operations of one call if every result is needed; 0 for what only moves data or is not known."""
    name = call.name[:-1] if call.name.endswith("_") and not call.name.endswith("__") else call.name
    views = list(call.tensors())
    result = next((view for view in call.results if view is not None), views[0] if views else None)
    if result is None:
        return 0.0
    match family_of(call.operator):
        case "matmul":
            return _product(name, views, result)
        case "convolution":
            return _convolution(name, call, views, result)
        case "attention":
            return _attention(call, views, result)
        case "recurrent":
            return _recurrent(name, call, views, result)
        case "pooling":
            return _pooling(name, call, views, result)
        case "reduction" | "normalisation":
            return _per_argument(name, call, views)
        case "elementwise" | "loss" | "foreach":
            return _per_result(name, call, views, result)
        case "scan" | "sorting":
            return float(views[0].count) if views else 0.0
        case "indexing":
            if name in _ADDING and len(views) >= 3:
                return float(views[-1].count)
            return PER_ARGUMENT.get(name, 0.0) * views[0].count if views else 0.0
        case "resampling":
            return 0.0 if "nearest" in name else 7.0 * result.count
        case "fft":
            return 5.0 * result.count * math.log2(max(2, result.shape[-1] if result.shape else 2))
        case "copy":
            return float(result.count) if result.dtype in _NARROW and name == "_to_copy" else 0.0
    return 0.0


def _per_result(name: str, call: LibraryCall, views: list[View], result: View) -> float:
    largest = max((view.count for view in (*views, result)), default=0)
    if name == "clamp" and "Tensor" not in call.operator:
        bounds = (*call.arguments[1:3], *(value for _, value in call.keywords))
        return float(sum(isinstance(bound, int | float) for bound in bounds) * result.count)
    if name in ("gelu", "gelu_backward"):
        tanh = "tanh" in (*call.arguments, *(value for _, value in call.keywords))
        each = (GELU_TANH if name == "gelu" else GELU_TANH_BACKWARD) if tanh else PER_RESULT[name]
        return each * result.count
    if name in ("add", "sub", "rsub", "addcmul", "addcdiv"):
        scaled = any(key in ("alpha", "value") and value != 1 for key, value in call.keywords)
        scaled = scaled or any(value not in (1, None) for value in call.arguments[3:] if isinstance(value, int | float))
        return (PER_RESULT.get(name, 1.0) + scaled) * result.count
    if family_of(call.operator) == "loss":
        if name.startswith("nll_loss"):
            return float(result.count)
        if "cdist" in name or name == "_euclidean_dist":
            return 3.0 * result.count * (views[0].shape[-1] if views and views[0].shape else 1)
        whole = result.count < largest and name in _REDUCING
        return (PER_RESULT.get(name, 1.0) + whole) * largest
    if name.startswith("_foreach_"):
        return PER_RESULT.get(name.removeprefix("_foreach_"), 1.0) * sum(view.count for view in views)
    return PER_RESULT.get(name, 1.0) * result.count


def _per_argument(name: str, call: LibraryCall, views: list[View]) -> float:
    if not views:
        return 0.0
    each = PER_ARGUMENT.get(name, 1.0)
    if name in _TRAINING and len(call.arguments) > _TRAINING[name] and not call.arguments[_TRAINING[name]]:
        each = PER_ARGUMENT["_native_batch_norm_legit_no_training"]
    if name in ("max", "min") and len(views) > 1:  # the larger or smaller of two tensors
        return float(max(view.count for view in views))
    return each * views[0].count


def _product(name: str, views: list[View], result: View) -> float:
    """Twice the result's elements times the length that is summed over; symmetric if a matrix meets its transpose."""
    factors = views[1:] if name in ("addmm", "baddbmm", "addbmm", "addmv", "addr", "_addmm_activation") else views
    if name in ("outer", "addr"):
        return float(result.count)
    if len(factors) < 2 or not factors[0].shape:
        return 0.0
    inner = factors[0].shape[-1]
    if name == "addbmm":
        return 2.0 * result.count * inner * factors[0].shape[0]
    if _is_transpose(factors[0], factors[1]) and len(result.shape) >= 2:
        side = result.shape[-1]
        return 1.0 * result.count / side * (side + 1) * inner
    extra = result.count if len(views) > 2 else 0  # the bias
    return 2.0 * result.count * inner + extra


def _is_transpose(left: View, right: View) -> bool:
    """Both are over the same elements, with the last two dimensions exchanged."""
    if len(left.shape) != len(right.shape) or len(left.shape) < 2 or left.shape[-1] == 1:
        return False
    order = [*range(len(left.shape) - 2), len(left.shape) - 1, len(left.shape) - 2]
    exchanged = tuple(right.shape[i] for i in order), tuple(right.strides[i] for i in order)
    same = (left.buffer, left.offset_bytes, left.dtype) == (right.buffer, right.offset_bytes, right.dtype)
    return same and exchanged == (left.shape, left.strides)


def _convolution(name: str, call: LibraryCall, views: list[View], result: View) -> float:
    if name in ("im2col", "col2im") or len(views) < 2:
        return 0.0
    source, weight = views[0], views[1]
    taps = math.prod(weight.shape[2:])
    transposed = "transpose" in name or (name in ("convolution", "_convolution") and call.arguments[6:7] == (True,))
    biased = float(result.count) if len(views) > 2 else 0.0
    if transposed:
        return 2.0 * source.count * weight.shape[1] * taps + biased
    return 2.0 * result.count * weight.shape[1] * taps + biased


def _attention(call: LibraryCall, views: list[View], result: View) -> float:
    """Two products and a softmax over query x key; half of it if only keys up to the query count."""
    if len(views) < 3 or len(views[0].shape) < 2:
        return 0.0
    query, key, value = views[0], views[1], views[2]
    keys = key.shape[-2]
    scores = query.count // max(1, query.shape[-1]) * keys
    causal = 0.5 if call.arguments[5:6] == (True,) and call.name == "scaled_dot_product_attention" else 1.0
    return causal * scores * (2.0 * query.shape[-1] + 2.0 * value.shape[-1] + 6.0)


def _recurrent(name: str, call: LibraryCall, views: list[View], result: View) -> float:
    """Products of every step with input and recurrent weights, and ten operations per gate element."""
    matrices = [view for view in views if len(view.shape) == 2]
    if "cell" in name:
        return 10.0 * sum(view.count for view in views[:1])
    steps = result.count // max(1, result.shape[-1])
    gates = sum(view.shape[0] for view in matrices) / 2
    return steps * (2.0 * sum(view.count for view in matrices) + 10.0 * gates)


def _pooling(name: str, call: LibraryCall, views: list[View], result: View) -> float:
    if not views:
        return 0.0
    if "adaptive" in name or "unpool" in name:
        return float(views[0].count)
    window = call.arguments[1] if len(call.arguments) > 1 else 1
    sides = window if isinstance(window, tuple) else (window,)
    if not sides or not all(isinstance(side, int) for side in sides):
        return 0.0
    dims = {"1": 1, "2": 2, "3": 3}.get(name.partition("pool")[2][:1], 2)
    taps = math.prod(sides) if len(sides) > 1 else int(sides[0]) ** dims
    return float(result.count) * taps
