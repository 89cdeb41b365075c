"""Library calls, seen where torch dispatches them and written into the session's log.

What only changes shapes and strides of a view leaves no step: views are described where they are used.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Self

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from foretell.kernels.operators import family_of
from foretell.kernels.program import Allocate, Argument, Copy, LibraryCall, Literal, Region, Tag, View
from foretell.kernels.record.flags import flags_in_force
from foretell.kernels.record.known import MOST_ELEMENTS, bytes_of
from foretell.kernels.record.refusal import Reason, Refused
from foretell.kernels.record.session import Session

_EMPTY = frozenset({"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"})
_TO_HOST = "it copies a tensor from the device to the host"
_UNSEEN = (DataDependentOutputException, DynamicOutputShapeException)
_LIFTS = frozenset({"lift_fresh", "lift_fresh_copy", "lift", "detach", "alias"})


class Fakes(FakeTensorMode):  # type: ignore[misc,unused-ignore]
    """torch's fake tensors on a device that is never touched, whether the machine has one or not.

    They belong to the thread that records: what others do with them is not seen, and so refused.
    """

    def __init__(self, session: Session, **settings: Any) -> None:
        self._session, self._within = session, threading.local()
        super().__init__(**settings)

    @property
    def in_kernel_invocation(self) -> bool:  # type: ignore[override,unused-ignore]
        return getattr(self._within, "kernel", False)

    @in_kernel_invocation.setter
    def in_kernel_invocation(self, value: bool) -> None:
        self._within.kernel = value

    def __enter__(self) -> Self:
        if not self._session.is_recorders_thread:
            raise self._session.refuse(Reason.OPERATOR, "it calls torch in a thread of its own")
        super().__enter__()
        return self

    @property
    def avoid_device_init(self) -> bool:
        return True


class RecordMode(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    """Sees every operator before the fake tensors do. Push it above `Fakes`."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._known = session, session.known

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        session = self._session
        if not session.recording or func.namespace in ("profiler", "prim"):
            return func(*args, **kwargs)
        name = func._schema.name.partition("::")[2]
        if name in ("_local_scalar_dense", "item"):
            return self._scalar(args[0])
        if _is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        try:
            result = self._special(name, args, kwargs)
            if result is None:
                result = func(*args, **kwargs)
        except _UNSEEN as error:
            raise session.refuse(Reason.DEPENDS_ON_DATA, f"it calls {name}, whose result depends on values") from error
        except (UnsupportedOperatorException, UnsupportedFakeTensorException) as error:
            raise session.refuse(Reason.OPERATOR, f"it calls {func._schema.name}") from error
        self._note(func, name, args, kwargs, result)
        return result

    def _scalar(self, tensor: Any) -> Any:
        real = self._known.of(tensor) if type(tensor) is not torch.Tensor else tensor
        if real is None:
            raise self._session.refuse(Reason.DEPENDS_ON_DATA, "it reads a value of a tensor (such as by .item())")
        with torch.utils._python_dispatch._disable_current_modes():
            return real.item()

    def _special(self, name: str, args: Any, kwargs: Any) -> Any:
        """Results that fake tensors cannot give but that follow from a stated assumption."""
        if name == "bincount":
            length = kwargs.get("minlength", args[2] if len(args) > 2 else 0)
            if not length:
                return None
            weights = kwargs.get("weights", args[1] if len(args) > 1 else None)
            self._session.assumptions.append(f"bincount: no value is {length} or more")
            dtype = torch.int64 if weights is None else torch.promote_types(weights.dtype, torch.float64)
            with self._session.muted():
                return torch.empty(length, dtype=dtype, device=args[0].device)
        return None

    def _note(self, func: Any, name: str, args: Any, kwargs: Any, result: Any) -> None:
        results = [each for each in tree_flatten(result)[0] if isinstance(each, torch.Tensor)]
        inputs = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
        schema = func._schema
        written = _written(schema, args, kwargs)
        self._follow(func, name, args, kwargs, result, written)
        if not results and not written:
            return
        session = self._session
        if session.in_run and all(each.device.type == "cpu" for each in (*results, *written)):
            if any(each.device.type != "cpu" for each in inputs):
                raise session.refuse(Reason.DEPENDS_ON_DATA, _TO_HOST)
            return
        if torch.Tag.inplace_view in func.tags:
            return
        if not schema.is_mutable and all(session.knows(each) for each in results):
            return  # a view of something that exists
        if name in _LIFTS and not written:
            self._lifted(results)
            return
        if name in _EMPTY:
            for each in results:
                session.add(Allocate(session.number_of(each)), followed=True)
            return
        if self._moved(name, args, results) or self._upload(name, args, results, written):
            return
        self._call(func, args, kwargs, result, written)

    def _follow(self, func: Any, name: str, args: Any, kwargs: Any, result: Any, written: Sequence[Any]) -> None:
        """Keep values that follow from constants, and forget those that no longer hold."""
        certain = torch.Tag.nondeterministic_seeded not in func.tags and name not in _EMPTY
        if func._schema.name.startswith("aten::") and certain and self._known.follow(func, args, kwargs, result):
            return
        for each in written:
            self._known.forget(each.untyped_storage())

    def _lifted(self, results: Sequence[Any]) -> None:
        """Tensors that Python values became: while a model is built they have a place in memory like any other."""
        session = self._session
        for each in () if session.in_run else results:
            real = self._known.of(each)
            view = session.view(each)
            session.add(Allocate(view.buffer), followed=True)
            if real is not None:
                data = bytes_of(real)
                session.add(Copy(Region(view.buffer, view.offset_bytes, len(data)), data), followed=True)

    def _moved(self, name: str, args: Any, results: Sequence[Any]) -> bool:
        """A tensor moved to the device while a model is built: from then on it is the same memory. True if it was."""
        session = self._session
        if session.in_run or name != "_to_copy" or len(results) != 1 or not isinstance(args[0], torch.Tensor):
            return False
        source, target = args[0], results[0]
        if source.device.type != "cpu" or target.device.type == "cpu" or not session.knows(source):
            return False
        same = source.dtype == target.dtype and tuple(source.stride()) == tuple(target.stride())
        whole = source.untyped_storage().nbytes() == target.untyped_storage().nbytes()
        if same and whole and not source.storage_offset():
            session.identify(target, source)
            return True
        return False

    def _upload(self, name: str, args: Any, results: Sequence[Any], written: Sequence[Any]) -> bool:
        """A copy from the host: its bytes become part of the Program. True if it was one."""
        source = args[1] if name == "copy_" else args[0] if args and name in ("_to_copy", "clone") else None
        if not isinstance(source, torch.Tensor) or source.device.type != "cpu":
            return False
        if not self._session.in_run and self._session.knows(source):
            return False  # logged like everything else while a model is built
        target = written[0] if written else results[0]
        session = self._session
        fresh = not session.knows(target)
        view = session.view(target)
        if fresh:
            session.add(Allocate(view.buffer), followed=True)
        real = self._known.of(source) if type(source) is not torch.Tensor else source
        if real is None or real.numel() > MOST_ELEMENTS:
            if session.in_run:
                raise session.refuse(
                    Reason.HOST_DATA, f"it copies a tensor of shape {tuple(source.shape)} from the host"
                )
            return True
        if not target.is_contiguous():
            raise session.refuse(Reason.HOST_DATA, "it copies from the host to a tensor that is not contiguous")
        with torch.utils._python_dispatch._disable_current_modes():
            real = real.to(target.dtype).expand(tuple(target.shape))
        data = bytes_of(real)
        copy = Copy(Region(view.buffer, view.offset_bytes, len(data)), data, session.working_stream())
        session.add(copy, followed=True)
        return True

    def _call(self, func: Any, args: Any, kwargs: Any, result: Any, written: Sequence[Any]) -> None:
        session = self._session
        operator = f"{func._schema.name}.{func._overloadname}"
        family = family_of(operator)
        if family is None:
            raise session.refuse(Reason.OPERATOR, f"it calls {operator}")
        if session.in_run and torch.Tag.nondeterministic_seeded in func.tags and not _certain(func, args, kwargs):
            raise session.refuse(Reason.NONDETERMINISTIC, f"it draws random numbers ({operator})")
        arguments = tuple(self.argument(value) for value in args)
        if any(argument.name == "device" for argument in func._schema.arguments):
            kwargs = {**kwargs, "device": torch.device("cuda")}
        keywords = tuple((name, self.argument(value)) for name, value in kwargs.items() if name != "pin_memory")
        flat = result if isinstance(result, tuple | list) else (result,)
        views = tuple(
            session.view(each) if isinstance(each, torch.Tensor) else None
            for item in flat
            for each in (item if isinstance(item, tuple | list) else (item,))
        )
        mutated = tuple(session.view(each) for each in written)
        flags = flags_in_force(family)
        call = LibraryCall(operator, arguments, keywords, views, mutated, flags, session.working_stream())
        session.add(call, followed=True)

    def argument(self, value: Any) -> Argument:
        """A value as the Program keeps it."""
        match value:
            case torch.Tensor():
                return self._tensor(value)
            case torch.dtype():
                return Tag("dtype", str(value).removeprefix("torch."))
            case torch.device():
                return Tag("device", "cuda")  # what is on the host while a model is built is on the device in a Program
            case torch.layout():
                return Tag("layout", str(value).removeprefix("torch."))
            case torch.memory_format():
                return Tag("memory_format", str(value).removeprefix("torch."))
            case list() | tuple():
                return tuple(self.argument(each) for each in value)
            case None | bool() | int() | float() | str():
                return value
            case torch._C.Generator():
                return None  # what is drawn is a weight, or refused
        raise self._session.refuse(Reason.OPERATOR, f"an operator is given a {type(value).__name__}")

    def _tensor(self, tensor: Any) -> View | Literal:
        if tensor.device.type != "cpu" or (not self._session.in_run and self._session.knows(tensor)):
            return self._session.view(tensor)
        real = self._known.of(tensor) if type(tensor) is not torch.Tensor else tensor
        if real is None or real.numel() > MOST_ELEMENTS:
            raise self._session.refuse(
                Reason.HOST_DATA, f"it computes with a host tensor of shape {tuple(tensor.shape)}"
            )
        dtype = str(tensor.dtype).removeprefix("torch.")
        return Literal(dtype, tuple(int(side) for side in tensor.shape), bytes_of(real))


def _is_composite(func: Any) -> bool:
    """Whether an operator is not recorded itself but made of others that may be: inference mode leaves these whole."""
    if func.namespace != "aten" or family_of(f"{func._schema.name}.{func._overloadname}") is not None:
        return False
    return bool(func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd))


def _written(schema: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors among the arguments that the operator writes."""
    if not schema.is_mutable:
        return []
    found: list[Any] = []
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = kwargs.get(argument.name, args[position] if position < len(args) else None)
        found += _tensors(value if isinstance(value, list | tuple) else (value,))
    return found


def _tensors(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, torch.Tensor)]


def _certain(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether an operator that may be random is not, by its arguments: a dropout of nothing."""
    for position, argument in enumerate(func._schema.arguments):
        if argument.name not in ("p", "dropout_p", "dropout", "train", "training"):
            continue
        value = kwargs.get(argument.name, args[position] if position < len(args) else argument.default_value)
        if not value:
            return True
    return False


def explain(error: BaseException) -> Refused | None:
    """The refusal behind an exception, if there is one in its chain."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, Refused):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None
