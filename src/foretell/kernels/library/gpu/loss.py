"""Loss family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))

_CROSS_ENTROPY = """\
import torch


def kernel(logits, targets):
    return torch.nn.functional.cross_entropy(logits, targets, reduction="none")
"""

_MSE_ROWS = """\
import torch


def kernel(a, b):
    wide = torch.promote_types(a.dtype, torch.float32)
    return (a.to(wide) - b.to(wide)).square().mean(dim=1)
"""

_ENTROPY_BACKWARD = """\
import torch


def kernel(logits, targets, grad):
    wide = torch.promote_types(logits.dtype, torch.float32)
    share = torch.softmax(logits, dim=1, dtype=wide)
    share[torch.arange(len(targets), device=logits.device), targets] -= 1.0
    return (share * grad[:, None]).to(logits.dtype)
"""

_ODD = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 333}))
_PAIRS = (Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 512}))
_FULL_PAIRS = (Workload({"rows": 4096, "cols": 4096}), Workload({"rows": 32768, "cols": 512}))


def _pairs(
    name: str,
    summary: str,
    inputs: tuple[Tensor, Tensor],
    tolerance: Tolerance,
    flops: float,
    call: str,
    whole: bool = False,
) -> Task:
    """A loss of two matrices, an item a row or one of all; `call` is in torch.nn.functional, `A` and `B` widened."""
    a, b = (tensor.name for tensor in inputs)
    single = inputs[0].dtype == "float32"
    widened = "" if single else f"    wide = torch.promote_types({a}.dtype, torch.float32)\n"
    names = (a, b) if single else (f"{a}.to(wide)", f"{b}.to(wide)")
    workloads = _FULL_PAIRS if single else _PAIRS
    body = f"torch.nn.functional.{call.replace('A', names[0]).replace('B', names[1])}"
    return Task(
        name=name,
        family="loss",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=inputs,
        outputs=(Tensor("out", "float32", () if whole else ("rows",)),),
        workloads=(_FULL_PAIRS[0], Workload({"rows": 8192, "cols": 512})) if whole else workloads,
        extra=_ODD,
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": f"import torch\n\n\ndef kernel({a}, {b}):\n{widened}    return {body}\n"},
    )


def _matrix(name: str, dtype: str, fill: str = "normal") -> Tensor:
    return Tensor(name, dtype, ("rows", "cols"), fill=fill)


TASKS = (
    Task(
        name="cross_entropy",
        family="loss",
        summary="log of the summed exponentials of a row of logits, minus the logit of its target",
        sizes=("rows", "cols"),
        inputs=(
            Tensor("logits", "float32", ("rows", "cols"), fill="wide"),
            Tensor("targets", "int64", ("rows",), fill="index:cols"),
        ),
        outputs=(Tensor("out", "float32", ("rows",)),),
        workloads=(Workload({"rows": 8192, "cols": 8192}), Workload({"rows": 65536, "cols": 1024})),
        extra=_EXTRA,
        tolerance=Tolerance(
            1e-5, 1e-4, "float32 subtraction of numbers up to 200, then one logarithm of the row's sum"
        ),
        flops=lambda s: 4.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _CROSS_ENTROPY},
    ),
    Task(
        name="mse_rows",
        family="loss",
        summary="mean of the squared differences of each pair of rows",
        sizes=("rows", "cols"),
        inputs=(Tensor("a", "float16", ("rows", "cols")), Tensor("b", "float16", ("rows", "cols"))),
        outputs=(Tensor("out", "float32", ("rows",)),),
        workloads=(Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 131072, "cols": 512})),
        extra=_EXTRA,
        tolerance=Tolerance(5e-5, 1e-5, "float32 sum of up to 4096 squares in any order"),
        flops=lambda s: 3.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _MSE_ROWS},
    ),
    _pairs(
        "kl_div_rows",
        "sum of q * (log q - log p) of each pair of rows",
        (_matrix("logp", "float16"), _matrix("q", "float16", "positive")),
        Tolerance(1e-4, 2e-3, "float32 sum of up to 4096 terms of both signs in any order, one fast logarithm each"),
        4.0,
        'kl_div(A, B, reduction="none").sum(dim=1)',
    ),
    _pairs(
        "huber_rows",
        "mean Huber loss of each pair of rows: half the square up to 1, then linear",
        (_matrix("a", "float32"), _matrix("b", "float32")),
        Tolerance(5e-5, 1e-5, "float32 sum of up to 4096 positive terms in any order"),
        6.0,
        'huber_loss(A, B, reduction="none", delta=1.0).mean(dim=1)',
    ),
    _pairs(
        "bce_logits_rows",
        "mean binary cross entropy of each row of logits and soft targets",
        (_matrix("x", "bfloat16", "wide"), _matrix("t", "bfloat16", "uniform")),
        Tolerance(1e-4, 1e-4, "float32 sum of up to 4096 positive terms in any order, two fast functions each"),
        7.0,
        'binary_cross_entropy_with_logits(A, B, reduction="none").mean(dim=1)',
    ),
    _pairs(
        "cosine_similarity_rows",
        "dot product of each pair of rows over the product of their norms",
        (_matrix("a", "float16"), _matrix("b", "float16")),
        Tolerance(1e-4, 2e-6, "float32 sums of up to 4096 products in any order; the result is about 1/sqrt(cols)"),
        6.0,
        "cosine_similarity(A, B, dim=1)",
    ),
    _pairs(
        "smooth_l1_mean",
        "mean over a whole matrix of the smooth L1 loss with beta 0.5",
        (_matrix("a", "float32"), _matrix("b", "float32")),
        Tolerance(1e-4, 1e-5, "float32 sum of up to 17 million positive terms, in parts and in any order"),
        6.0,
        "smooth_l1_loss(A, B, beta=0.5)",
        whole=True,
    ),
    Task(
        name="cross_entropy_backward",
        family="loss",
        summary="(softmax of a row of logits - 1 at its target) times the row's gradient",
        sizes=("rows", "cols"),
        inputs=(
            _matrix("logits", "bfloat16", "wide"),
            Tensor("targets", "int64", ("rows",), fill="index:cols"),
            Tensor("grad", "float32", ("rows",)),
        ),
        outputs=(_matrix("out", "bfloat16"),),
        workloads=(Workload({"rows": 4096, "cols": 8192}), Workload({"rows": 32768, "cols": 1024})),
        extra=_ODD,
        tolerance=Tolerance(1e-2, 1e-5, "bfloat16 output (8 bits), float32 exp and sum in any order"),
        flops=lambda s: 6.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _ENTROPY_BACKWARD},
    ),
)
