"""Times of PyTorch's library calls on this GPU: the data behind the model of library calls.

    python -m benchmarks.library_calls --count 7000 --seconds 400 --output calls.jsonl

Each row is one ATen operator with its arguments (a tensor as shape, dtype and, if not contiguous, strides) and its
device time: captured into a CUDA graph between two event nodes, behind a flush of L2, the median of several replays.
Families take turns, shapes are drawn by a seed, and rows are appended, so that a run may be cut short and resumed. With
`--calls FILE` calls are read from a JSON list instead of being drawn.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Call = tuple[str, list[Any]]
MOST_BYTES = 4 << 30
FLOATS = ("float32", "float32", "float32", "float16", "bfloat16")


class Draw:
    """Shapes as people use them: powers of two and their neighbours, log-uniform, within a budget of elements."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def size(self, low: int, high: int) -> int:
        value = 2 ** self.random.uniform(math.log2(low), math.log2(high))
        kind = self.random.random()
        if kind < 0.6:
            return min(high, max(low, 2 ** round(math.log2(value))))
        if kind < 0.85:
            step = 8 if value >= 64 else 1
            return max(low, round(value / step) * step)
        return max(low, round(value))

    def choice(self, items: Any) -> Any:
        return self.random.choice(items)

    def dtype(self) -> str:
        return str(self.choice(FLOATS))

    def shape(self, rank: int, low: int = 1 << 10, high: int = 1 << 27) -> list[int]:
        """A shape of that rank with a log-uniform number of elements."""
        elements = 2 ** self.random.uniform(math.log2(low), math.log2(high))
        sides: list[int] = []
        for left in range(rank, 1, -1):
            share = (elements / math.prod(sides)) ** (1 / left) * 2 ** self.random.uniform(-1.5, 1.5)
            sides.append(max(1, self.size(1, max(2, round(share)))))
        sides.append(max(1, round(elements / math.prod(sides))))
        self.random.shuffle(sides)
        return sides


def tensor(shape: list[int], dtype: str, strides: list[int] | None = None, fill: str = "normal") -> dict[str, Any]:
    return {"tensor": shape, "dtype": dtype, "strides": strides, "fill": fill}


def transposed(rows: int, columns: int, dtype: str) -> dict[str, Any]:
    return tensor([rows, columns], dtype, [1, rows])


def products(d: Draw) -> Call:
    dtype = d.dtype()
    kind = d.choice(("mm", "mm", "addmm", "addmm", "bmm", "mv"))
    if kind == "bmm":
        b, m, n, k = d.size(1, 512), d.size(16, 2048), d.size(16, 2048), d.size(16, 2048)
        return "aten::bmm", [tensor([b, m, k], dtype), tensor([b, k, n], dtype)]
    m, n, k = d.size(1, 16384), d.size(16, 16384), d.size(16, 16384)
    if kind == "mv":
        return "aten::mm", [tensor([m, k], dtype), tensor([k, 1], dtype)]
    right = transposed(k, n, dtype) if d.choice((True, False)) else tensor([k, n], dtype)
    left = tensor([m, k], dtype) if d.random.random() < 0.8 else transposed(m, k, dtype)
    if kind == "mm":
        return "aten::mm", [left, right]
    return "aten::addmm", [tensor([n], dtype), left, transposed(k, n, dtype)]


def convolutions(d: Draw) -> Call:
    dtype, rank, is_transposed = d.choice(FLOATS), d.choice((1, 2, 2, 2, 3)), d.random.random() < 0.35
    batch, cin, cout = d.size(1, 128), d.size(3, 512), d.size(8, 512)
    side = d.size(8, {1: 65536, 2: 512, 3: 64}[rank])
    taps = [d.choice((1, 3, 3, 3, 5, 7)) for _ in range(1 if d.random.random() < 0.8 else rank)]
    taps = taps * rank if len(taps) == 1 else taps
    stride, dilation = d.choice((1, 1, 1, 2)), d.choice((1, 1, 1, 1, 2))
    groups = 1
    if d.random.random() < 0.2:
        cout = cin
        groups = cin
    padding = [d.choice((0, t // 2)) for t in taps]
    weight = [cin, cout // groups, *taps] if is_transposed else [cout, cin // groups, *taps]
    bias = tensor([cout], dtype) if d.choice((True, False)) else None
    arguments = [tensor([batch, cin, *[side] * rank], dtype), tensor(weight, dtype), bias]
    return "aten::convolution", [
        *arguments, [stride] * rank, padding, [dilation] * rank, is_transposed,
        [d.choice((0, stride - 1)) if is_transposed else 0] * rank, groups,
    ]  # fmt: skip


def normalisations(d: Draw) -> Call:
    dtype = d.dtype()
    kind = d.choice(("layer", "group", "batch", "batch_training", "rms"))
    if kind in ("layer", "rms"):
        rows, columns = d.size(1, 65536), d.size(32, 32768)
        weight = tensor([columns], dtype)
        x = tensor([rows, columns], dtype)
        if kind == "layer":
            return "aten::native_layer_norm", [x, [columns], weight, tensor([columns], dtype), 1e-5]
        return "aten::_fused_rms_norm", [x, [columns], weight, 1e-5]
    n, c, side = d.size(1, 128), 8 * d.size(1, 64), d.size(4, 256)
    x, weight, bias = tensor([n, c, side, side], dtype), tensor([c], "float32"), tensor([c], "float32")
    if kind == "group":
        weight, bias = tensor([c], dtype), tensor([c], dtype)
        return "aten::native_group_norm", [x, weight, bias, n, c, side * side, d.choice((1, 2, 4, 8, c)), 1e-5]
    mean, variance = tensor([c], "float32"), tensor([c], "float32", fill="positive")
    arguments = [x, weight, bias, mean, variance, kind == "batch_training", 0.1, 1e-5]
    return "aten::native_batch_norm", arguments


def softmaxes(d: Draw) -> Call:
    shape = d.shape(d.choice((2, 2, 3, 4)))
    dim = d.choice((-1, -1, -1, len(shape) - 2, 0))
    return d.choice(("aten::_softmax", "aten::_log_softmax")), [tensor(shape, d.dtype()), dim, False]


def reductions(d: Draw) -> Call:
    shape = d.shape(d.choice((1, 2, 2, 3, 3, 4)))
    x, dim = tensor(shape, d.dtype()), d.random.randrange(len(shape))
    keep = d.choice((True, False))
    kind = d.choice((
        "sum.dim_IntList", "mean.dim", "amax", "amin", "max.dim", "min.dim", "argmax", "argmin", "logsumexp",
        "prod.dim_int", "cumsum", "cumprod", "linalg_vector_norm", "var.correction", "sum", "mean", "max",
    ))  # fmt: skip
    if kind in ("sum", "mean", "max"):
        return f"aten::{kind}", [x]
    if kind in ("cumsum", "cumprod"):
        return f"aten::{kind}", [x, dim]
    if kind == "linalg_vector_norm":
        return f"aten::{kind}", [x, 2, [dim], keep]
    if kind == "var.correction":
        return f"aten::{kind}", [x, [dim]]
    if kind in ("max.dim", "min.dim", "argmax", "argmin", "prod.dim_int"):
        return f"aten::{kind}", [x, dim, keep]
    dims = [dim] if d.random.random() < 0.7 or len(shape) < 3 else sorted({dim, len(shape) - 1})
    return f"aten::{kind}", [x, dims, keep]


def pooling(d: Draw) -> Call:
    rank = d.choice((1, 2, 2, 3))
    batch, channels, side = d.size(1, 128), d.size(3, 512), d.size(8, {1: 16384, 2: 512, 3: 96}[rank])
    taps, stride = d.choice((2, 2, 3, 3, 4, 5, 8)), d.choice((1, 2, 2, 3, 4))
    x = tensor([batch, channels, *[side] * rank], d.dtype())
    kind = d.choice(("max", "avg", "adaptive"))
    if kind == "adaptive" and rank > 1:
        return f"aten::_adaptive_avg_pool{rank}d", [x, [d.choice((1, 1, 2, 7))] * rank]
    if kind == "max" and rank > 1:
        return f"aten::max_pool{rank}d_with_indices", [x, [taps] * rank, [stride] * rank, [taps // 2] * rank]
    if rank == 1:
        return "aten::avg_pool1d", [x, [taps], [stride], [taps // 2]]
    return f"aten::avg_pool{rank}d", [x, [taps] * rank, [stride] * rank, [taps // 2] * rank]


def attention(d: Draw) -> Call:
    batch, heads = d.size(1, 64), d.size(1, 32)
    length, other = d.size(64, 8192), 0
    other = length if d.random.random() < 0.8 else d.size(64, 8192)
    width, dtype = d.choice((32, 64, 64, 128, 128, 256)), d.dtype()
    q, k = [batch, heads, length, width], [batch, heads, other, width]
    causal = length == other and d.choice((True, False))
    arguments = [tensor(q, dtype), tensor(k, dtype), tensor(k, dtype), None, 0.0, causal]
    return "aten::scaled_dot_product_attention", arguments


def recurrent(d: Draw) -> Call:
    batch, length, width, hidden = d.size(1, 256), d.size(8, 512), d.size(16, 1024), d.size(16, 1024)
    dtype, layers = d.choice(("float32", "float32", "float16")), d.choice((1, 1, 2, 3, 6))
    kind, gates = d.choice((("lstm", 4), ("gru", 3), ("rnn_tanh", 1)))
    parameters = []
    for layer in range(layers):
        parameters += [tensor([gates * hidden, width if layer == 0 else hidden], dtype, fill="small")]
        parameters += [tensor([gates * hidden, hidden], dtype, fill="small")]
        parameters += [tensor([gates * hidden], dtype), tensor([gates * hidden], dtype)]
    state = tensor([layers, batch, hidden], dtype)
    states: Any = [state, state] if kind == "lstm" else state
    x = tensor([batch, length, width], dtype)
    return f"aten::{kind}.input", [x, states, parameters, True, layers, 0.0, False, False, True]


def indexing(d: Draw) -> Call:
    kind = d.choice(("embedding", "index_select", "gather", "index.Tensor", "topk", "sort", "cat", "scatter_add"))
    dtype = d.dtype()
    if kind == "embedding":
        rows = d.size(256, 131072)
        index = tensor(d.shape(2, 64, 1 << 17), "int64", fill=f"index:{rows}")
        return "aten::embedding", [tensor([rows, d.size(16, 4096)], dtype), index]
    if kind == "cat":
        shape = d.shape(3, 1 << 10, 1 << 25)
        return "aten::cat", [[tensor(shape, dtype)] * d.choice((2, 2, 3, 4)), d.random.randrange(3)]
    rows, columns = d.size(64, 65536), d.size(16, 4096)
    x = tensor([rows, columns], dtype)
    if kind == "topk":
        return "aten::topk", [x, min(columns, d.choice((1, 4, 16, 64)))]
    if kind == "sort":
        return "aten::sort", [x, -1]
    count = d.size(16, 65536)
    if kind in ("gather", "scatter_add"):
        index = tensor([count, columns], "int64", fill=f"index:{rows}")
        if kind == "gather":
            return "aten::gather", [x, 0, index]
        return "aten::scatter_add", [x, 0, index, tensor([count, columns], dtype)]
    index = tensor([count], "int64", fill=f"index:{rows}")
    return ("aten::index_select", [x, 0, index]) if kind == "index_select" else ("aten::index.Tensor", [x, [index]])


UNARY = (
    "relu", "gelu", "silu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "abs", "neg", "erf", "sin", "cos",
    "square", "hardtanh", "leaky_relu", "elu", "mish", "softplus", "hardswish", "hardsigmoid", "clone",
    "log_sigmoid_forward", "sign",
)  # fmt: skip


def elementwise(d: Draw) -> Call:
    shape, dtype = d.shape(d.choice((1, 2, 3, 4))), d.dtype()
    kind = d.random.random()
    if kind < 0.45:
        return f"aten::{d.choice(UNARY)}", [tensor(shape, dtype, fill="positive")]
    if kind < 0.55:
        return "aten::clamp", [tensor(shape, dtype), -0.5, 0.5]
    name = d.choice(
        ("add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor", "maximum", "pow.Tensor_Scalar", "_to_copy")
    )
    if name == "pow.Tensor_Scalar":
        return f"aten::{name}", [tensor(shape, dtype, fill="positive"), d.choice((2, 3, 0.5))]
    if name == "_to_copy":
        return "aten::clone", [tensor(shape, dtype, fill="permuted")]
    other = list(shape)
    if d.random.random() < 0.35:
        other = [side if d.choice((True, False)) else 1 for side in shape]
    if d.random.random() < 0.2 and name != "maximum":
        return f"aten::{name.split('.')[0]}.Tensor", [tensor(shape, dtype), 1.5]
    return f"aten::{name}", [tensor(shape, dtype), tensor(other, dtype, fill="positive")]


def losses(d: Draw) -> Call:
    dtype = d.dtype()
    kind = d.choice(
        ("mse_loss", "smooth_l1_loss", "nll_loss_forward", "masked_fill", "where", "tril", "flip", "upsample")
    )
    if kind == "nll_loss_forward":
        rows, classes = d.size(64, 131072), d.size(10, 32768)
        target = tensor([rows], "int64", fill=f"index:{classes}")
        return "aten::nll_loss_forward", [tensor([rows, classes], dtype), target, None, 1, -100]
    if kind == "upsample":
        shape = [d.size(1, 32), d.size(3, 256), *[d.size(8, 128)] * 2]
        doubled = [shape[2] * 2, shape[3] * 2]
        return "aten::upsample_nearest2d", [tensor(shape, dtype), doubled]
    shape = d.shape(d.choice((2, 3)))
    x = tensor(shape, dtype)
    if kind in ("mse_loss", "smooth_l1_loss"):
        return f"aten::{kind}", [x, tensor(shape, dtype)]
    if kind == "masked_fill":
        return "aten::masked_fill.Scalar", [x, tensor(shape, "bool", fill="index:2"), 0.0]
    if kind == "where":
        return "aten::where.self", [tensor(shape, "bool", fill="index:2"), x, x]
    return ("aten::tril", [x]) if kind == "tril" else ("aten::flip", [x, [len(shape) - 1]])


FAMILIES: dict[str, tuple[Callable[[Draw], Call], int]] = {
    "product": (products, 3), "convolution": (convolutions, 4), "normalisation": (normalisations, 2),
    "softmax": (softmaxes, 1), "reduction": (reductions, 2), "pooling": (pooling, 2), "attention": (attention, 1),
    "recurrent": (recurrent, 1), "indexing": (indexing, 1), "elementwise": (elementwise, 3), "other": (losses, 1),
}  # fmt: skip


def bytes_of(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(bytes_of, value))
    if isinstance(value, dict):
        widths = {"float32": 4, "int64": 8, "bool": 1}
        return math.prod(value["tensor"]) * widths.get(value["dtype"], 2)
    return 0


def too_large(call: Call) -> bool:
    """Does it need too much memory, or more than about 50 ms even at full speed?"""
    operator, arguments = call
    if bytes_of(arguments) > MOST_BYTES:
        return True
    if operator == "aten::convolution":
        x, weight, transposed_ = arguments[0]["tensor"], arguments[1]["tensor"], arguments[6]
        places = math.prod(x[2:]) if transposed_ else math.prod(x[2:]) / math.prod(arguments[3])
        return 2.0 * x[0] * places * math.prod(weight) > 4e11 or math.prod(x) * 4 > MOST_BYTES / 4
    if operator in ("aten::mm", "aten::addmm", "aten::bmm"):
        left, right = arguments[-2]["tensor"], arguments[-1]["tensor"]
        return 2.0 * math.prod(left) * right[-1] > 1e12
    if operator == "aten::scaled_dot_product_attention":
        q, k = arguments[0]["tensor"], arguments[1]["tensor"]
        return 4.0 * math.prod(q) * k[2] > 4e11 or q[0] * q[1] * q[2] * k[2] * 4 > MOST_BYTES
    if operator.endswith(".input"):
        return bool(arguments[0]["tensor"][1] * arguments[4] > 1024)
    return False


def drawn(seed: int) -> Iterator[tuple[str, Call]]:
    turns = [name for name, (_, weight) in FAMILIES.items() for _ in range(weight)]
    draw = Draw(seed)
    while True:
        for family in turns:
            call = FAMILIES[family][0](draw)
            if not too_large(call):
                yield family, call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=7000)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    import torch

    from foretell.kernels.bench.gpu.stopwatch import Stopwatch

    deadline = time.monotonic() + arguments.seconds
    done = len(arguments.output.read_text().splitlines()) if arguments.output.exists() else 0
    if arguments.calls:
        calls: Iterator[Any] = iter(
            [(c["family"], (c["operator"], c["arguments"])) for c in json.loads(arguments.calls.read_text())]
        )
    else:
        calls = drawn(arguments.seed)
    watch = Stopwatch()
    with arguments.output.open("a") as file:
        for number, (family, (operator, values)) in enumerate(calls):
            if number < done:
                continue
            if number >= arguments.count or time.monotonic() > deadline:
                break
            row = {"family": family, "operator": operator, "arguments": values}
            try:
                row["us"], row["spread"] = watch.device_us(operator, values)
            except (RuntimeError, TypeError, AttributeError, NotImplementedError) as error:
                row["error"] = f"{type(error).__name__}: {error}"[:200]
            file.write(json.dumps(row) + "\n")
            if "error" in row:
                file.flush()
                torch.cuda.synchronize()  # raises where the call has broken the context: run again to go on behind it
                torch.cuda.empty_cache()
            if number % 200 == 0:
                file.flush()
                torch.cuda.empty_cache()
    print(f"{number} calls", flush=True)


if __name__ == "__main__":
    main()
