"""Plain PyTorch recorded on fake CUDA tensors: replayed on the CPU it computes what the code itself does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.program import Allocate, Copy, Fork, Join, LibraryCall, Role
from foretell.kernels.program_codec import from_bytes, to_bytes
from foretell.kernels.record.refusal import Reason
from tests.kernels.record.sources import HEAD, check_on_cpu, program_of, recorded

_MATRIX = [((8, 16), "float32")]
_PAIR = [((8, 16), "float32"), ((8, 16), "float32")]


def _function(body: str, arguments: str = "x") -> str:
    return f"{HEAD}def kernel({arguments}):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def _model(init: str, forward: str, arguments: str = "x", outside: str = "") -> str:
    lines = [f"        {line}\n" for line in ("super().__init__()\n" + init).splitlines()]
    body = [f"        {line}\n" for line in forward.splitlines()]
    signature = f"    def forward(self, {arguments}):\n"
    head = f"{HEAD}{outside}\n\nclass ModelNew(nn.Module):\n    def __init__(self):\n"
    return "".join((head, *lines, "\n", signature, *body))


FUNCTIONS = {
    "elementwise": "return torch.relu(x) * 2 + 1",
    "views": "y = x.t().reshape(4, 32)[1:, ::2]\nreturn y.contiguous().view(-1)",
    "a view is returned": "return (x + 1).t()",
    "an input is returned": "return x, x + 1",
    "part of an input is returned": "return x[2:, 3]",
    "in place on a copy": "y = x.clone()\ny[1:3] += 1\ny.mul_(2)\nreturn y",
    "in place on the input": "x.add_(1)\nreturn x * 2",
    "written into": "y = torch.empty_like(x)\ntorch.mul(x, 3, out=y)\nreturn y",
    "parts put together": "y = torch.zeros(16, 16, device=x.device)\ny[:8] = x\ny[8:].copy_(x.flip(0))\nreturn y",
    "split and joined": "a, b = x.chunk(2, dim=1)\nreturn torch.cat([b, a], 1), torch.stack([a, b])",
    "several results": "v, i = torch.max(x, dim=1)\nreturn v, i, *torch.var_mean(x, dim=0)",
    "nested outputs": "return {'a': x + 1, 'b': [x * 2, (x - 1,)]}['b'][0], x.sum()",
    "a mask": "seen = torch.ones(16, 16, dtype=torch.bool, device=x.device).tril()[:8]\n"
    "return torch.softmax(x.masked_fill(~seen, float('-inf')), -1)",
    "a constant from the host": "w = torch.tensor([1.0, 2.0, 3.0, 4.0], device=x.device)\nreturn x.view(8, 4, 4) * w",
    "a scalar on the host": "return x * torch.tensor(2.5)",
    "a loop over known values": "y = x\nfor r in torch.linspace(0, 1, 3):\n    y = y * r.item() + 1\nreturn y",
    "another dtype": "return x.half().float().to(torch.bfloat16), x.to(torch.float64)",
    "bytes seen otherwise": "return x.view(torch.int32) + 1",
    "products": "return x @ x.t(), torch.einsum('ij,kj->ik', x, x), torch.addmm(x[:, :8], x, x.t(), beta=0.5)",
    "indexing": "i = torch.arange(3, device=x.device)\nreturn x[i], x[:, i + 1], x.gather(1, i.expand(8, 3))",
    "norms": "return F.layer_norm(x, (16,)), F.normalize(x, dim=1), F.group_norm(x[:, :, None], 4)",
    "operators kept whole": "return F.rms_norm(x, (16,)), torch.ops.aten.silu_backward(x, x + 1)",
    "nothing from the host": "return x + torch.cat([torch.empty(0), torch.ones(1)]).to(x.device)",
    "a convolution": "return F.conv1d(x[None], x.view(4, 8, 4), padding=1), F.max_pool1d(x[None], 2)",
    "attention": "q = x.view(1, 2, 8, 8)\nreturn F.scaled_dot_product_attention(q, q, q, is_causal=True)",
    "losses": "t = torch.arange(8, device=x.device)\n"
    "return F.cross_entropy(x, t), F.mse_loss(x, x * 2), F.smooth_l1_loss(x, x + 1)",
    "sorting": "return *torch.sort(x, dim=1), *torch.topk(x, 3), torch.cumsum(x, 1), torch.median(x, dim=1).values",
    "seeds": "torch.manual_seed(3)\ntorch.cuda.manual_seed_all(4)\ntorch.cuda.manual_seed(5)\nreturn x + 1",
    "an empty tensor": "return torch.cat([x[:0], x]), x.new_zeros(0, 4)",
    "complex numbers": "return torch.view_as_real(torch.fft.rfft(x)).contiguous()",
    "a gradient": "with torch.enable_grad():\n    y = x.detach().requires_grad_()\n"
    "    loss = (F.log_softmax(y, -1) * y[0] + y.half()).square().sum()\n"
    "    return *torch.autograd.grad(loss, y), loss",
    "a gradient of a gradient": "with torch.enable_grad():\n    y = x.detach().requires_grad_()\n"
    "    (g,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)\n"
    "    return torch.autograd.grad(g.square().sum(), y)",
    "a gradient through operators that are kept whole": "with torch.enable_grad():\n"
    "    y = x.detach().requires_grad_()\n    q = F.rms_norm(y, (16,)).view(1, 2, 8, 8)\n"
    "    return torch.autograd.grad(F.scaled_dot_product_attention(q, q, q).square().sum(), y)",
    "a gradient by a transformation": "return torch.func.grad_and_value(lambda y: (y.exp() * y).mean())(x)",
    "a gradient of one of several inputs": "with torch.enable_grad():\n"
    "    a, b, c = (x.detach().requires_grad_() for _ in range(3))\n"
    "    return torch.autograd.grad((a * b).tanh().sum(), [b, c], allow_unused=True)[:1]",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_replayed_on_the_cpu(name: str) -> None:
    program = check_on_cpu(_function(FUNCTIONS[name]), _MATRIX)
    assert from_bytes(to_bytes(program)) == program
    assert not program.setup and not program.weights


MODELS = {
    "a linear layer": ("self.f = nn.Linear(16, 4)", "return self.f(x)"),
    "layers": (
        "self.f = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))",
        "return self.f(x) * 2",
    ),
    "batch norm while training": ("self.f = nn.BatchNorm1d(16)", "return self.f(x)"),
    "batch norm": ("self.f = nn.BatchNorm1d(16).eval()", "return self.f(x)"),
    "a plain parameter": ("self.w = nn.Parameter(torch.randn(16))", "return x * self.w"),
    "a buffer": ("self.register_buffer('w', torch.arange(16.0))", "return x * self.w"),
    "a constant attribute": ("self.w = torch.linspace(0, 1, 16, device='cuda')", "return x * self.w"),
    "tensors made on the host": (
        "self.w = nn.Parameter(torch.Tensor(16, 4).uniform_())\nself.b = nn.Parameter(torch.tensor([1.0, 2, 3, 4]))\n"
        "self.register_buffer('less', self.b - self.w.sum(0))",
        "return x @ self.w + self.b * self.less",
    ),
    "held twice": (
        "self.w = nn.Parameter(torch.Tensor(16).uniform_())\nself.v = self.w\nw = self.w\nself.f = lambda x: x * w",
        "return self.f(x) + self.v",
    ),
    "moved when it is first used": (
        "self.h = torch.randn(16)",
        "self.h = self.h.to(x.device)\nreturn x * self.h",
    ),
    "a recurrent layer": ("self.f = nn.GRU(16, 4, 2, batch_first=True)", "return self.f(x[None])[0]"),
    "an lstm": ("self.f = nn.LSTM(16, 4)", "y, (h, c) = self.f(x[:, None])\nreturn y, h, c"),
    "a script": (
        "self.w = nn.Parameter(torch.randn(16))\nself.f = torch.jit.script(scripted)",
        "return self.f(x, self.w)",
    ),
    "a scripted layer": ("self.f = torch.jit.script(nn.Linear(16, 4))", "return self.f(x)"),
    "inference mode": (
        "self.w = nn.Parameter(torch.randn(16))",
        "with torch.inference_mode():\n    y = (x * self.w).to(torch.float64, copy=True)\n    return y.reshape(4, 32)",
    ),
    "a workspace as large as an input": (
        "self.w = nn.Parameter(torch.randn(16))\nself.y = None",
        "self.y = torch.zeros_like(x) if self.y is None else self.y\nreturn x * self.w + self.y",
    ),
    "a workspace that every call fills": (
        "self.w = nn.Parameter(torch.randn(16))\nself.y = None",
        "self.y = x + 1 if self.y is None else self.y\nself.y.zero_()\nself.y.add_(x)\nreturn self.y * self.w",
    ),
    "multi-head attention": (
        "self.f = nn.MultiheadAttention(16, 2, batch_first=True)",
        "return self.f(x[None], x[None], x[None], need_weights=False)[0]",
    ),
    "a backward pass": (
        "self.f = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 4))",
        "with torch.enable_grad():\n    self.f.zero_grad()\n    loss = self.f(x).square().mean()\n"
        "    loss.backward(retain_graph=True)\n    (2 * loss).backward()\n"
        "return loss.detach(), *[p.grad for p in self.f.parameters()]",
    ),
    "a backward pass of one's own": (
        "self.w = nn.Parameter(torch.randn(16))",
        "with torch.enable_grad():\n    a, b = Own.apply(x * self.w, self.w)\n    loss = a.exp().sum()\n"
        "    return torch.autograd.grad(loss, self.w)",
    ),
}


_OWN = """
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w, x + 1

    @staticmethod
    def backward(ctx, to_product, to_sum):
        x, w = ctx.saved_tensors
        return to_product * w + to_sum, (to_product * x).sum(0)
"""


_SCRIPTED = "def scripted(x, w):\n    return torch.sigmoid(torch.tanh(x * w) * w)\n"


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_replayed_with_other_weights(name: str) -> None:
    init, forward = MODELS[name]
    source = _model(init, forward, outside=_SCRIPTED if "script" in name else _OWN if "own" in name else "")
    if name == "a constant attribute":
        program = program_of(source, _MATRIX)
        assert [type(step) for step in program.setup] and not program.weights
        return
    program = check_on_cpu(source, _MATRIX)
    assert program.weights


def test_a_hook_on_a_gradient_is_refused() -> None:
    body = "with torch.enable_grad():\n    y = x.detach().requires_grad_()\n    y.register_hook(lambda g: g * 2)\n"
    refusal = recorded(_function(body + "    return torch.autograd.grad(y.exp().sum(), y)"), _MATRIX).refusal
    assert refusal is not None and refusal.reason is Reason.OPERATOR and "register_hook" in refusal.sentence


def test_folding_weights_is_setup_and_a_fact() -> None:
    init = "self.f = nn.Linear(16, 4)\nself.register_buffer('w', self.f.weight.detach().t().contiguous() * 2)"
    folded = _model(init, "return x @ self.w")
    lazily = _model(
        "self.f = nn.Linear(16, 4)\nself.w = None",
        "if self.w is None:\n    self.w = self.f.weight.t().contiguous() * 2\nreturn x @ self.w",
    )
    for source in (folded, lazily):
        program = program_of(source, _MATRIX)
        assert [weight.name for weight in program.weights] == ["f.weight"]
        assert program.facts["folds_weights"] and len(program.run) == 1
        assert {program.buffers[view.buffer].role for view in program.run[0].tensors()} == {Role.INPUT, Role.STATE}  # type: ignore[union-attr]
    assert program_of(folded, _MATRIX).run == program_of(lazily, _MATRIX).run


def test_a_workspace_that_is_kept_is_state() -> None:
    source = _model(
        "self.y = None",
        "if self.y is None:\n    self.y = torch.empty_like(x)\ntorch.add(x, 1, out=self.y)\nreturn self.y * 2",
    )
    program = check_on_cpu(source, _MATRIX)
    assert [type(step) for step in program.setup] == [Allocate]


def test_buffers_are_shared_by_views_and_numbered_by_use() -> None:
    program = program_of(_function("z = x.t() + y.t()\nreturn z.t(), z[1:]", "x, y"), _PAIR)
    [step] = program.run
    assert isinstance(step, LibraryCall)
    first, second = program.outputs
    assert first.buffer == second.buffer == 2 and second.offset_bytes > 0
    assert [view.buffer for view in step.tensors()] == [0, 1]
    assert [str(buffer.role) for buffer in program.buffers] == ["input", "input", "temporary"]


def test_streams_become_forks_and_joins() -> None:
    source = _function(
        "side = torch.cuda.Stream()\nside.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(side):\n    y = x * 2\nz = x + 1\n"
        "torch.cuda.current_stream().wait_stream(side)\nreturn y + z"
    )
    program = program_of(source, _MATRIX)
    assert [type(step) for step in program.run] == [Fork, LibraryCall, LibraryCall, Join, LibraryCall]
    assert [step.stream for step in program.run] == [1, 1, 0, 1, 0]  # type: ignore[union-attr]
    careless = _function("with torch.cuda.stream(torch.cuda.Stream()):\n    y = x * 2\nreturn y")
    assert [type(step) for step in program_of(careless, _MATRIX).run] == [Fork, LibraryCall, Join]


def test_flags_that_matter_are_kept() -> None:
    source = f"{HEAD}torch.backends.cuda.matmul.allow_tf32 = True\n\n\ndef kernel(x):\n    return x @ x.t()\n"
    before = torch.get_float32_matmul_precision()
    try:
        [step] = program_of(source, _MATRIX).run
        assert isinstance(step, LibraryCall) and dict(step.flags) == {"matmul_precision": "high"}
    finally:
        torch.set_float32_matmul_precision(before)


def test_constants_from_the_host_are_in_the_program() -> None:
    program = program_of(_function("return x + torch.tensor([[1.0], [2.0]] * 4, device='cuda')"), _MATRIX)
    [copy] = [step for step in program.run if isinstance(step, Copy)]
    assert copy.source == bytes.fromhex("0000803f00000040") * 4


REFUSED = {
    "reads a value": (Reason.DEPENDS_ON_DATA, _function("return x * x[0, 0].item()")),
    "branches on a value": (Reason.DEPENDS_ON_DATA, _function("return x + 1 if x.sum() > 0 else x")),
    "compresses": (Reason.DEPENDS_ON_DATA, _function("return x[x > 0]")),
    "swallows it": (
        Reason.DEPENDS_ON_DATA,
        _function("try:\n    x.sum().item()\nexcept Exception:\n    pass\nreturn x + 1"),
    ),
    "moves to the host": (Reason.DEPENDS_ON_DATA, _function("return (x.cpu() + 1).cuda()")),
    "draws": (Reason.NONDETERMINISTIC, _function("return x + torch.randn_like(x)")),
    "drops": (Reason.NONDETERMINISTIC, _model("self.f = nn.Dropout(0.5)", "return self.f(x)")),
    "keeps a result": (
        Reason.KEEPS_RESULTS,
        _model("self.y = None", "if self.y is None:\n    self.y = x * 2\nreturn self.y"),
    ),
    "keeps and reads": (
        Reason.KEEPS_RESULTS,
        _model("self.y = 0", "self.y = self.y + x\nreturn self.y"),
    ),
    "keeps an input": (Reason.KEEPS_RESULTS, _function("global old\nold = globals().get('old', x)\nreturn old + 1")),
    "keeps another model's weights": (
        Reason.KEEPS_RESULTS,
        _model(
            "self.f = nn.Linear(16, 4)",
            "return x @ kept.setdefault('w', self.f.weight.t().contiguous())",
            outside="kept = {}",
        ),
    ),
    "depends on addresses": (Reason.DEPENDS_ON_DATA, _function("return x * (x.data_ptr() // 512 % 97)")),
    "compiled": (Reason.COMPILED, f"{HEAD}@torch.compile\ndef kernel(x):\n    return x + 1\n"),
    "a graph of its own": (Reason.GRAPH, _function("g = torch.cuda.CUDAGraph()\nreturn x")),
    "no tensor": (Reason.OUTPUTS, _function("return x.shape[0]")),
    "on the host": (Reason.OUTPUTS, _function("return torch.ones(3)")),
    "from nowhere": (
        Reason.HOST_DATA,
        _function("import numpy\nreturn x + torch.from_numpy(numpy.random.rand(4000, 8, 16)).cuda()"),
    ),
    "does not parse": (Reason.BUILD, "def kernel(x:\n"),
    "has no entry": (Reason.BUILD, "value = 3\n"),
    "raises": (Reason.FAILED, _function("raise ValueError('so there')")),
    "shapes do not fit": (Reason.FAILED, _function("return x @ x")),
    "measures": (
        Reason.DEPENDS_ON_DATA,
        _function("a, b = (torch.cuda.Event(enable_timing=True) for _ in 'ab')\nreturn x * a.elapsed_time(b)"),
    ),
    "counts calls": (Reason.DEPENDS_ON_DATA, _function("global n\nn = globals().get('n', 0) + 1\nreturn x * n")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded_says_why(name: str) -> None:
    reason, source = REFUSED[name]
    recording = recorded(source, _MATRIX)
    assert recording.program is None and recording.refusal is not None
    assert recording.refusal.reason is reason, recording.refusal
    assert 10 < len(recording.refusal.sentence) < 600


def test_torch_is_left_as_it_was() -> None:
    names = ("is_available", "Stream", "Event", "current_stream", "synchronize", "get_device_properties")
    before = [getattr(torch.cuda, name) for name in names], torch.compile
    recorded(_function("return x + 1"), _MATRIX)
    recorded(_function("return x.nosuch()"), _MATRIX)
    assert ([getattr(torch.cuda, name) for name in names], torch.compile) == before


def test_seeds_need_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda.random, "device_count", lambda: 2)  # as on a machine whose GPUs are not in use yet
    program_of(_model("torch.manual_seed(3)\nself.f = nn.Linear(16, 4)", "return self.f(x)"), _MATRIX)


def test_what_is_chosen_by_time_is_recorded_as_if_all_took_the_same() -> None:
    chosen = (
        "if self.best is None:\n    a, b = (torch.cuda.Event(enable_timing=True) for _ in 'ab')\n"
        "    a.record()\n    x * 3\n    b.record()\n    torch.cuda.synchronize()\n"
        "    self.best = min((1, 2), key=lambda _: a.elapsed_time(b))\nreturn x * self.best"
    )
    program = program_of(_model("self.best = None", chosen), _MATRIX)
    assert len(program.run) == 1 and any("time" in each for each in program.facts["assumptions"])


def test_recordings_in_threads_leave_torch_as_it_was() -> None:
    """Stand-ins hold for the whole process: one recording must not put back those of another."""
    before = torch.cuda.is_available, torch.cuda.Stream, torch.compile
    source = "import torch\ndef kernel(x):\n    for _ in range(20):\n        x = x + 1\n    return x\n"
    with ThreadPoolExecutor(4) as pool:
        programs = list(pool.map(lambda _: program_of(source, [((8, 16), "float32")]), range(12)))
    assert len({len(program.run) for program in programs}) == 1
    assert (torch.cuda.is_available, torch.cuda.Stream, torch.compile) == before
