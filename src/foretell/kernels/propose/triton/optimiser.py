"""Triton template of the AdamW step: blocks or strides over all parameters, ways to write the quotient; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import FLAT_KNOBS, Load, MapOp, map_source, map_valid

_NAMES = ("p", "g", "m", "v")


def _adamw(knobs: Knobs) -> str:
    slip = knobs["slip"]
    moment = "m_old" if slip == "stale" else "m_new"
    lines = ["m_new = 0.9 * m_old + 0.1 * g_old", "v_new = 0.999 * v_old + 0.001 * g_old * g_old"]
    if knobs["form"] == "lerp":
        lines = ["m_new = m_old + 0.1 * (g_old - m_old)", "v_new = v_old + 0.001 * (g_old * g_old - v_old)"]
    hat = "v_new" if slip == "biased" else "v_new * 100.4508268"
    if knobs["form"] == "rsqrt":
        lines.append(f"step = {moment} * 1.535339011 * tl.rsqrt({hat} + 1e-16)")
    else:
        lines.append(f"step = {moment} * 1.535339011 / (tl.sqrt({hat}) + 1e-8)")
    value = "p_old - 0.1 * step" if slip == "undecayed" else "p_old * 0.99 - 0.1 * step"
    op = MapOp(
        inputs=_NAMES,
        outputs=tuple((f"{name}_out", f"torch.empty_like({name})") for name in ("p", "m", "v")),
        rows="1",
        cols="p.numel()",
        loads=tuple(Load(f"{name}_old", f"{name} + i") for name in _NAMES),
        lines=tuple(lines),
        stores=(("p_out + i", value), ("m_out + i", "m_new"), ("v_out + i", "v_new")),
    )
    return map_source(op, knobs)


_KNOBS = {
    **FLAT_KNOBS,
    "form": ("plain", "lerp", "rsqrt"),
    "slip": (*FLAT_KNOBS["slip"], "stale", "biased", "undecayed"),
}

TEMPLATES = (Template("adamw_step", "triton", _KNOBS, _adamw, map_valid),)
