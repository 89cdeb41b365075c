"""Images loaded for execution on the CPU, and Programs carried out with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from foretell.kernels.emulate.kernel import Prepared, Variable, prepared, variables_of
from foretell.kernels.emulate.lanes import LANES
from foretell.kernels.emulate.machine import Budget, Machine
from foretell.kernels.emulate.memory import Bytes, GlobalMemory, Memory, Strays
from foretell.kernels.emulate.values import NotEmulated
from foretell.kernels.languages.dry.ptx import NotPtx
from foretell.kernels.program import Image, Launch, Program
from foretell.kernels.record.parameters import parameters_of
from foretell.kernels.record.replay import Replay

MOST_LANES = 1 << 15  # of a batch of blocks
MOST_AT_ONCE = 1 << 18  # the same where all blocks must be there at once
INSTRUCTIONS = 4e9  # of one lane each, of a Program


class Module:
    """An image. Its variables in device memory keep their values from launch to launch."""

    def __init__(self, image: Image, budget: Budget, strays: Strays) -> None:
        if not image.ptx:
            raise NotEmulated("machine code without its PTX")
        self._ptx, self._budget, self._strays = image.ptx, budget, strays
        self._variables = variables_of(image.ptx)
        self._data: dict[str, Bytes] = {}
        for each in self._variables:
            if each.space in ("global", "const"):
                data = np.zeros(max(1, each.size), np.uint8)
                data[: len(each.data)] = np.frombuffer(each.data, np.uint8)[: each.size]
                self._data[each.name] = data

    def upload(self, symbol: str, offset: int, source: Any) -> None:
        """Overwrite a part of a variable."""
        data = source.numpy()
        self._data[symbol][offset : offset + data.size] = data

    def launch(self, launch: Launch, buffers: Mapping[int, Bytes]) -> None:
        """Execute a launch on buffers by number. Raises Fault, NotEmulated, TooLong and NotPtx."""
        if launch.tensor_maps or any(name == "cluster" and math.prod(value) > 1 for name, value in launch.attributes):
            raise NotEmulated("tensor maps" if launch.tensor_maps else "clusters")
        kernel = _prepared(self._ptx, launch.entry)
        held: dict[Any, Bytes] = {**self._data, **{each.buffer: buffers[each.buffer] for each in launch.pointers}}
        memory = GlobalMemory({name: data.size for name, data in held.items()})
        slots = [(memory.slot(name, data.size), data) for name, data in held.items()]
        for slot, data in slots:
            slot[:] = data
        block = bytearray(launch.arguments)
        for pointer in launch.pointers:
            address = memory.address(pointer.buffer) + pointer.offset_bytes
            block[pointer.position : pointer.position + 8] = address.to_bytes(8, "little")
        addresses, shared, local = self._laid_out(kernel)
        addresses |= {name: memory.address(name) for name in self._data}
        addresses |= {each.name: each.offset for each in parameters_of(self._ptx, launch.entry)}
        self._run(kernel, launch, memory, bytes(block), addresses, shared + launch.shared_bytes, local)
        for slot, data in slots:
            data[:] = slot

    def _laid_out(self, kernel: Prepared) -> tuple[dict[str, int], int, int]:
        """Addresses of variables in shared and local memory, and how much of either they take."""
        sizes = {"shared": 0, "local": 0}
        addresses: dict[str, int] = {}
        open_ended: list[Variable] = []
        for each in self._variables:
            if each.space not in sizes or each.name in addresses:
                continue
            if each.size == 0:
                open_ended.append(each)
                continue
            sizes[each.space] = -(-sizes[each.space] // each.align) * each.align
            addresses[each.name] = sizes[each.space]
            sizes[each.space] += each.size
        shared = sizes["shared"]
        for each in open_ended:
            addresses[each.name] = -(-shared // max(16, each.align)) * max(16, each.align)
            sizes["shared"] = max(sizes["shared"], addresses[each.name])
        return addresses, sizes["shared"], sizes["local"]

    def _run(
        self,
        kernel: Prepared,
        launch: Launch,
        of_device: GlobalMemory,
        parameters: bytes,
        addresses: dict[str, int],
        shared: int,
        local: int,
    ) -> None:
        slots = -(-launch.threads // LANES) * LANES
        whole = dict(launch.attributes).get("cooperative") or launch.blocks * slots <= MOST_LANES
        if whole and launch.blocks * slots > MOST_AT_ONCE:
            raise NotEmulated("very large cooperative launches")
        batch = launch.blocks if whole else max(1, MOST_LANES // slots)
        with np.errstate(all="ignore"):
            for first in range(0, launch.blocks, batch):
                count = min(batch, launch.blocks - first)
                block_of = np.repeat(np.arange(count, dtype=np.int64), slots)
                memory = Memory(of_device, parameters, shared, local, block_of)
                machine = Machine(
                    kernel, memory, addresses, first, count, launch.grid, launch.block, self._budget,
                    launch.shared_bytes,
                )  # fmt: skip
                machine.run()
                self._strays.loads += memory.strays.loads
                self._strays.stores += memory.strays.stores


@lru_cache(maxsize=256)
def _prepared(ptx: str, entry: str) -> Prepared:
    return prepared(ptx, entry)


class Emulation(Replay):
    """A Program carried out without a GPU: library calls by torch on the CPU, kernels by their PTX."""

    def __init__(self, program: Program, instructions: float = INSTRUCTIONS) -> None:
        self.strays = Strays()
        budget = Budget(instructions)
        super().__init__(program, "cpu", lambda image: Module(image, budget, self.strays))

    def _launch(self, launch: Launch) -> None:
        buffers = {each.buffer: self._as_bytes(each.buffer) for each in launch.pointers}
        self._module(launch.image).launch(launch, buffers)

    def _as_bytes(self, buffer: int) -> Bytes:
        import torch

        storage = self._buffers[buffer]
        found: Bytes = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)).numpy()
        return found


def emulate(program: Program, inputs: Sequence[Any], weights: Mapping[str, Any]) -> list[Any]:
    """The outputs of a Program on these inputs and weights. Raises what `Module.launch` raises, and ReplayError."""
    player = Emulation(program)
    player.setup(weights)
    return player.run(inputs)


__all__ = ["Emulation", "Module", "NotPtx", "emulate"]
