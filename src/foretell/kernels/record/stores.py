"""Which parameters of a kernel may be stored through, read off PTX.

Registers carry the set of parameters that their value is computed from; addresses of stores and atomics tell. What is
loaded from memory is taken to hold no pointers. Whatever has an address and is not known to read only counts as a
store, and of a text that is not understood to its end nothing is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from foretell.kernels.languages.dry.ptx import Body, Instruction, NotPtx, body_of
from foretell.kernels.record.parameters import parameters_of

_NAME = re.compile(r"(?<![\w$%.])[%$A-Za-z_][\w$]*")
_STORE = re.compile(r"(?<![\w$%.])(?:st|atom|red|cp)\.\w")
_STORE_IN_FUNCTION = re.compile(
    r"(?<![\w$%.])(?:st|atom|red|cp|wmma\.store|multimem|sust|tensormap)\.(?!(?:volatile\.)?(?:param|local|shared)\b)"
)
_EXTERN = re.compile(r"\.extern\s+\.func\s*(?:\([^)]*\)\s*)?([\w$]+)")
_RUNTIME = frozenset({"vprintf", "__assertfail", "malloc", "free"})  # functions that write nothing of the caller's
_DECLARATIONS = (".reg", ".local", ".shared", ".param", ".pragma", ".branchtargets", ".calltargets", ".callprototype")
_READS = frozenset({"ld", "ldu", "ldmatrix", "prefetch", "prefetchu", "tex", "tld4", "suld", "txq", "suq", "fence",
                    "createpolicy", "applypriority"})  # fmt: skip
_ON_CHIP = frozenset({"mbarrier", "stmatrix", "tcgen05", "clusterlaunchcontrol"})  # shared and tensor memory
_SPACES = frozenset({"global", "shared", "shared::cta", "shared::cluster", "local", "param"})
_MAKES_NOTHING = frozenset({"st", "red", "bra", "brx", "bar", "barrier", "call", "ret", "exit", "setp"})
_LOADS = frozenset({"ld", "ldu", "ldmatrix", "atom", "tex", "tld4", "suld"})
_MOST_PASSES = 64  # values travel round loops; addresses settle in two or three

Origins = dict[str, frozenset[int]]


@lru_cache(maxsize=256)
def stored_parameters(ptx: str, entry: str) -> frozenset[int] | None:
    """Indices of the parameters that stores may go through; None if that cannot be told."""
    names = {parameter.name: number for number, parameter in enumerate(parameters_of(ptx, entry))}
    try:
        body = body_of(ptx, entry)
    except NotPtx:
        return None
    if not _understood(body):
        return None
    origins = _origins(body.instructions, names)
    if origins is None:
        return None
    stored: set[int] = set()
    for one in body.instructions:
        address = _written_address(one)
        if address is None:
            continue
        name = _NAME.search(address)
        reached = origins.get(name[0], frozenset()) if name else frozenset()
        if not reached:
            return None
        stored |= reached
    return frozenset(stored)


def _understood(body: Body) -> bool:
    """Whether every statement was read, and all that may store is among them: not in functions that it calls."""
    if any(not directive.startswith(_DECLARATIONS) for directive in body.directives):
        return False
    if any(one.parts[0] == "call" for one in body.instructions) and not _harmless(body.functions):
        return False
    return len(_STORE.findall(body.text)) == sum(1 for one in body.instructions if _STORE.match(one.op))


def _harmless(functions: str) -> bool:
    """Whether functions store to places of their own alone, and all of them are here or write nothing."""
    return not _STORE_IN_FUNCTION.search(functions) and _RUNTIME.issuperset(_EXTERN.findall(functions))


def _written_address(one: Instruction) -> str | None:
    """The address that an instruction may write to in global memory, None if there is none: the first in brackets."""
    addresses = [operand for operand in one.operands if operand.startswith("[")]
    parts = one.parts
    if not addresses or parts[0] in _READS or parts[0] in _ON_CHIP:
        return None
    if parts[:2] == ("wmma", "load") or "ld_reduce" in parts or "prefetch" in parts:
        return None
    space = next((part for part in parts if part in _SPACES), "global")  # of a copy the first is where it goes
    return addresses[0] if space == "global" else None


def _origins(body: Iterable[Instruction], names: Mapping[str, int]) -> Origins | None:
    """The parameters that each register's value is computed from; None if that does not settle."""
    origins: Origins = {}
    for _ in range(_MOST_PASSES):
        changed = False
        for one in body:
            reached = _made_from(one, names, origins)
            for target in _NAME.findall(one.operands[0]) if reached else ():
                before = origins.get(target, frozenset())
                if not reached <= before:
                    origins[target] = before | reached
                    changed = True
        if not changed:
            return origins
    return None


def _made_from(one: Instruction, names: Mapping[str, int], origins: Origins) -> frozenset[int]:
    """The parameters that the result of an instruction is computed from."""
    kind = one.parts[0]
    if len(one.operands) < 2 or kind in _MAKES_NOTHING or one.operands[0].startswith("["):
        return frozenset()
    words = [word for operand in one.operands[1:] for word in _NAME.findall(operand)]
    parameters = frozenset(names[word] for word in words if word in names)
    if one.parts[:2] == ("ld", "param"):
        return parameters
    if kind in _LOADS or one.parts[:2] == ("wmma", "load"):
        return frozenset()
    return parameters.union(*(origins.get(word, frozenset()) for word in words))
