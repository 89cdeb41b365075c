"""Triton template of heat1d_steps: four steps in one kernel, two in each of two, one in each of four; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import MAP_KNOBS, MapOp, map_source, map_valid

_FUSED = {"plain": 4, "weighted": 4, "twos": 2, "ones": 1}


def _there(shift: int) -> str:
    """The condition that the place `shift` columns on is in the row; empty for the place itself."""
    if shift == 0:
        return ""
    return f"c >= {-shift}" if shift < 0 else f"c + {shift} < n_cols"


def _moved(knobs: Knobs, left: str, here: str, right: str) -> str:
    if knobs["slip"] == "sign":
        return f"{here} + 0.2 * ({left} + 2 * {here} + {right})"
    if knobs["form"] == "weighted":
        return f"0.6 * {here} + 0.2 * ({left} + {right})"
    return f"{here} + 0.2 * ({left} - 2 * {here} + {right})"


def _lines(knobs: Knobs) -> list[str]:
    """A pyramid: the places within reach, then one fewer on either side after every step."""
    steps = _FUSED[knobs["form"]]
    found = []
    for shift in range(-steps, steps + 1):
        there = _there(shift)
        mask = f"inside & ({there})" if there else "inside"
        place = f"x + i {'-' if shift < 0 else '+'} {abs(shift)}" if shift else "x + i"
        found.append(f"v{shift + steps} = tl.load({place}, mask={mask}, other=0.0)")
    for step in range(steps):
        reach = steps - step - 1
        for k in range(2 * reach + 1):
            value, there = _moved(knobs, f"v{k}", f"v{k + 1}", f"v{k + 2}"), _there(k - reach)
            kept = there and knobs["slip"] != "border"
            found.append(f"v{k} = tl.where({there}, {value}, 0.0)" if kept else f"v{k} = {value}")
    return found


def _render(knobs: Knobs) -> str:
    outputs = (("out", "torch.empty_like(x)"),)
    op = MapOp(("x",), outputs, "x.shape[0]", "x.shape[1]", tuple(_lines(knobs)), (("out + i", "v0"),))
    text = map_source(op, knobs)
    times = 4 // _FUSED[knobs["form"]] - (knobs["slip"] == "three")
    if _FUSED[knobs["form"]] == 4:
        return text
    again = f"def kernel(x):\n    for _ in range({times}):\n        x = advance(x)\n    return x\n"
    return f"{text.replace('def kernel(x):', 'def advance(x):')}\n\n{again}"


def _valid(knobs: Knobs) -> bool:
    if knobs["slip"] == "three":
        return knobs["block"] >= 128 and knobs["form"] == "ones" and map_valid({**knobs, "form": "plain"})
    if knobs["block"] < 128:
        return knobs["shape"] == "tile" and map_valid({**knobs, "block": 128})
    return map_valid(knobs)


_SLIPS = (*MAP_KNOBS["slip"], "border", "sign", "three")
_KNOBS = {**MAP_KNOBS, "block": (*MAP_KNOBS["block"], 32, 64), "form": tuple(_FUSED), "slip": _SLIPS}
TEMPLATES = (Template("heat1d_steps", "triton", _KNOBS, _render, _valid),)
