"""Triton templates of the optimiser steps: blocks or strides over all parameters, ways to write the quotient; slips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import FLAT_KNOBS, Load, MapOp, map_source, map_valid
from foretell.kernels.propose.triton.variants import FLAT_STREAM_KNOBS, stream_source, stream_valid

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


@dataclass(frozen=True)
class _Step:
    """A step: each form, and each slip, is the statements before the stores; outputs are inputs renewed.

    Statements see an input `p` as `p_old` (in float32) and leave `p_new`.
    """

    task: str
    inputs: tuple[str, ...]
    renewed: tuple[str, ...]
    forms: Mapping[str, tuple[str, ...]]
    slips: Mapping[str, tuple[str, ...]]

    def render(self, knobs: Knobs) -> str:
        lines = self.slips.get(knobs["slip"], self.forms[knobs["form"]])
        op = MapOp(
            inputs=self.inputs,
            outputs=tuple((f"{name}_out", f"torch.empty_like({name})") for name in self.renewed),
            rows="1",
            cols=f"{self.inputs[0]}.numel()",
            loads=tuple(Load(f"{name}_old", f"{name} + i", "i", ".to(tl.float32)") for name in self.inputs),
            lines=lines,
            stores=tuple((f"{name}_out + i", f"{name}_new") for name in self.renewed),
        )
        return stream_source(op, knobs)

    def template(self) -> Template:
        knobs = {**FLAT_STREAM_KNOBS, "form": tuple(self.forms), "slip": (*FLAT_STREAM_KNOBS["slip"], *self.slips)}
        return Template(self.task, "triton", knobs, self.render, stream_valid(len(self.renewed)))


_DECAYED, _MOMENT = "d = g_old + 0.01 * p_old", "m_new = 0.9 * m_old + d"
_AHEAD = "p_new = p_old - 0.1 * (d + 0.9 * m_new)"
_VOTE = "u = 0.875 * m_old + 0.125 * g_old"
_SIGN = "s = tl.where(u > 0.0, 1.0, tl.where(u < 0.0, -1.0, 0.0))"
_MOVED, _LONG = "p_new = p_old * 0.96875 - 0.125 * s", "m_new = 0.96875 * m_old + 0.03125 * g_old"
_SQUARES, _RUNNING = "h_new = h_old + g_old * g_old", "v_new = 0.99 * v_old + 0.01 * g_old * g_old"

_STEPS = (
    _Step(
        "sgd_momentum_step",
        ("p", "g", "m"),
        ("p", "m"),
        {
            "plain": (_DECAYED, _MOMENT, _AHEAD),
            "fused": (
                "d = tl.fma(p_old, 0.01, g_old)",
                "m_new = tl.fma(m_old, 0.9, d)",
                "p_new = tl.fma(tl.fma(m_new, 0.9, d), -0.1, p_old)",
            ),
            "double": (
                "q = p_old.to(tl.float64)",
                "d = g_old + 0.01 * q",
                "m_new = 0.9 * m_old + d",
                "p_new = (q - 0.1 * (d + 0.9 * m_new)).to(tl.float32)",
                "m_new = m_new.to(tl.float32)",
            ),
        },
        {
            "stale": (_DECAYED, _MOMENT, "p_new = p_old - 0.1 * (d + 0.9 * m_old)"),
            "undecayed": ("d = g_old", _MOMENT, _AHEAD),
            "heavy": (_DECAYED, _MOMENT, "p_new = p_old - 0.1 * m_new"),
        },
    ),
    _Step(
        "lion_step",
        ("p", "g", "m"),
        ("p", "m"),
        {
            "plain": (_VOTE, _SIGN, _MOVED, _LONG),
            "subtracted": (_VOTE, "s = (u > 0.0).to(tl.float32) - (u < 0.0).to(tl.float32)", _MOVED, _LONG),
            "scaled": (
                "u = 7.0 * m_old + g_old",
                "s = tl.minimum(tl.maximum(u * 1e30, -1.0), 1.0)",
                _MOVED,
                "m_new = m_old + 0.03125 * (g_old - m_old)",
            ),
        },
        {
            "unsigned": (_VOTE, "s = u", _MOVED, _LONG),
            "late": (_LONG, "u = 0.875 * m_new + 0.125 * g_old", _SIGN, _MOVED),
            "ascent": (_VOTE, _SIGN, "p_new = p_old * 0.96875 + 0.125 * s", _LONG),
        },
    ),
    _Step(
        "adagrad_step",
        ("p", "g", "h"),
        ("p", "h"),
        {
            "plain": (_SQUARES, "p_new = p_old - 0.1 * g_old / (tl.sqrt(h_new) + 1e-10)"),
            "rsqrt": (_SQUARES, "p_new = p_old - 0.1 * g_old * tl.rsqrt(h_new)"),
            "exact": (_SQUARES, "p_new = p_old - tl.div_rn(0.1 * g_old, tl.sqrt_rn(h_new) + 1e-10)"),
        },
        {
            "stale": (_SQUARES, "p_new = p_old - 0.1 * g_old / (tl.sqrt(h_old) + 1e-10)"),
            "unrooted": (_SQUARES, "p_new = p_old - 0.1 * g_old / (h_new + 1e-10)"),
            "absolute": ("h_new = h_old + tl.abs(g_old)", "p_new = p_old - 0.1 * g_old / (tl.sqrt(h_new) + 1e-10)"),
        },
    ),
    _Step(
        "rmsprop_step",
        ("p", "g", "v"),
        ("p", "v"),
        {
            "plain": (_RUNNING, "p_new = p_old - 0.1 * g_old / (tl.sqrt(v_new) + 1e-8)"),
            "rsqrt": (_RUNNING, "p_new = p_old - 0.1 * g_old * tl.rsqrt(v_new + 1e-16)"),
            "lerp": (
                "v_new = v_old + 0.01 * (g_old * g_old - v_old)",
                "p_new = p_old - 0.1 * g_old / (tl.sqrt(v_new) + 1e-8)",
            ),
        },
        {
            "stale": (_RUNNING, "p_new = p_old - 0.1 * g_old / (tl.sqrt(v_old) + 1e-8)"),
            "linear": ("v_new = 0.99 * v_old + 0.01 * g_old", "p_new = p_old - 0.1 * g_old / (tl.sqrt(v_new) + 1e-8)"),
            "crossed": ("v_new = 0.01 * v_old + 0.99 * g_old * g_old", "p_new = p_old - 0.1 * g_old * tl.rsqrt(v_new)"),
        },
    ),
    _Step(
        "ema_update",
        ("average", "p"),
        ("average",),
        {
            "plain": ("average_new = 0.99 * average_old + 0.01 * p_old",),
            "lerp": ("average_new = average_old + 0.01 * (p_old - average_old)",),
            "fused": ("average_new = tl.fma(average_old, 0.99, 0.01 * p_old)",),
            "double": ("average_new = (0.99 * average_old.to(tl.float64) + 0.01 * p_old).to(tl.float32)",),
        },
        {
            "crossed": ("average_new = 0.01 * average_old + 0.99 * p_old",),
            "narrow": ("average_new = 0.99 * average_old.to(tl.float16) + 0.01 * p_old.to(tl.float16)",),
            "unweighted": ("average_new = 0.99 * average_old + p_old",),
        },
    ),
)

TEMPLATES = (Template("adamw_step", "triton", _KNOBS, _adamw, map_valid), *(step.template() for step in _STEPS))
