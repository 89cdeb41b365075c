"""Imported once by the interpreter's server: torch, and Triton with its interpreter in the place of its compiler."""

import os

os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it where it defines its own functions, which is on import

import torch

import foretell.kernels.bench.gpu.compare
import foretell.kernels.tasks.runtime  # noqa: F401

torch.set_num_threads(1)
