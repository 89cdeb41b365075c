"""The backward pass of fake CUDA tensors: torch's engine asks the device for its streams, and there is no device.

Walks the graph that autograd made as the engine does (later nodes first, gradients of one input added up, reduced to
the shape and converted to the type of what they are the gradient of) and calls its nodes. Hooks are not called: host
code that registers one on a tensor is refused.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

from foretell.kernels.record.refusal import Reason, Refused


@contextmanager
def backward_walked() -> Iterator[None]:
    """Within, backward passes from tensors of a device are walked here; others are left to torch's engine."""
    engine: Callable[..., Any] = torch.autograd.graph._engine_run_backward

    def run(outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        if all(isinstance(each, torch.Tensor) and each.device.type == "cpu" for each in outputs):
            return engine(outputs, *args, **kwargs)
        return run_backward(outputs, *args, **kwargs)

    def refuse(*_: Any, **__: Any) -> Any:
        raise Refused(Reason.OPERATOR, "it has a function called on a tensor's gradient (register_hook, retain_grad)")

    owners = (torch.autograd, "_engine_run_backward", run), (torch.autograd.graph, "_engine_run_backward", run)
    hooks = (torch.Tensor, "register_hook", refuse), (torch.Tensor, "retain_grad", refuse)
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in (*owners, *hooks)]
    for owner, name, stand_in in (*owners, *hooks):
        setattr(owner, name, stand_in)
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def run_backward(
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Any],
    allow_unreachable: bool = False,
    accumulate_grad: bool = False,
) -> tuple[Any, ...]:
    """What torch's engine does with the same arguments: gradients of `inputs`, or all of them added to `.grad`.

    Raises:
        RuntimeError: An input was not used and `allow_unreachable` is not set.
    """
    starts = [_edge(each) for each in outputs]
    wanted = [_edge(each) for each in inputs]
    uses = _uses([edge.node for edge in starts])
    leading = _leading(uses, {edge.node for edge in wanted}) if wanted else set(uses)
    pending: dict[Any, list[Any]] = {}
    caught: dict[tuple[Any, int], Any] = {}
    waiting = dict(uses)
    ready: list[tuple[int, int, Any]] = []
    turn = itertools.count()

    def release(node: Any) -> None:
        if waiting[node] == 0:
            waiting[node] = -1
            heapq.heappush(ready, (-node._sequence_nr(), next(turn), node))

    with torch.set_grad_enabled(create_graph):
        for edge, gradient in zip(starts, gradients, strict=True):
            _add(pending, edge.node, edge.output_nr, gradient)
        for node in {edge.node: None for edge in starts}:
            release(node)
        while ready:
            node = heapq.heappop(ready)[2]
            arriving = pending.pop(node, [None] * len(node._input_metadata))
            for edge in wanted:
                if edge.node is node:
                    caught[node, edge.output_nr] = arriving[edge.output_nr]
            for (following, number), result in _results(node, arriving, leading, accumulate_grad):
                if result is not None:
                    _add(pending, following, number, result)
                waiting[following] -= 1
                release(following)
    found = tuple(caught.get((edge.node, edge.output_nr)) for edge in wanted)
    if not accumulate_grad and not allow_unreachable and any(each is None for each in found):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph.")
    return found


def _edge(value: Any) -> GradientEdge:
    return value if isinstance(value, GradientEdge) else get_gradient_edge(value)


def _uses(roots: Sequence[Any]) -> dict[Any, int]:
    """How many edges lead to each node that can be reached."""
    found = dict.fromkeys(roots, 0)
    stack = list(found)
    while stack:
        for following, _ in stack.pop().next_functions:
            if following is None:
                continue
            if following not in found:
                found[following] = 0
                stack.append(following)
            found[following] += 1
    return found


def _leading(nodes: dict[Any, int], targets: set[Any]) -> set[Any]:
    """The nodes from which a target can be reached, and the targets."""
    before: dict[Any, list[Any]] = {}
    for node in nodes:
        for following, _ in node.next_functions:
            before.setdefault(following, []).append(node)
    found, stack = set(targets), list(targets)
    while stack:
        for node in before.get(stack.pop(), ()):
            if node not in found:
                found.add(node)
                stack.append(node)
    return found


def _results(
    node: Any, gradients: list[Any], leading: set[Any], accumulate_grad: bool
) -> Iterator[tuple[tuple[Any, int], Any]]:
    """Each edge out of a node, with the gradient that goes along it or None."""
    if hasattr(node, "variable"):
        if accumulate_grad and node in leading and gradients[0] is not None:
            _accumulate(node.variable, gradients[0])
        return
    edges = list(node.next_functions)
    results: Any = [None] * len(edges)
    if any(following in leading for following, _ in edges) and any(each is not None for each in gradients):
        results = _call(node, gradients)
    for (following, number), result in zip(edges, results, strict=False):
        if following is not None:
            use = result is not None and following in leading
            yield (following, number), result if use else None


def _call(node: Any, gradients: list[Any]) -> Sequence[Any]:
    if isinstance(node, torch._C._FunctionBase):  # of a torch.autograd.Function, whose arguments are never None
        filled = [
            torch.zeros(tuple(about.shape), dtype=about.dtype, device=about.device) if each is None else each
            for about, each in zip(node._input_metadata, gradients, strict=True)
        ]
        results = node.apply(*filled)
    else:
        results = node(*gradients)
    return results if isinstance(results, tuple | list) else (results,)


def _add(pending: dict[Any, list[Any]], node: Any, number: int, gradient: Any) -> None:
    about = node._input_metadata[number]
    if gradient is None:
        gradient = torch.ones(tuple(about.shape), dtype=about.dtype, device=about.device)
    if gradient.shape != torch.Size(about.shape):
        gradient = gradient.sum_to_size(tuple(about.shape))
    if gradient.dtype != about.dtype:
        gradient = gradient.to(about.dtype)
    arriving = pending.setdefault(node, [None] * len(node._input_metadata))
    arriving[number] = gradient if arriving[number] is None else arriving[number] + gradient


def _accumulate(variable: Any, gradient: Any) -> None:
    if variable.grad is None:
        variable.grad = gradient if torch.is_grad_enabled() else gradient.detach()
    elif torch.is_grad_enabled():
        variable.grad = variable.grad + gradient
    else:
        variable.grad.add_(gradient)
