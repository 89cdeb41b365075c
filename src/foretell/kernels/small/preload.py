"""Imported once by the server of small runs."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import foretell.kernels.bench.gpu.compare
import foretell.kernels.emulate.module
import foretell.kernels.tasks.problem_runtime
import foretell.kernels.tasks.runtime  # noqa: F401

torch.set_num_threads(1)
with FakeTensorMode():  # what it imports when it is first used takes seconds
    torch.nn.functional.softmax(torch.nn.Linear(2, 2)(torch.randn(2, 2)).transpose(0, 1).contiguous(), -1).sum()
