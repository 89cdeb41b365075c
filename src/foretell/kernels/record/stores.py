"""Which parameters of a kernel may be stored through, read off PTX.

Registers carry the set of parameters that their value is computed from; addresses of stores and atomics tell. What is
loaded from memory is taken to hold no pointers.
"""

from __future__ import annotations

import re
from functools import lru_cache

from foretell.kernels.record.parameters import parameters_of

_INSTRUCTION = re.compile(r"^\s*(?:@!?%?[\w$]+\s+)?(?P<op>[a-z][\w.:]*)\s+(?P<rest>[^;]*);", re.MULTILINE)
_REGISTER = re.compile(r"%[\w$]+")
_ADDRESS = re.compile(r"\[([^\]]*)\]")
_LOADED = re.compile(r"\[\s*([\w$]+)")
_PASSES = 4  # values travel round loops; addresses settle in two


@lru_cache(maxsize=256)
def stored_parameters(ptx: str, entry: str) -> frozenset[int] | None:
    """Indices of the parameters that stores may go through; None if that cannot be told."""
    names = {parameter.name: number for number, parameter in enumerate(parameters_of(ptx, entry))}
    start = ptx.index("{", re.search(rf"\.entry\s+{re.escape(entry)}\b", ptx).end())  # type: ignore[union-attr]
    end = ptx.find(".entry", start)
    body = [(match["op"], match["rest"]) for match in _INSTRUCTION.finditer(ptx, start, end if end > 0 else len(ptx))]
    origins: dict[str, frozenset[int]] = {}
    for _ in range(_PASSES):
        before = dict(origins)
        for op, rest in body:
            _follow(op, rest, names, origins)
        if origins == before:
            break
    stored: set[int] = set()
    for op, rest in body:
        if (
            not op.startswith(("st.", "atom.", "red.", "cp.", "wgmma.store", "multimem."))
            or ".shared" in op.split("::")[0]
        ):
            continue
        if op.startswith("cp.") and not op.startswith(("cp.async.bulk", "cp.reduce")):
            continue  # cp.async copies into shared memory
        reached = frozenset[int]().union(*(origins.get(name, frozenset()) for name in _addresses(op, rest)))
        if not reached:
            if op.startswith(("st.local", "st.param", "cp.async.bulk.commit", "cp.async.bulk.wait")):
                continue
            return None
        stored |= reached
    return frozenset(stored)


def _addresses(op: str, rest: str) -> list[str]:
    """Registers of the addresses that an instruction may write to: the first in brackets, all of a bulk copy."""
    brackets = _ADDRESS.findall(rest)
    return _REGISTER.findall(" ".join(brackets if op.startswith("cp.") else brackets[:1]))


def _follow(op: str, rest: str, names: dict[str, int], origins: dict[str, frozenset[int]]) -> None:
    if op.startswith(("st.", "red.", "bra", "bar", "call", "ret", "setp")):
        return
    made, _, operands = rest.partition("}") if rest.lstrip().startswith("{") else rest.partition(",")
    targets = _REGISTER.findall(made)
    if op.startswith("ld.param"):
        match = _LOADED.search(operands)
        found = frozenset({names[match[1]]}) if match and match[1] in names else frozenset()
    elif op.startswith(("ld.", "ldu.", "atom.", "tex.", "cp.")):
        return
    else:
        found = frozenset[int]().union(*(origins.get(name, frozenset()) for name in _REGISTER.findall(operands)))
        if op.startswith("mov") and not found:
            found = frozenset({names[word] for word in re.findall(r"[\w$]+", operands) if word in names})
    for target in targets:
        if found:
            origins[target] = origins.get(target, frozenset()) | found
