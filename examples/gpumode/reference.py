"""A problem in the shape of GPU MODE's leaderboards: an input generator, a reference, and an optional check."""

import torch


def generate_input(size: int, seed: int) -> torch.Tensor:
    """Rows of `size` numbers of both signs, drawn on the GPU from `seed`."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(4096, size, device="cuda", dtype=torch.float32, generator=generator).contiguous()


def ref_kernel(data: torch.Tensor) -> torch.Tensor:
    """The largest absolute value of each row."""
    return data.abs().amax(dim=1)


def check_implementation(data: torch.Tensor, output: torch.Tensor) -> str:
    """Empty where the output is right, else what is wrong with it."""
    expected = ref_kernel(data)
    if output.shape != expected.shape:
        return f"the output has shape {tuple(output.shape)}, expected {tuple(expected.shape)}"
    if not torch.equal(output, expected):
        return f"{int((output != expected).sum())} of {expected.numel()} rows are wrong"
    return ""
