"""Building GPU candidates on a machine without a GPU: Triton and CUDA for an H200, features and failures."""

from __future__ import annotations

import json
import math
import shutil
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from foretell.kernels.bench.gpu.builders import BuilderPool, build_here
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import nvrtc
from foretell.kernels.languages.python_source import NoEntry, entry_of, language_of, load_module
from foretell.kernels.languages.sass import NotACubin, loop_depths, read_cubin, spills_in
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.propose.cuda import templates as cuda_templates
from foretell.kernels.propose.triton import templates as triton_templates
from foretell.kernels.protocols import Build
from foretell.kernels.sandbox import ForkServer

needs_cuda_compiler = pytest.mark.skipif(
    nvrtc.toolchain() is None and shutil.which("nvcc") is None, reason="neither NVRTC nor nvcc is here"
)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def _build(language: str, source: str, task: str = "softmax") -> Build:
    return build_here([(get(task, "gpu"), Candidate(task, language, source))], 90)[0]


def test_triton_builds_for_an_absent_gpu_with_features() -> None:
    template = triton_templates()["softmax"]
    built = _build("triton", template.render(template.settings()[0]))
    assert built.status is Status.OK and not built.message
    assert built.features["registers"] > 8
    assert 0 < built.features["occupancy"] <= 1
    assert built.features["launches"] == 1
    assert built.features["global_load_share"] > 0
    assert built.features["blocks_log2"] == 13
    assert _moves_what_it_must(built)


def _moves_what_it_must(build: Build) -> bool:
    """A softmax over rows reads its input once or a few times and writes its output once."""
    task = get("softmax", "gpu")
    half = task.least_bytes(task.workloads[0].sizes) / 2
    read, written = (2 ** build.features[f"dry_{kind}_cost_log2"] for kind in ("load", "store"))
    return bool(0.99 * half <= read < 3.5 * half and 0.99 * half <= written < 1.3 * half)


@needs_cuda_compiler
def test_cuda_builds_for_an_absent_gpu_with_features() -> None:
    template = cuda_templates()["softmax"]
    built = _build("cuda", template.render(template.settings()[0]))
    assert built.status is Status.OK and not built.message, built.message
    assert built.features["registers"] > 8
    assert built.features["threads"] >= 32
    assert _moves_what_it_must(built)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def kernel(x: return x", "SyntaxError"),
        ("value = 3\n", "NoEntry"),
        ("def kernel(x):\n    return missing(x)\n", "NameError"),
        (
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef body(x):\n    tl.store(x, missing)\n\n\n"
            "def kernel(x):\n    body[(1,)](x)\n    return x\n",
            "missing",
        ),
    ],
)
def test_what_does_not_build_says_why(source: str, says: str) -> None:
    built = _build("triton", source)
    assert built.status is Status.COMPILE_ERROR
    assert says in built.message


@needs_cuda_compiler
def test_cuda_that_does_not_compile_says_why() -> None:
    source = 'from foretell.cuda import compile\nprogram = compile("__global__ void f(int n) { missing(n); }")\n'
    built = _build("cuda", source + "def kernel(x):\n    return x\n")
    assert built.status is Status.COMPILE_ERROR
    assert "missing" in built.message


def test_host_code_that_cannot_be_traced_is_left_to_the_worker() -> None:
    source = "def kernel(x):\n    return x if x[0, 0].item() > 0 else x + 1\n"
    built = _build("triton", source)
    assert built.status is Status.OK
    assert built.message.startswith("not traced")


TUNED = """
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"B": 1024}, num_warps=4), triton.Config({"B": 2048}, num_warps=8)], key=["n"])
@triton.jit
def body(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def kernel(x):
    out = torch.empty_like(x)
    assert torch.cuda.get_device_properties(x.device).multi_processor_count > 1
    body[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, out, x.numel())
    return out
"""


def test_every_setting_of_an_autotuned_kernel_is_compiled_and_one_is_a_launch(tmp_path: Path) -> None:
    built = _build("triton", TUNED)
    assert built.status is Status.OK and not built.message, built.message
    assert built.features["launches"] == 1
    threads = {json.loads(file.read_text())["num_warps"] for file in (tmp_path / "triton").glob("*/body.json")}
    assert threads == {4, 8}


def test_plain_torch_is_only_parsed() -> None:
    assert _build("torch", "def kernel(x):\n    return x\n").ok
    assert _build("torch", "def kernel(x:\n").status is Status.COMPILE_ERROR


def test_garbage_is_not_a_cubin() -> None:
    with pytest.raises(NotACubin):
        read_cubin(b"not a cubin at all", 128)


def test_loops_are_read_off_branches_that_go_back() -> None:
    # Taken from a real listing: 0x1ed0 branches to 0x1f0, 0x1ef0 to itself; the rest does nothing.
    lows = [0x7918] * 0x1F0
    lows[0x1ED], lows[0x1EF] = 0xFFFFFFE000C4D947, 0xFFFFFFFC00FC7947
    depths = loop_depths(lows)
    assert depths == [0] * 0x1F + [1] * (0x1EE - 0x1F) + [0, 0]
    lows[0x5] = 0x0000000000180947  # forward
    assert loop_depths(lows) == depths


def test_spills_are_counted_outside_of_loops_and_in_them() -> None:
    lows, highs = [0x7918] * 0x1F0, [0] * 0x1F0
    lows[0x1ED] = 0xFFFFFFE000C4D947  # back to 0x1f
    lows[3], highs[3] = 0x7387, 6 << 9  # 16 bytes to the stack, before the loop
    lows[0x80], highs[0x80] = 0x7983, 4 << 9  # 4 bytes from it, in the loop
    found = spills_in(b"".join(word.to_bytes(8, "little") for pair in zip(lows, highs, strict=True) for word in pair))
    looped = 0x1EE - 0x1F
    assert (found.once_bytes, found.looped_bytes, found.looped) == (16.0, 4.0, looped)
    assert found.moved_bytes(found.once + 10 * looped) == 16.0 + 10 * 4.0
    assert found.moved_bytes(1.0) == 20.0  # nothing is known of branches that leave out a part
    assert spills_in(b"").moved_bytes(1000.0) == 0.0


_ASKS_AND_COPIES = """import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, y, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, tl.load(x + at))


def kernel(x):
    seen = torch.cuda.get_device_properties(0)
    assert seen.max_threads_per_multi_processor == {threads}
    y = torch.empty_like(x)
    copy[(seen.multi_processor_count,)](x, y, 1024, num_warps=32)
    return y
"""


@pytest.mark.parametrize(
    ("capability", "multiprocessors", "threads", "share"), [(80, 108, 2048, 1.0), (89, 128, 1536, 1024 / 1536)]
)
def test_an_absent_gpu_has_limits_of_its_own(capability: int, multiprocessors: int, threads: int, share: float) -> None:
    candidate = Candidate("softmax", "triton", _ASKS_AND_COPIES.format(threads=threads))
    [built] = build_here([(get("softmax", "gpu"), candidate)], capability, multiprocessors)
    assert built.status is Status.OK and not built.message, built.message
    assert built.features["blocks_log2"] == pytest.approx(math.log2(multiprocessors))
    assert built.features["occupancy"] == share  # two blocks of 1024 threads, or one


def test_entries_of_three_kinds() -> None:
    ours = entry_of(load_module("def kernel(a, b):\n    return a + b\n"))
    assert ours(1, 2) == 3
    mode = entry_of(load_module("def custom_kernel(data):\n    a, b = data\n    return a * b\n"))
    assert mode(3, 4) == 12
    bench = entry_of(
        load_module(
            "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self, k):\n"
            "        super().__init__()\n        self.k = k\n\n    def forward(self, x):\n        return x + self.k\n"
        ),
        [5],
        "cpu",
    )
    assert bench(2) == 7
    with pytest.raises(NoEntry):
        entry_of(load_module("pass\n"))


def test_language_is_read_off_the_source() -> None:
    assert language_of("@triton.jit\ndef f(): ...") == "triton"
    assert language_of("from foretell.cuda import compile") == "cuda"
    assert language_of("import torch") == "torch"


def test_a_builder_that_does_not_start_says_why() -> None:
    pool = BuilderPool(90, 1, server=ForkServer(("no_such_module",)))
    futures = [pool.submit(get("softmax", "gpu"), Candidate("softmax", "triton", f"{n}\n")) for n in range(2)]
    built = [future.result(timeout=100) for future in futures]
    pool.close()
    why = "the sandbox's server did not start: ModuleNotFoundError: No module named 'no_such_module'"
    assert [(b.status, b.message) for b in built] == [(Status.INFRASTRUCTURE, why)] * 2


def test_a_pool_closes_at_once_with_builds_waiting_and_under_way() -> None:
    slow = "import time\ntime.sleep(250)\n\n\ndef kernel(x):\n    return x\n"
    pool = BuilderPool(90, 1)
    task = get("softmax", "gpu")
    futures = [pool.submit(task, Candidate("softmax", "triton", f"{slow}{n}\n")) for n in range(3)]
    deadline = time.monotonic() + 120
    while not pool.under_way and time.monotonic() < deadline:
        time.sleep(0.05)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 100  # less than a build takes
    assert futures[0].result(timeout=100).status is Status.COMPILE_ERROR
    assert not futures[-1].done()
