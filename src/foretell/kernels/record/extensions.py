"""C++ and CUDA extensions while recording: what their host code asks of the CUDA runtime becomes steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from foretell.kernels.device import Device
from foretell.kernels.languages.extension.events import (
    Allocated,
    Copied,
    CopyKind,
    Created,
    ExtensionEvent,
    Filled,
    Freed,
    Launched,
    StreamAction,
    StreamUsed,
    SymbolAddressed,
    SymbolRead,
    SymbolUploaded,
)
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.program import Copy, Fill, Launch, Region, SymbolUpload
from foretell.kernels.record.host import Streams
from foretell.kernels.record.launches import arch_of
from foretell.kernels.record.refusal import Reason
from foretell.kernels.record.session import Session

FIRST_EVENT = 0x52000000


class ExtensionRecorder:
    """Writes the events of extensions into a session's log; answers with addresses and handles."""

    def __init__(self, session: Session, streams: Streams) -> None:
        self._session, self._streams = session, streams
        self._events: dict[int, int] = {}  # handles to the stream that each was recorded on

    def address_of(self, tensor: Any) -> int:
        """The address of a tensor's first element; host memory that has no values cannot be pointed to."""
        if tensor.device.type == "cpu":
            raise self._session.refuse(Reason.HOST_DATA, "its C++ code asks for the address of a tensor on the host")
        return self._session.address_of(tensor)

    def __call__(self, event: ExtensionEvent) -> Any:
        session = self._session
        match event:
            case Launched():
                self._launch(event)
            case Filled():
                region = self._region(event.address, event.size_bytes)
                session.add(Fill(region, bytes([event.value]), self._stream(event.stream)))
            case Copied():
                self._copy(event)
            case SymbolUploaded():
                source = event.data if event.data is not None else self._region(event.source, event.size_bytes)
                image, stream = session.image(event.image.cubin, event.image.ptx), self._stream(event.stream)
                session.symbol(image, event.symbol, event.offset, event.size_bytes)
                session.add(SymbolUpload(image, event.symbol, event.offset, source, stream))
            case SymbolRead():
                raise session.refuse(Reason.DEPENDS_ON_DATA, f"it reads the device variable {event.symbol}")
            case SymbolAddressed():
                raise session.refuse(Reason.LAUNCH, f"it asks for the address of the device variable {event.symbol}")
            case Allocated():
                return session.allocate(event.size_bytes)[1]
            case Created():
                return self._create(event.what)
            case StreamUsed():
                self._order(event)
            case Freed():
                pass  # a Program's buffers live as long as the run
        return None

    def _launch(self, event: Launched) -> None:
        attributes = (("cooperative", True),) if event.cooperative else ()
        image, stream = self._session.image(event.image.cubin, event.image.ptx), self._stream(event.stream)
        shape = (event.grid, event.block, event.shared_bytes)
        self._session.add(Launch(image, event.entry, *shape, event.arguments, stream=stream, attributes=attributes))

    def _copy(self, event: Copied) -> None:
        session = self._session
        source: Region | bytes
        on_device = session.find(event.target) is not None, session.find(event.source) is not None
        if event.kind is CopyKind.DEVICE_TO_HOST or not on_device[0]:
            raise session.refuse(Reason.DEPENDS_ON_DATA, "it copies from the device to the host")
        if event.data is not None:
            source = event.data
        elif on_device[1]:
            source = self._region(event.source, event.size_bytes)
        else:
            raise session.refuse(Reason.HOST_DATA, "it copies from the host without saying so")
        session.add(Copy(self._region(event.target, event.size_bytes), source, self._stream(event.stream)))

    def _region(self, address: int, size: int) -> Region:
        place = self._session.find(address)
        if place is None or place[1] + size > self._session.sizes[place[0]]:
            raise self._session.refuse(Reason.LAUNCH, "it fills or copies memory that no tensor of its own reaches")
        return Region(*place, size)

    def _stream(self, handle: int) -> int:
        """The stream that a handle stands for, forked off the default one if nobody has done so."""
        before = self._session.stream
        self._session.use_stream(self._streams.by_handle(handle))
        try:
            return self._session.working_stream()
        finally:
            self._session.use_stream(before)

    def _create(self, what: str) -> int:
        if what == "stream":
            return int(self._streams.stream_class().cuda_stream)
        handle = FIRST_EVENT + len(self._events)
        self._events[handle] = 0
        return handle

    def _order(self, used: StreamUsed) -> None:
        match used.action:
            case StreamAction.RECORD:
                self._events[used.event] = self._streams.by_handle(used.stream)
            case StreamAction.WAIT:
                self._session.wait(self._streams.by_handle(used.stream), self._events.get(used.event, 0))
            case StreamAction.ELAPSED_TIME:
                self._session.elapsed_ms()  # what the extension gets is 0
            case _:
                pass  # waiting on the host changes nothing in a recording


@contextmanager
def extensions_intercepted(session: Session, streams: Streams, device: Device) -> Iterator[Any]:
    """Within, extensions are built for the device and tell the session what they do. Yields what was built."""
    from foretell.kernels.languages import extension

    recorder = ExtensionRecorder(session, streams)
    names = ("recorder", "address_of", "device", "current_stream", "default_stream")
    before = {name: getattr(extension, name) for name in names}
    extension.recorder, extension.address_of, extension.device = recorder, recorder.address_of, device
    extension.current_stream = extension.default_stream = 0
    try:
        with extension.patched(arch_of(capability_of(device))) as builds:
            yield builds
    finally:
        for name, value in before.items():
            setattr(extension, name, value)
