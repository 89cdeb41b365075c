"""Whether CUDA works in the sandbox that is given the GPUs: walls that nothing can be run behind are of no use."""

from __future__ import annotations

from foretell.kernels.limits import GPU_LIMITS
from foretell.kernels.sandbox.forkserver import ForkServer
from foretell.kernels.sandbox.jobs import JobFailed
from foretell.kernels.sandbox.kinds import Kind

_SIZE = 256


def cuda_within(kind: Kind) -> tuple[bool, str]:
    """Whether a product of matrices comes out right in a job of such a server, and on which GPU, or why not."""
    server = ForkServer(("torch",), kind=kind, gpu=True)
    try:
        return True, server.call(f"{__name__}:job", b"", GPU_LIMITS).decode(errors="replace")
    except JobFailed as failure:
        return False, str(failure)
    finally:
        server.close()


def job(_: bytes) -> bytes:
    """Multiply on the GPU; its name. Raises if the result is wrong."""
    import torch

    ones = torch.ones(_SIZE, _SIZE, device="cuda")
    total = float((ones @ ones).sum())
    if total != float(_SIZE**3):
        raise ArithmeticError(f"a product of ones sums up to {total}")
    return str(torch.cuda.get_device_name()).encode()
