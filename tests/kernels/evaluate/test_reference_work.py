"""Work read off the text of a reference program: by hand, and nothing guessed where the text is not understood."""

from __future__ import annotations

import pytest

from foretell.kernels.evaluate.foreign import task_of
from foretell.kernels.evaluate.reference_text import Array
from foretell.kernels.evaluate.reference_work import Work, work_of
from tests.kernels.evaluate.world import foreign_row

HEAD = "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def _program(forward: str, inputs: str, made: str = "", constants: str = "", init: str = "", takes: str = "x") -> str:
    first = init.partition("|")
    return (
        f"{HEAD}\n\nclass Model(nn.Module):\n"
        f"    def __init__(self{first[0]}):\n        super().__init__()\n        {first[2] or 'pass'}\n\n"
        f"    def forward(self, {takes}):\n        {forward}\n\n\n{constants}\n\n"
        f"def get_inputs():\n    {inputs}\n\n\ndef get_init_inputs():\n    return [{made}]\n"
    )


def _work(*words: str, **named: str) -> Work:
    found = work_of(_program(*words, **named))
    assert found is not None
    return found


def test_an_elementwise_operation() -> None:
    found = _work(
        "return torch.relu(x) * 2.0",
        "x = torch.rand(batch, *shape)\n    return [x]",
        constants="batch = 16\nshape = (4, 8)\nother = unknown()",
    )
    assert found == Work((Array((16, 4, 8)),), (Array((16, 4, 8)),), 2.0 * 512)


def test_products_count_both_operands() -> None:
    constants = "M = N = 64\nK = M * 2"
    inputs = "return [torch.randn(M, K), torch.randn(K, N)]"
    found = _work("return torch.matmul(A, B)", inputs, constants=constants, takes="A, B")
    assert found.flops == 2.0 * 64 * 64 * 128 and found.outputs == (Array((64, 64)),)
    turned = _work("return (A @ B.T).sum(dim=1)", inputs.replace("K, N", "N, K"), constants=constants, takes="A, B")
    assert turned.flops == 2.0 * 64 * 64 * 128 + 64 * 64 and turned.outputs == (Array((64,)),)


def test_layers_bring_their_weights() -> None:
    found = _work(
        "return F.gelu(self.fc(x)) + self.shift",
        "return [torch.rand(8, 32)]",
        made="32, 16",
        init=", wide, out|self.fc = nn.Linear(wide, out); self.shift = nn.Parameter(torch.randn(out))",
    )
    assert found == Work(
        (Array((8, 32)), Array((16, 32)), Array((16,))), (Array((8, 16)),), 2.0 * 8 * 32 * 16 + 2 * 8 * 16
    )


@pytest.mark.parametrize(
    ("layer", "shape", "after", "flops"),
    [
        ("nn.Conv2d(3, 8, 3, padding=1, stride=2)", (2, 3, 9, 9), (2, 8, 5, 5), 2.0 * 2 * 8 * 25 * 3 * 9),
        ("nn.Conv2d(4, 4, (3, 1), groups=4)", (1, 4, 8, 8), (1, 4, 6, 8), 2.0 * 4 * 48 * 3),
        ("nn.Conv1d(2, 4, 3, dilation=2)", (1, 2, 10), (1, 4, 6), 2.0 * 4 * 6 * 2 * 3),
        ("nn.ConvTranspose2d(3, 8, 4, stride=2, padding=1)", (2, 3, 5, 5), (2, 8, 10, 10), 2.0 * 2 * 3 * 25 * 8 * 16),
        ("nn.MaxPool2d(2)", (1, 4, 9, 9), (1, 4, 4, 4), 64.0 * 4),
        ("nn.AvgPool1d(4, stride=2, padding=1)", (1, 2, 16), (1, 2, 8), 16.0 * 4),
        ("nn.Softmax(dim=1)", (4, 8), (4, 8), 5.0 * 32),
        ("nn.Sequential(nn.Linear(8, 2), nn.ReLU())", (4, 8), (4, 2), 2.0 * 4 * 8 * 2 + 8),
    ],
)
def test_shapes_and_operations_of_layers(
    layer: str, shape: tuple[int, ...], after: tuple[int, ...], flops: float
) -> None:
    found = _work("return self.one(x)", f"return [torch.rand{shape}]", init=f"|self.one = {layer}")
    assert found.outputs == (Array(after),) and found.flops == flops


def test_what_follows_something_odd_is_not_counted() -> None:
    found = _work("x = x + 1.0\n        x = torch.odd(x)\n        return torch.relu(x)", "return [torch.rand(4, 4)]")
    assert found == Work((Array((4, 4)),), (), 16.0)
    branch = _work("if x.sum() > 0:\n            x = x @ x\n        return x", "return [torch.rand(4, 4)]")
    assert branch.flops == 0.0 and not branch.outputs


def test_dtypes() -> None:
    inputs = "return [torch.rand(4, 2).half(), torch.randint(0, 9, (4,)), torch.zeros((4,), dtype=torch.bfloat16), 3]"
    found = _work("return x", inputs, takes="x, y, z, n")
    assert [each.dtype for each in found.inputs] == ["float16", "int64", "bfloat16"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def get_inputs(",
        "def get_inputs():\n    return [open('x')]\n",
        "def get_inputs():\n    return []\n",
        "import torch\n\n\ndef get_inputs():\n    return [torch.rand(9 ** 9 ** 9)]\n",
        "import torch\nn = (1,) * 10 ** 12\n\n\ndef get_inputs():\n    return [torch.rand(n)]\n",
        "import torch\n\n\ndef get_inputs():\n    return [torch.rand(" + "(" * 150 + "4" + ")" * 150 + " - 'a')]\n",
        "x = 1\n" * 30_000 + "import torch\n\n\ndef get_inputs():\n    return [torch.rand(4)]\n",
    ],
)
def test_texts_without_inputs_say_nothing(text: str) -> None:
    assert work_of(text) is None


def test_the_task_of_a_row_is_told_its_work() -> None:
    program = _program("return torch.tanh(x)", "return [torch.rand(1024, 1024)]")
    task = task_of(foreign_row(0, 0, reference_code=program))
    [workload] = task.workloads
    assert workload.sizes == {"side0": 1024, "side1": 1024}
    assert task.least_bytes(workload.sizes) == 8.0 * 2**20 and task.flops(workload.sizes) == 2.0**20
    odd = task_of(foreign_row(0, 0, reference_code=program.replace("tanh", "odd")))
    assert odd.least_bytes(workload.sizes) == 4.0 * 2**20 and odd.flops(workload.sizes) == 2.0**20
