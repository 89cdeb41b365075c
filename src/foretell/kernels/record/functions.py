"""Calls that are taken at torch's Python surface, before they fall apart into operators.

Addresses are virtual. Attention and recurrent layers are recorded whole: which kernels they become is decided by the
device, which is not here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from foretell.kernels.program import LibraryCall
from foretell.kernels.record.dispatch import RecordMode
from foretell.kernels.record.flags import flags_in_force
from foretell.kernels.record.refusal import Reason
from foretell.kernels.record.session import Session

_RECURRENT = {"lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn_tanh", "rnn_relu": "rnn_relu"}
_POINTER = (torch.Tensor.data_ptr,)
# Operators that a torch without CUDA takes apart and one with CUDA does not, and the argument their result is like.
_WHOLE = {"aten::silu_backward": 1, "aten::mish_backward": 1}


class FunctionMode(TorchFunctionMode):  # type: ignore[misc,unused-ignore]
    """Stands in for functions that fake tensors cannot answer or would take apart."""

    def __init__(self, session: Session, mode: RecordMode) -> None:
        super().__init__()
        self._session, self._mode = session, mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _POINTER and args[0].device.type != "cpu":
            return self._session.address_of(args[0])
        if self._session.recording and not _differentiated(args, kwargs):
            if func is torch.nn.functional.scaled_dot_product_attention:
                found = self._attention(*args, **kwargs)
                if found is not None:
                    return found
            if func is getattr(torch.nn.functional, "rms_norm", None) and args[0].device.type != "cpu":
                return self._like(args[0], "aten::rms_norm.default", "normalisation", _rms_norm(*args, **kwargs))
            operator = getattr(getattr(func, "_overloadpacket", func), "_qualified_op_name", "")
            if operator in _WHOLE and args[0].device.type != "cpu":
                return self._like(args[_WHOLE[operator]], f"{operator}.default", "elementwise", args)
            name = _RECURRENT.get(getattr(func, "__name__", ""))
            if name is not None and len(args) == 9 and isinstance(args[3], bool):
                return self._recurrent(name, args)
        return func(*args, **kwargs)

    def _like(self, tensor: Any, operator: str, family: str, arguments: tuple[Any, ...]) -> Any:
        """An operator whose result is like one of its arguments."""
        with self._session.muted():
            result = torch.empty_like(tensor)
        self._note(operator, family, arguments, {}, (result,))
        return result

    def _attention(
        self,
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        if query.device.type == "cpu":
            return None
        if dropout_p and self._session.in_run:
            raise self._session.refuse(Reason.NONDETERMINISTIC, "its attention drops at random")
        with self._session.muted():
            if query.shape[-1] == value.shape[-1]:
                result = torch.empty_like(query)
            else:
                shape = (*query.shape[:-1], value.shape[-1])
                result = torch.empty(shape, dtype=query.dtype, device=query.device)
        keywords = {"scale": scale, "enable_gqa": enable_gqa}
        arguments = (query, key, value, attn_mask, float(dropout_p), bool(is_causal))
        self._note("aten::scaled_dot_product_attention.default", "attention", arguments, keywords, (result,))
        return result

    def _recurrent(self, name: str, args: Any) -> Any:
        """`args`: input, states, weights, biases?, layers, dropout, training, bidirectional, batch first."""
        source, states, _, _, layers, dropout, training, both, _ = args
        first = states[0] if isinstance(states, tuple | list) else states
        if dropout and training and layers > 1 and self._session.in_run:
            raise self._session.refuse(Reason.NONDETERMINISTIC, f"its {name} drops at random")
        width = first.shape[-1] * (2 if both else 1)
        with self._session.muted():
            outputs = [torch.empty((*source.shape[:-1], width), dtype=source.dtype, device=source.device)]
            given = states if isinstance(states, tuple | list) else (states,)
            outputs += [torch.empty_like(state, memory_format=torch.contiguous_format) for state in given]
        self._note(f"aten::{name}.input", "recurrent", args, {}, tuple(outputs))
        return tuple(outputs)

    def _note(self, operator: str, family: str, args: Any, keywords: dict[str, Any], results: tuple[Any, ...]) -> None:
        session = self._session
        arguments = tuple(self._mode.argument(value) for value in args)
        named = tuple(
            (name, self._mode.argument(value)) for name, value in keywords.items() if value not in (None, False)
        )
        views = tuple(session.view(result) for result in results)
        call = LibraryCall(operator, arguments, named, views, (), flags_in_force(family), session.working_stream())
        session.add(call)


def _differentiated(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether autograd follows a call: then it has to fall apart into operators that have a backward."""
    return torch.is_grad_enabled() and any(
        isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in tree_leaves((args, kwargs))
    )


def _rms_norm(source: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> tuple[Any, ...]:
    return source, tuple(normalized_shape), weight, eps
