"""Imported once by the fork server, so that every worker and builder starts with the heavy modules in place."""

import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # a pool of processes wants memory shared by names

import torch
import torch._dynamo  # the first dispatch mode would import it, inside a measurement
import torch._subclasses.fake_tensor
import torch.utils._python_dispatch  # noqa: F401

import foretell.cuda
import foretell.kernels.bench.gpu.trusted.live
import foretell.kernels.bench.gpu.trusted.replayer
import foretell.kernels.bench.gpu.trusted.source_job
import foretell.kernels.library
import foretell.kernels.record.tracing
import foretell.kernels.tasks.runtime  # noqa: F401

try:
    import triton
    import triton.backends.nvidia.compiler
    import triton.compiler
    import triton.language

    for place in (triton.runtime.cache, triton.compiler.compiler):  # where versions have it
        if hasattr(place, "triton_key"):
            place.triton_key()  # a hash of Triton's libraries, which takes it a second, once
            break
except ImportError:
    pass  # no Triton here: such candidates fail to build, with that as the reason
