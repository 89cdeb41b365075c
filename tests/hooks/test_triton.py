"""Forecasts for Triton's autotuner, made for GPUs that are not here."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

from foretell.hooks.launch import Given, launch_ms
from foretell.hooks.triton import early_config_prune, expected_ms, performance_model
from foretell.kernels.bench.gpu.device import NoGpu
from foretell.kernels.devices import described
from foretell.kernels.record.tracing import trace

EXAMPLE = Path(__file__).parents[2] / "examples" / "triton_prune.py"
COUNT = 1 << 24


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.setattr("sys.argv", ["triton_prune.py", "h200"])
        yield


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("triton_prune", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < count) + tl.load(y + at, at < count), at < count)


def configs(*blocks: int) -> list[Any]:
    return [triton.Config({"BLOCK": block}) for block in blocks]


def grid(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(COUNT, meta["BLOCK"]),)


def arguments() -> dict[str, Any]:
    x, y, out = (torch.empty(COUNT, device="meta") for _ in range(3))
    return {"x": x, "y": y, "out": out, "count": COUNT}


def test_the_example_runs_large_tiles_that_fit(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert all("128x" in line or "64x64" in line for line in lines[:3])
    assert all(line.endswith(": run") for line in lines[:3]) and all(line.endswith("not run") for line in lines[3:])
    assert "expected inf ms: 64x64x64, 4 warps, 16 stages" in lines[-1]
    assert "16x16x16" in lines[-2]


def test_spilled_registers_cost_time(example: Any) -> None:
    tile = {"BM": 64, "BN": 64, "BK": 32}
    roomy, spilling = triton.Config(tile), triton.Config(tile, maxnreg=32)
    x = torch.empty(2048, 2048, dtype=torch.float16, device="meta")
    call = {"a": x, "b": torch.empty_like(x), "c": torch.empty_like(x), "size": 2048}
    with_room, spilled = expected_ms(example.matmul, [roomy, spilling], call, grid=example.grid, device="h200")
    assert spilled > 1.1 * with_room


def test_times_are_those_of_the_device() -> None:
    small, large = expected_ms(add, configs(64, 1024), arguments(), grid=grid, device="h200")
    least_ms = 3 * 4 * COUNT / described("h200").bandwidth_bytes_per_s * 1e3
    assert 0.8 * least_ms < large < 2.0 * least_ms and large < small
    [on_an_l4] = expected_ms(add, configs(1024), arguments(), grid=grid, device=described("l4"))
    assert on_an_l4 > 5.0 * large


def test_the_autotuner_runs_what_is_expected_to_be_fast() -> None:
    ran: list[int] = []

    def bench(call: Any, quantiles: Any) -> list[float]:
        call()
        ran.append(1)
        return [float(len(ran))] * 3

    prune = {"perf_model": performance_model(lambda: tuned, "h200"), "top_k": 2}
    tuned = triton.autotune(configs(64, 1024, 32, 2048), ["count"], prune_configs_by=prune, do_bench=bench)(add)
    caches = dict(add.device_caches)
    trace(lambda: tuned[grid](*arguments().values()))  # a whole call of the autotuner, on a driver that only compiles
    assert {config.kwargs["BLOCK"] for config in tuned.configs_timings} == {1024, 2048}
    assert len(ran) == 2 and tuned.best_config.kwargs["BLOCK"] in (1024, 2048)
    assert set(caches) <= set(add.device_caches)


def test_nothing_is_left_behind() -> None:
    from triton.runtime import driver

    before = dict(add.device_caches), driver._active
    expected_ms(add, configs(1024), arguments(), grid=grid, device="a100")
    assert (dict(add.device_caches), driver._active) == before


def test_what_is_kept_is_nearly_as_fast_as_the_fastest() -> None:
    seen: list[int] = []
    given = [*configs(32, 64, 2048), triton.Config({"BLOCK": 1024}, pre_hook=lambda call: seen.append(call["BLOCK"]))]
    kept = early_config_prune(lambda: add, "h200")(given, arguments(), grid=grid, warmup=False)
    assert [config.kwargs["BLOCK"] for config in kept] == [2048, 1024] and seen == [1024]


def test_what_does_not_build_takes_forever_and_the_error_is_left_to_triton() -> None:
    assert expected_ms(add, configs(32), arguments(), grid=grid, device="h200") == [math.inf]
    assert performance_model(add, "h200")(**arguments(), grid=grid, BLOCK=16, num_warps=4) == math.inf
    assert len(early_config_prune(add, "h200")(configs(16, 32), arguments(), grid=grid)) == 2


def test_heuristics_below_the_autotuner_are_followed() -> None:
    block = triton.heuristics({"BLOCK": lambda call: 1024 if call["count"] > 100 else 64})(add)
    tuned = triton.autotune([triton.Config({}, num_warps=4), triton.Config({}, num_warps=8)], key=["count"])(block)
    times_ms = expected_ms(lambda: tuned, tuned.configs, arguments(), grid=grid, device="h200")
    [same] = expected_ms(add, configs(1024), arguments(), grid=grid, device="h200")
    assert times_ms[0] == pytest.approx(same) and len(times_ms) == 2


def test_without_a_device_there_must_be_one_here() -> None:
    if torch.cuda.is_available():
        assert performance_model(add)(**arguments(), grid=grid, BLOCK=1024) > 0.0
    else:
        with pytest.raises(NoGpu):
            performance_model(add)(**arguments(), grid=grid, BLOCK=1024)


def test_a_launch_by_its_features_alone() -> None:
    given, h200 = [Given((1024, 1024), "float16", 2)], described("h200")
    assert given[0].bytes == 2 << 20
    assert launch_ms([], given, h200) == []
    fits, does_not = launch_ms(
        [{"occupancy": 0.5, "blocks_log2": 10.0}, {"occupancy": 0.0, "blocks_log2": 10.0}], given, h200
    )
    assert 0.0 < fits < does_not == math.inf
    assert all(ms > 0.0 for ms in launch_ms([{"occupancy": 1.0, "blocks_log2": 0.0}], [], h200))
