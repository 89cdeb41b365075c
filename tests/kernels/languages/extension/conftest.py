"""Extensions that are built once for all tests here; skipped where a compiler is missing."""

from __future__ import annotations

from types import ModuleType

import pytest

from foretell.kernels.languages import extension
from foretell.kernels.languages.extension import toolchain
from tests.kernels.languages.extension import sources

ARCH = "sm_90a"


@pytest.fixture(scope="session")
def host_extension() -> ModuleType:
    pytest.importorskip("torch")
    if toolchain.host_compiler() is None:
        pytest.skip("no C++ compiler is here")
    return extension.load(extension.build(extension.ExtensionSources("host_tests", cpp=(sources.HOST,)), ARCH))


@pytest.fixture(scope="session")
def device_extension() -> ModuleType:
    pytest.importorskip("torch")
    if toolchain.nvcc() is None:
        pytest.skip("nvcc is not here: CUDA extensions cannot be compiled")
    functions = tuple(
        (name, "") for name in ("twice", "row_sums", "everything", "asked", "times", "on_stream", "add_bias")
    )
    made = extension.ExtensionSources(
        "device_tests", cpp=(sources.DECLARATIONS,), cuda=(sources.DEVICE,), functions=functions
    )
    return extension.load(extension.build(made, ARCH))
