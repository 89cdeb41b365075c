"""Knobs are found where they are defined, and nowhere else; edits change nothing else."""

from __future__ import annotations

import ast
import difflib
import subprocess
from pathlib import Path

import pytest

from foretell.kernels.languages.extension.toolchain import nvcc
from foretell.kernels.propose.knobs import AS_WRITTEN, NoKnobs, Space, find_space
from foretell.kernels.propose.knobs.kinds import Kind, kind_of, ladder
from tests.kernels.propose.knobs.sources import CUDA, INLINE, LAUNCHED, NAMED, TUNED

WRITTEN = sorted(Path("benchmarks/acceptance/triton").glob("*.kernel.py"))


def bases(space: Space) -> dict[str, object]:
    return {knob.name: knob.base for knob in space.knobs}


def changed_lines(space: Space, **values: object) -> list[str]:
    """The lines that a setting adds."""
    setting = {**space.base, **values}
    diff = difflib.ndiff(space.source.splitlines(), space.render(setting).splitlines())  # type: ignore[arg-type]
    return [line[2:].strip() for line in diff if line.startswith("+ ")]


def test_numbers_at_a_launch_and_the_grid_that_follows() -> None:
    space = find_space(LAUNCHED, "triton")
    assert bases(space) == {"BLOCK": 1024, "num_warps": 4, "maxnreg": 0, "used_once": AS_WRITTEN}
    [line] = changed_lines(space, BLOCK=2048, num_warps=8)
    assert line == "scale[((x.numel() + 2047) // 2048,)](x, y, x.numel(), HEAD_DIM=64, BLOCK=2048, num_warps=8)"


def test_constants_of_a_class_computed_warps_and_streaming_loops() -> None:
    space = find_space(NAMED, "triton")
    assert bases(space) == {
        **{"block": 2048, "num_warps": AS_WRITTEN, "maxnreg": 0},
        **{"loop": AS_WRITTEN, "used_once": AS_WRITTEN},
    }
    lines = changed_lines(space, block=1024, num_warps=16, maxnreg=64, loop="num_stages=3", used_once="loads")
    assert lines == [
        "for start in tl.range(0, n, BLOCK, num_stages=3):",
        'acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0, eviction_policy="evict_first")',
        "self.block = 1024",
        "num_warps=16, maxnreg=64,  # by size",
    ]


def test_an_autotuner_becomes_one_configuration() -> None:
    space = find_space(TUNED, "triton")
    assert not space.holds_source
    assert bases(space) == {
        **{"BM": 64, "BN": 64, "BK": 32, "num_warps": 4, "num_stages": 3},
        "used_once": AS_WRITTEN,
    }
    assert [setting["BM"] for setting in space.first] == [64, 128]
    lines = changed_lines(space, BM=256)
    assert lines == ['configs=[triton.Config({"BM": 256, "BN": 64, "BK": 32}, num_warps=4, num_stages=3)],']
    assert min(next(knob.values for knob in space.knobs if knob.name == "BK")) == 16  # tensor cores take no less


def test_cuda_constants_launches_bounds_and_unrolling() -> None:
    space = find_space(CUDA, "cuda")
    expected = {
        "TILE": 32,
        "BM": 64,
        "BN": 64,
        "threads": 256,
        "threads#2": 128,
        "VEC": 4,
        "unroll": 4,
        "min_blocks": 0,
    }
    assert bases(space) == expected
    assert changed_lines(space, threads=512) == [
        "__global__ void __launch_bounds__(512) add(const float* x, float* y, int n) {",
        "__shared__ float part[512];",
        "const int threads = 512;",
        "add<<<(n + 511) / 512, threads>>>(x, y, n);",
    ]
    assert changed_lines(space, min_blocks=2)[0].startswith("__global__ void __launch_bounds__(256, 2)")
    assert changed_lines(space, VEC=8) == ["widen<8><<<1, 128>>>(y);"]


def test_what_cannot_be_launched_or_does_not_fit_is_not_tried() -> None:
    space = find_space(CUDA, "cuda")
    base = space.base
    assert not space.allows({**base, "TILE": 128})  # 66 KB of static shared memory
    assert not space.allows({**base, "BM": 512, "BN": 512})  # 4096 threads
    assert not space.allows({**base, "BM": 8, "BN": 64})  # 8 threads
    assert space.allows({**base, "BM": 128})
    tuned = find_space(TUNED, "triton")
    assert not tuned.allows({**tuned.base, "BM": 256, "BN": 256, "BK": 128, "num_stages": 6})


def test_cuda_in_strings_that_are_used() -> None:
    space = find_space(INLINE, "torch")
    assert bases(space) == {**bases(find_space(CUDA, "cuda")), "ROWS_PER_BLOCK": 4}
    ast.parse(space.render({**space.base, "threads": 512, "TILE": 64}))


def test_a_kernel_without_knobs_is_refused() -> None:
    with pytest.raises(NoKnobs, match="no tunable constant"):
        find_space("import torch\n\ndef kernel(x):\n    '''#define TILE 4'''\n    return x * 2\n", "torch")


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name[:-10])
def test_every_written_kernel_has_knobs_and_keeps_its_syntax(path: Path) -> None:
    source = path.read_text()
    space = find_space(source, "triton")
    assert not space.holds_source or space.render(space.base) == source
    for setting in [*space.near(space.base, 1)][:12]:
        text = space.render(setting)
        ast.parse(text)
        assert text != source


@pytest.mark.parametrize("changes", [{"threads": 512, "VEC": 2}, {"BM": 128, "min_blocks": 2, "unroll": 8}])
def test_variations_compile(changes: dict[str, int], tmp_path: Path) -> None:
    compiler = nvcc()
    if compiler is None:
        pytest.skip("no nvcc")
    space = find_space(CUDA, "cuda")
    file = tmp_path / "variation.cu"
    file.write_text(space.render({**space.base, **changes}))
    subprocess.run([compiler.path, "-ptx", "-arch=sm_90", "-o", tmp_path / "out.ptx", file], check=True)


def test_ladders_keep_powers_of_two_and_bounds() -> None:
    assert ladder(Kind.THREADS, 256) == (32, 64, 128, 256, 512, 1024)
    assert ladder(Kind.TILE, 16) == (2, 4, 8, 16, 32, 64, 128)
    assert ladder(Kind.WARPS, 4) == (1, 2, 4, 8, 16)
    assert ladder(Kind.TILE, 96) == (24, 48, 96, 192, 384)
    assert ladder(Kind.THREADS, 192)[-1] == 1024 and 192 in ladder(Kind.THREADS, 192)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("BLOCK_SIZE_M", Kind.TILE), ("kBlockDim", Kind.TILE), ("BN", Kind.TILE), ("NUM_WARPS", Kind.WARPS),
        ("threads_per_block", Kind.THREADS), ("ELEMS_PER_THREAD", Kind.ITEMS), ("kStages", Kind.STAGES),
        ("VEC_SIZE", Kind.VECTOR), ("max_blocks", Kind.BLOCKS), ("GROUP_SIZE_M", Kind.GROUP), ("UNROLL", Kind.UNROLL),
        ("HEAD_DIM", None), ("WARP_SIZE", None), ("warpSize", None), ("NUM_HEADS", None), ("eps", None), ("N", None),
        ("KERNEL_SIZE", None), ("num_groups", None),
    ],
)  # fmt: skip
def test_names_say_what_a_constant_is_for(name: str, kind: Kind | None) -> None:
    assert kind_of(name) is kind
