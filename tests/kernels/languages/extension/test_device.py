"""A CUDA extension without a GPU: its launches and calls reach a recorder as events."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode

from foretell.kernels.devices import described
from foretell.kernels.languages import extension
from foretell.kernels.languages.extension import NotRecordable, events


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Events, with a recorder that answers nothing, and fake tensors."""
    taken: list[Any] = []
    monkeypatch.setattr(extension, "recorder", taken.append)
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield taken


def _cuda(*shape: int, dtype: Any = None) -> Any:
    return torch.empty(shape, device="cuda", dtype=dtype or torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_a_launch_with_its_arguments(device_extension: ModuleType, seen: list[Any], dtype: Any) -> None:
    x = _cuda(1000, dtype=dtype)
    y = device_extension.twice(x)
    [launch] = seen
    assert isinstance(launch, events.Launched)
    assert (launch.grid, launch.block, launch.shared_bytes, launch.stream) == ((4, 1, 1), (256, 1, 1), 0, 0)
    assert launch.parameters == ((0, 8), (8, 8), (16, 4), (24, 24))
    assert struct.unpack_from("<QQi4xfxxxxqc", launch.arguments) == (
        extension.address_of(x), extension.address_of(y), 1000, 2.0, 1000, b"x",
    )  # fmt: skip
    assert launch.image.arch == "sm_90a" and f".entry {launch.entry}" in launch.image.ptx
    assert launch.image.cubin[:4] == b"\x7fELF" and launch.image.resources(launch.entry)["registers"] > 0
    assert y.shape == x.shape and y.dtype is dtype and y.device.type == "cuda"


def test_a_view_has_an_address_inside_its_storage(device_extension: ModuleType, seen: list[Any]) -> None:
    x = _cuda(64, 32)
    device_extension.twice(torch.select(x, 0, 1))
    [launch] = seen
    assert struct.unpack_from("<Q", launch.arguments)[0] == extension.address_of(x) + 32 * 4


def test_shared_memory_streams_and_accessors(
    device_extension: ModuleType, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extension, "current_stream", 77)
    out = device_extension.row_sums(_cuda(6, 300), 128)
    launch = seen[-1]
    assert (launch.grid[0], launch.block[0], launch.shared_bytes, launch.stream) == (6, 128, 512, 77)
    _, *layout = struct.unpack_from("<Qiiii", launch.arguments)
    assert layout == [6, 300, 300, 1] and out.shape == (6,)


def test_a_launch_that_no_device_would_take_fails(device_extension: ModuleType, seen: list[Any]) -> None:
    for threads in (2048, 0):
        with pytest.raises(RuntimeError, match="the launch failed"):
            device_extension.row_sums(_cuda(6, 300), threads)
    assert not seen
    with pytest.raises(RuntimeError, match="must be a CUDA tensor"):
        device_extension.twice(torch.empty(3))


def test_memory_symbols_and_streams(device_extension: ModuleType, seen: list[Any]) -> None:
    x = _cuda(64)
    device_extension.everything(x)
    kinds = [type(event) for event in seen]
    assert kinds == [
        events.SymbolUploaded, events.Allocated, events.Filled, events.Copied, events.Copied, events.Created,
        events.Created, events.StreamUsed, events.StreamUsed, events.Freed, events.StreamUsed,
    ]  # fmt: skip
    upload, allocated, fill, up, across, stream, _, record, wait, freed, last = seen
    assert upload.symbol == "factors" and upload.data == struct.pack("<4f", 1, 2, 3, 4)
    assert allocated.size_bytes == 1024 and (fill.value, fill.size_bytes) == (0, 1024)
    assert up.data == upload.data and up.kind is events.CopyKind.HOST_TO_DEVICE and up.target == fill.address
    assert (across.target, across.source, across.data) == (extension.address_of(x), fill.address, None)
    assert stream.what == "stream" and (record.event, record.action) == (wait.event, events.StreamAction.RECORD)
    assert freed.address == fill.address and last.action is events.StreamAction.SYNCHRONIZE


def test_a_recorder_answers_with_its_own_addresses(
    device_extension: ModuleType, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def recorder(event: Any) -> int | None:
        seen.append(event)
        return {events.Allocated: 1 << 40, events.Created: 5}.get(type(event))

    monkeypatch.setattr(extension, "recorder", recorder)
    monkeypatch.setattr(extension, "address_of", lambda tensor: 123 << 20)
    device_extension.everything(_cuda(64))
    assert {e.address for e in seen if isinstance(e, events.Filled | events.Freed)} == {1 << 40}
    assert next(e for e in seen if isinstance(e, events.Copied) and e.data is None).target == 123 << 20


def test_host_code_is_told_of_the_described_device(
    device_extension: ModuleType, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extension, "device", described("a100"))
    multiprocessors, major, blocks, grid, block, registers, most, failed, warp = device_extension.asked(_cuda(1))
    assert (multiprocessors, major, warp, failed) == (108, 8, 32, 0)
    assert blocks == 8 and most == 256 and 8 < registers < 256
    assert block == 256 and grid == 8 * 108


def test_a_tensor_without_elements_is_a_null_pointer(device_extension: ModuleType, seen: list[Any]) -> None:
    """As people pass a bias that a layer does not have; one with values on the host would be read there."""
    device_extension.add_bias(_cuda(8), torch.empty(0))
    [launch] = seen
    assert launch.arguments[8:] == bytes(8) and launch.arguments[:8] != bytes(8)
    with pytest.raises(NotRecordable, match="values of a tensor"):
        device_extension.add_bias(_cuda(8), torch.empty(8))


def test_cublas_is_seen_as_a_product_of_torch(device_extension: ModuleType, seen: list[Any]) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    calls: list[tuple[str, Any]] = []

    class Seen(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            calls.append(
                (func.overloadpacket.__name__, [(tuple(a.shape), a.stride()) for a in args if hasattr(a, "shape")])
            )
            return func(*args, **(kwargs or {}))

    a, b = _cuda(5, 3), _cuda(3, 7)
    with Seen():
        c = device_extension.times(a, b)
    assert c.shape == (5, 7)
    assert ("mm", [((5, 3), (3, 1)), ((3, 7), (7, 1))]) in calls


def test_what_a_recorder_raises_goes_through(
    device_extension: ModuleType, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(event: Any) -> None:
        raise NotRecordable("not this one")

    monkeypatch.setattr(extension, "recorder", refuse)
    with pytest.raises(NotRecordable, match="not this one"):
        device_extension.twice(_cuda(10))


def test_calls_of_torch_from_cpp_are_dispatched(device_extension: ModuleType, seen: list[Any]) -> None:
    y = device_extension.on_stream(_cuda(10))
    assert y.shape == (10,) and len(seen) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_and_a_recorder_calls_fail_as_cuda_fails(device_extension: ModuleType) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises(RuntimeError, match="CUDA error"):
        device_extension.twice(_cuda(10))
