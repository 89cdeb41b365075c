"""Which part of each result matters: elements that a mask hides are not worked for.

Forward: results that are known to be zero or infinite in places (a triangle, a mask over scores). Backward: what later
steps need of each buffer. A step works for the share of its result that is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.kernels.cost.constants import Constants
from foretell.kernels.operators import family_of
from foretell.kernels.program import LibraryCall, Program, View, buffers_of, buffers_read, buffers_written

_KEEPS = frozenset({"_to_copy", "clone", "mul", "div", "neg"})  # zero stays zero and infinite stays infinite
_GATHERS = frozenset({"embedding", "index", "index_select", "gather", "_unsafe_index", "take"})


@dataclass(frozen=True)
class Hidden:
    """A share of a buffer's elements is known: `zero`, `low` (minus infinity) or `high`."""

    share: float
    kind: str


class Demand:
    """Shares of results that are needed, by step, and of buffers that are read, by number."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._hidden: dict[int, Hidden] = {}
        self._own: list[Hidden | None] = []  # what each step hides of its result
        self._operand: list[float] = []  # what it leaves of its main operand
        self.constant: set[int] = set()  # buffers that no input or weight goes into
        self._forward()
        self.needed = self._backward()

    def share(self, at: int) -> float:
        """The share of the step's work that matters."""
        return self.needed[at]

    def hidden(self, view: View) -> Hidden | None:
        return self._hidden.get(view.buffer)

    # Forward

    def _forward(self) -> None:
        constants = Constants()
        for step in self._program.run:
            own, left = None, 1.0
            if isinstance(step, LibraryCall):
                own, left = self._hides(step, constants)
                constants.see(step)
                for view in (*step.results, *step.mutated):
                    if view is not None:
                        self._hidden.pop(view.buffer, None)
                        if own is not None:
                            self._hidden[view.buffer] = own
            else:
                written = buffers_written(step)
                constants.forget(written)
                for buffer in written:
                    self._hidden.pop(buffer, None)
            self._own.append(own)
            self._operand.append(left)

    def _hides(self, call: LibraryCall, constants: Constants) -> tuple[Hidden | None, float]:
        """What is known of the result, and the share of the first operand that matters to it."""
        views = list(call.tensors())
        name = call.name.rstrip("_") if not call.name.startswith("__") else call.name
        first = self._hidden.get(views[0].buffer) if views else None
        if name in ("tril", "triu") and views:
            share = _outside(views[0].shape, int(call.arguments[1]) if len(call.arguments) > 1 else 0, name == "tril")
            return Hidden(share, "zero"), 1.0 - share
        if name == "masked_fill" and len(call.arguments) == 3:
            found = _masked(constants.of(call.arguments[1]), constants.of(call.arguments[2]))
            return (found, 1.0 - found.share) if found else (None, 1.0)
        if name == "where" and len(call.arguments) == 3:
            found = _masked(constants.of(call.arguments[0]), constants.of(call.arguments[1]))
            return found, 1.0
        if name in ("add", "sub") and len(views) == 2:
            return self._summed(name, views, constants)
        if name == "mul" and len(views) == 2:
            zeros = [self._hidden.get(view.buffer) for view in views]
            known = [each for each in zeros if each is not None and each.kind == "zero"]
            return (max(known, key=lambda each: each.share), 1.0) if known else (None, 1.0)
        if name in _KEEPS and first is not None:
            return first, 1.0
        if name in ("_softmax", "softmax", "_safe_softmax", "exp") and first is not None and first.kind == "low":
            return Hidden(first.share, "zero"), 1.0 - first.share
        return None, 1.0

    def _summed(self, name: str, views: Sequence[View], constants: Constants) -> tuple[Hidden | None, float]:
        second = self._hidden.get(views[1].buffer)
        values = constants.of(views[1])
        if values is not None and values.dtype.kind == "f" and values.size:
            low = float(np.mean(np.isneginf(values)))
            second = Hidden(low, "low") if low else None
        if second is not None and second.kind in ("low", "high"):
            kind = {"add": {"low": "low", "high": "high"}, "sub": {"low": "high", "high": "low"}}[name][second.kind]
            return Hidden(second.share, kind), 1.0 - second.share
        return None, 1.0

    # Backward

    def _backward(self) -> list[float]:
        self._constants()
        asked: dict[int, dict[View, float]] = defaultdict(dict)
        taken: dict[int, dict[View, float]] = defaultdict(dict)  # by steps, and not as an output
        written = {buffer for step in self._program.run for buffer in buffers_written(step)}
        for view in self._program.outputs:
            if view.buffer in written:  # else it is handed on as it came
                asked[view.buffer][view] = 1.0
        shares = [1.0] * len(self._program.run)
        for at in range(len(self._program.run) - 1, -1, -1):
            step = self._program.run[at]
            if not isinstance(step, LibraryCall):
                for buffer in buffers_of(step):
                    whole = View(buffer, 0, "uint8", (self._program.buffers[buffer].bytes,), (1,))
                    asked[buffer][whole] = taken[buffer][whole] = 1.0
                continue
            share = max((self._asked(asked, view) for view in step.results if view is not None), default=1.0)
            if step.mutated:
                share = 1.0
            own = self._own[at]
            if own is not None and step.name in ("_softmax", "softmax", "_safe_softmax"):
                share = min(share, 1.0 - own.share)
            shares[at] = share
            read = buffers_read(step)
            for number, view in enumerate(step.tensors()):
                if view.buffer not in read:
                    continue  # it is overwritten
                wanted = self._wanted(step, at, number, view, share)
                for places in (asked, taken):
                    places[view.buffer][view] = max(places[view.buffer].get(view, 0.0), wanted)
        self.read = {buffer: self._total(buffer, views) for buffer, views in taken.items()}
        return shares

    def _constants(self) -> None:
        given = {view.buffer for view in self._program.inputs}
        given |= {weight.view.buffer for weight in self._program.weights}
        made: set[int] = set()
        for step in self._program.setup:
            made |= buffers_written(step)
        tainted = given | made
        for step in self._program.run:
            if buffers_of(step) & tainted:
                tainted |= buffers_written(step)
        self.constant = set(range(len(self._program.buffers))) - tainted

    def _asked(self, asked: dict[int, dict[View, float]], view: View) -> float:
        return self._total(view.buffer, asked.get(view.buffer, {}))

    def _total(self, buffer: int, views: dict[View, float]) -> float:
        size = max(1, self._program.buffers[buffer].bytes)
        return min(1.0, sum(share * view.distinct_bytes / size for view, share in views.items()))

    def _wanted(self, call: LibraryCall, at: int, number: int, view: View, share: float) -> float:
        name = call.name.rstrip("_")
        family = family_of(call.operator)
        if name in _GATHERS and number == 0 and len(list(call.tensors())) > 1:
            return _gathered(call, view)
        if name.startswith("nll_loss") and number == 0 and view.shape:
            return 1.0 / view.shape[-1]
        if number == 0 and self._operand[at] < 1.0:
            return min(share, self._operand[at]) if family != "normalisation" else self._operand[at]
        hidden = self._hidden.get(view.buffer)
        if family == "matmul" and hidden is not None and hidden.kind == "zero":
            return 1.0 - hidden.share
        if family in ("elementwise", "copy") and view.distinct_bytes == view.count * view.item_bytes:
            return share
        return 1.0


def _gathered(call: LibraryCall, table: View) -> float:
    """At unknown places, more than half of as many rows as are taken are different ones."""
    result = next((view for view in call.results if view is not None), None)
    return min(1.0, result.count / max(1, table.count)) / 2 if result is not None else 1.0


def _outside(shape: Sequence[int], diagonal: int, lower: bool) -> float:
    """The share of a matrix outside its lower or upper triangle."""
    if len(shape) < 2 or 0 in shape:
        return 0.0
    rows, cols = shape[-2], shape[-1]
    first = diagonal + 1 if lower else diagonal
    left = _clipped_sum(first + rows - 1, cols) - _clipped_sum(first - 1, cols)
    return 1.0 - left / (rows * cols) if lower else left / (rows * cols)


def _clipped_sum(last: int, most: int) -> int:
    """The sum of all whole numbers up to `last`, of which negative ones count as 0 and large ones as `most`."""
    low = max(0, min(last, most))
    return low * (low + 1) // 2 + max(0, last - most) * most


def _masked(mask: np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None, value: object) -> Hidden | None:
    """What a constant mask with a constant value hides."""
    number = np.asarray(value) if value is not None else None
    if mask is None or number is None or number.size != 1 or not mask.size:
        return None
    share = float(np.mean(mask.astype(bool)))
    filled = float(number.reshape(-1)[0])
    kind = "zero" if filled == 0 else "low" if filled == -np.inf else "high" if filled == np.inf else ""
    return Hidden(share, kind) if kind and share else None
