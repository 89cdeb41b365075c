"""Which pipe of a multiprocessor a PTX instruction occupies, and for how many issue slots once it is machine code.

Divisions, remainders and exact functions are one instruction in PTX and tens in machine code; moves between registers
vanish. Numbers are those of compiled samples, rounded. `tensor` counts floating-point operations at the rate of
float16, all others warp instructions.
"""

from __future__ import annotations

from collections.abc import Mapping

from foretell.kernels.languages.dry.instructions import class_of, flops_of
from foretell.kernels.languages.dry.ptx import Instruction

PIPES = ("fma", "alu", "double", "special", "memory", "convert", "tensor", "control")

_WIDE = frozenset({"s64", "u64", "b64"})
_EXACT = frozenset({"rn", "rz", "rm", "rp"})
_TENSOR_RATE = {"tf32": 2.0, "f64": 16.0, "s8": 0.5, "u8": 0.5, "e4m3": 0.5, "e5m2": 0.5}  # time over float16's
_LOGIC = {"fma", "mul", "mad", "add", "sub"}


def slots_of(one: Instruction) -> Mapping[str, float]:
    """Issue slots by pipe."""
    root, parts = one.parts[0], one.parts
    kind = class_of(one)
    wide = bool(_WIDE & set(parts))
    match kind:
        case "tensor":
            rate = next((_TENSOR_RATE[part] for part in parts if part in _TENSOR_RATE), 1.0)
            return {"tensor": flops_of(one) * rate, "control": 1.0}
        case "load" | "store" | "shared_load" | "shared_store" | "async" | "bulk" | "atomic" | "local":
            return {"memory": 1.0}
        case "shuffle":
            return {"memory": 1.0} if root == "shfl" else {"alu": 1.0}
        case "barrier" | "branch":
            return {"control": 1.0}
        case "move":
            return {"alu": 1.0} if root == "prmt" else {}
        case "convert":
            return {"convert": 2.0 if "f64" in parts else 1.0}
        case "special":
            return _special(root, parts)
        case "float":
            if "f64" in parts:
                return {"double": 1.0}
            return {"fma": 1.0} if root in _LOGIC else {"alu": 1.0}
    if root in ("div", "rem"):
        return {"alu": 70.0, "fma": 30.0, "special": 2.0} if wide else {"alu": 10.0, "fma": 6.0, "special": 3.0}
    if root in ("mad", "mul"):
        if "wide" in parts or not wide:
            return {"fma": 1.0}
        return {"fma": 4.0}
    return {"alu": 2.0 if wide and root not in ("cvt", "cvta") else 1.0}


def _special(root: str, parts: tuple[str, ...]) -> Mapping[str, float]:
    exact = bool(_EXACT & set(parts)) and "approx" not in parts
    if "f64" in parts:
        return {"double": 20.0, "special": 1.0, "alu": 6.0}
    if root == "div":
        return {"fma": 8.0, "alu": 3.0, "special": 1.0} if exact else {"fma": 2.0, "special": 1.0}
    if exact:  # rcp, sqrt
        return {"fma": 5.0, "alu": 3.0, "special": 1.0}
    return {"special": 1.0, "fma": 1.0}
