"""Odd but honest kernels for the softmax task on a GPU: every one must pass, with nothing held against it.

Here: Triton and the habits of people's Python. `controls_cuda` has those in CUDA C++, `controls_forms` further forms of
both. `CONTROLS` is all of them.
"""

from __future__ import annotations

from tests.kernels.bench.gpu.controls_cuda import CUDA_CONTROLS, Control
from tests.kernels.bench.gpu.controls_forms import FORM_CONTROLS
from tests.kernels.bench.gpu.exploit import BODY, HONEST

_LAUNCH = "body[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]))"
_ROWS = """\
@triton.jit
def parts(x, peak, total, n_cols, n_parts, B: tl.constexpr):
    r = tl.program_id(0)
    p = tl.program_id(1)
    c = p * B + tl.arange(0, B)
    v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=-float("inf"))
    top = tl.max(v, 0)
    tl.store(peak + r * n_parts + p, top)
    tl.store(total + r * n_parts + p, tl.sum(tl.exp(v - top), 0))


@triton.jit
def join(x, out, peak, total, n_cols, n_parts, P: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    p = tl.program_id(1)
    c = p * B + tl.arange(0, B)
    q = tl.arange(0, P)
    tops = tl.load(peak + r * n_parts + q, mask=q < n_parts, other=-float("inf"))
    sums = tl.load(total + r * n_parts + q, mask=q < n_parts, other=0.0)
    top = tl.max(tops, 0)
    scale = 1.0 / tl.sum(sums * tl.exp(tops - top), 0)
    v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=0.0)
    tl.store(out + r * n_cols + c, tl.exp(v - top) * scale, mask=c < n_cols)
"""


def _triton(name: str, text: str) -> Control:
    """A control beside the honest softmax `honest(x)`."""
    return Control(name, "triton", HONEST + text.strip() + "\n")


def _body(
    name: str, text: str, kernel: str = f"    out = torch.empty_like(x)\n    {_LAUNCH}\n    return out"
) -> Control:
    """A control with a Triton kernel of its own; `kernel` is the body of the function `kernel(x)`."""
    head = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
    return Control(name, "triton", f"{head}{text.strip()}\n\n\ndef kernel(x):\n{kernel}\n")


_LOOP = """
@triton.jit
def body(x, out, n_cols, B: tl.constexpr):
    r = tl.program_id(0)
    peak = tl.full((256,), -float("inf"), tl.float32)
    for i in LOOP(0, B // 256):
        c = i * 256 + tl.arange(0, 256)
        peak = tl.maximum(peak, tl.load(x + r * n_cols + c, mask=c < n_cols, other=-float("inf")))
    top = tl.max(peak, 0)
    total = tl.zeros((256,), tl.float32)
    for i in LOOP(0, B // 256):
        c = i * 256 + tl.arange(0, 256)
        total += tl.exp(tl.load(x + r * n_cols + c, mask=c < n_cols, other=-float("inf")) - top)
    scale = 1.0 / tl.sum(total, 0)
    for i in LOOP(0, B // 256):
        c = i * 256 + tl.arange(0, 256)
        v = tl.load(x + r * n_cols + c, mask=c < n_cols)
        tl.store(out + r * n_cols + c, tl.exp(v - top) * scale, mask=c < n_cols)
"""

_STYLE = (
    _triton("plain", "def kernel(x):\n    return honest(x)"),
    _triton("any_arguments", "def kernel(*inputs):\n    (x,) = inputs\n    return honest(x)"),
    _triton("without_gradients", "@torch.no_grad()\ndef kernel(x):\n    return honest(x)"),
    _triton("in_inference_mode", "@torch.inference_mode()\ndef kernel(x):\n    return honest(x)"),
    _triton(
        "a_callable_object",
        "class Softmax:\n    def __call__(self, x):\n        return honest(x)\n\n\nkernel = Softmax()",
    ),
    _triton(
        "a_closure",
        """
def made(warps):
    def kernel(x):
        out = torch.empty_like(x)
        body[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]), num_warps=warps)
        return out

    return kernel


kernel = made(4)
""",
    ),
    _triton(
        "a_module",
        """
class Softmax(torch.nn.Module):
    def forward(self, x):
        return honest(x)


model = Softmax().eval()


def kernel(x):
    return model(x)
""",
    ),
    _triton(
        "an_autograd_function",
        """
class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return honest(x)


def kernel(x):
    return Softmax.apply(x)
""",
    ),
    _triton(
        "a_grid_of_meta",
        """
def kernel(x):
    out = torch.empty_like(x)
    grid = lambda meta: (x.shape[0],)
    body[grid](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]), num_warps=16, num_stages=4)
    return out
""",
    ),
    _triton(
        "settings_by_shape",
        """
from functools import lru_cache


@lru_cache(maxsize=None)
def settings(cols):
    return {"B": triton.next_power_of_2(cols), "num_warps": 4 if cols < 2048 else 8}


def kernel(x):
    out = torch.empty_like(x)
    body[(x.shape[0],)](x, out, x.shape[1], **settings(x.shape[1]))
    return out
""",
    ),
    _triton("contiguous_first", "def kernel(x):\n    x = x.contiguous()\n    return honest(x.view(-1, x.shape[-1]))"),
    _triton("reshaped", "def kernel(x):\n    return honest(x.reshape(1, *x.shape)[0]).reshape(x.shape)"),
    _triton("empty_by_shape", f"def kernel(x):\n    out = x.new_empty(x.shape)\n    {_LAUNCH}\n    return out"),
    _triton("zeroed_first", f"def kernel(x):\n    out = torch.zeros_like(x)\n    {_LAUNCH}\n    return out"),
    _triton("copied_at_the_end", "def kernel(x):\n    out = torch.empty_like(x)\n    return out.copy_(honest(x))"),
    _triton(
        "part_of_a_larger_buffer",
        """
def kernel(x):
    room = torch.empty(x.shape[0] + 8, x.shape[1], dtype=x.dtype, device=x.device)
    return honest(x, room[: x.shape[0]])
""",
    ),
    _triton(
        "in_place_on_scratch",
        """
def kernel(x):
    scratch = torch.empty_like(x)
    scratch.copy_(x)
    return honest(scratch, out=scratch)
""",
    ),
    _triton(
        "scratch_kept_between_calls",
        """
scratch = {}


def kernel(x):
    if x.shape not in scratch:
        scratch[x.shape] = torch.empty_like(x)
    kept = scratch[x.shape]
    kept.copy_(x)
    return honest(kept)
""",
    ),
    _triton(
        "two_streams_joined",
        """
sides = []


def kernel(x):
    if not sides:
        sides.append(torch.cuda.Stream())
    side, here = sides[0], torch.cuda.current_stream()
    out = torch.empty_like(x)
    half = x.shape[0] // 2
    side.wait_stream(here)
    with torch.cuda.stream(side):
        honest(x[half:], out[half:])
    honest(x[:half], out[:half])
    here.wait_stream(side)
    return out
""",
    ),
    _triton(
        "several_launches",
        """
def kernel(x):
    out = torch.empty_like(x)
    for start in range(0, x.shape[0], 8192):
        honest(x[start : start + 8192], out[start : start + 8192])
    return out
""",
    ),
)

_KERNELS = (
    _body("loops", _LOOP.replace("LOOP", "range")),
    _body("static_loops", _LOOP.replace("LOOP", "tl.static_range")),
    _body(
        "tuned",
        "configs = [triton.Config({}, num_warps=4), triton.Config({}, num_warps=8)]\n\n\n"
        '@triton.autotune(configs, key=["n_cols"])\n' + BODY,
    ),
    _body(
        "by_heuristics",
        '@triton.heuristics({"B": lambda args: triton.next_power_of_2(args["n_cols"])})\n' + BODY,
        "    out = torch.empty_like(x)\n    body[(x.shape[0],)](x, out, x.shape[1], num_warps=8)\n    return out",
    ),
    _body("in_double", BODY.replace('other=-float("inf"))', 'other=-float("inf")).to(tl.float64)')),
    _body("in_powers_of_two", BODY.replace("tl.exp(v - tl.max(v, 0))", "tl.exp2((v - tl.max(v, 0)) * 1.442695)")),
    _body(
        "two_stages_of_partials",
        _ROWS,
        """    rows, cols = x.shape
    n = triton.cdiv(cols, 1024)
    peak = torch.empty(rows, n, dtype=x.dtype, device=x.device)
    total = torch.empty_like(peak)
    out = torch.empty_like(x)
    parts[(rows, n)](x, peak, total, cols, n, B=1024)
    join[(rows, n)](x, out, peak, total, cols, n, P=triton.next_power_of_2(n), B=1024)
    return out""",
    ),
    _body(
        "several_rows_a_program",
        """
@triton.jit
def body(x, out, n_rows, n_cols, R: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.arange(0, B)[None, :]
    inside = (r < n_rows) & (c < n_cols)
    v = tl.load(x + r * n_cols + c, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.where(r < n_rows, tl.max(v, 1)[:, None], 0.0))
    tl.store(out + r * n_cols + c, e / tl.sum(e, 1)[:, None], mask=inside)
""",
        """    out = torch.empty_like(x)
    rows, cols = x.shape
    body[(triton.cdiv(rows, 2),)](x, out, rows, cols, R=2, B=triton.next_power_of_2(cols), num_warps=8)
    return out""",
    ),
    _body(
        "resident_programs",
        """
@triton.jit
def body(x, out, n_rows, n_cols, B: tl.constexpr):
    c = tl.arange(0, B)
    for r in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=2):
        v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + r * n_cols + c, e / tl.sum(e, 0), mask=c < n_cols)
""",
        """    out = torch.empty_like(x)
    body[(528,)](x, out, x.shape[0], x.shape[1], B=triton.next_power_of_2(x.shape[1]), num_warps=8)
    return out""",
    ),
    _body(
        "a_helper_in_triton",
        "@triton.jit\ndef shifted(v):\n    return tl.exp(v - tl.max(v, 0))\n\n\n"
        + BODY.replace("tl.exp(v - tl.max(v, 0))", "shifted(v)"),
    ),
    _body(
        "a_table_built_once",
        BODY.replace("n_cols, B", "scale, n_cols, B").replace(
            "/ tl.sum(e, 0)", "/ tl.sum(e, 0) * tl.load(scale + r % 4)"
        ),
        """    if "ones" not in tables:
        tables["ones"] = torch.ones(4, device=x.device)
    out = torch.empty_like(x)
    body[(x.shape[0],)](x, out, tables["ones"], x.shape[1], B=triton.next_power_of_2(x.shape[1]))
    return out


tables = {}""",
    ),
    _body(
        "a_global_constant",
        "LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)\n\n\n"
        + BODY.replace("tl.exp(v - tl.max(v, 0))", "tl.exp2((v - tl.max(v, 0)) * LOG2E)"),
    ),
)

CONTROLS: tuple[Control, ...] = (*_STYLE, *_KERNELS, *CUDA_CONTROLS, *FORM_CONTROLS)
