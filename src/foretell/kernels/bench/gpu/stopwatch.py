"""Device time of single library calls, written as plain data: operators with arguments, a tensor as shape and dtype."""

from __future__ import annotations

import statistics
from typing import Any

REPLAYS, WARM_UP = 9, 2


class Stopwatch:
    """Device time of a call: a CUDA graph with event nodes around it, L2 flushed before."""

    def __init__(self) -> None:
        import torch

        from foretell.kernels.bench.gpu.platform import Cuda

        self._torch, self._platform = torch, Cuda()
        self._flush = torch.empty(self._platform.flush_bytes, dtype=torch.uint8, device="cuda")
        self._stream = torch.cuda.Stream()

    def made(self, value: Any) -> Any:
        torch = self._torch
        if isinstance(value, list):
            return [self.made(item) for item in value]
        if not isinstance(value, dict):
            return value
        shape, dtype, fill = value["tensor"], getattr(torch, value["dtype"]), value["fill"]
        if fill.startswith("index:"):
            return torch.randint(0, int(fill.removeprefix("index:")), shape, device="cuda").to(dtype)
        if fill == "permuted":
            return torch.randn(shape[::-1], device="cuda", dtype=dtype).permute(*range(len(shape) - 1, -1, -1))
        x = torch.rand(shape, device="cuda", dtype=dtype) if fill == "positive" else torch.empty(0)
        if fill != "positive":
            x = torch.randn(shape, device="cuda", dtype=dtype)
        if fill == "small":
            x *= 0.05
        strides = value.get("strides")
        return x.t().contiguous().t() if strides is not None and len(shape) == 2 and strides[0] == 1 else x

    def device_us(self, operator: str, arguments: list[Any]) -> tuple[float, float]:
        """Median and spread (75th over 25th percentile) of one call's device time."""
        torch = self._torch
        name, _, overload = operator.removeprefix("aten::").partition(".")
        function = getattr(torch.ops.aten, name)
        function = getattr(function, overload) if overload else function
        with torch.cuda.stream(self._stream):  # where they are used, too: nothing else orders the two
            values = self.made(arguments)
        events = self._platform.event(), self._platform.event()

        def work(handle: int) -> None:
            self._flush.zero_()
            events[0].record_in_graph(handle)
            function(*values)
            events[1].record_in_graph(handle)

        with torch.no_grad(), torch.cuda.stream(self._stream):
            for _ in range(WARM_UP):
                function(*values)
            self._stream.synchronize()
            replay = self._platform.capture(self._stream, self._platform.graph_pool(), work)
            samples = []
            for _ in range(REPLAYS):
                replay()
                self._stream.synchronize()
                samples.append(events[0].elapsed_us(events[1]))
        for event in events:
            event.close()
        quarters = statistics.quantiles(samples[1:], n=4)
        return quarters[1], quarters[2] / max(1e-9, quarters[0])
