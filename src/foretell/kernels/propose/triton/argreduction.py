"""Triton templates of the argreductions along rows: value and place, packed keys, early stops, parts of rows; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs
from foretell.kernels.propose.triton.row_splits import NEGATIVE, Split, row_template
from foretell.kernels.propose.triton.rows import Fold, Online, Phase, RowOp

_THRESHOLD = "0.9990234375"
_PLACES = "torch.empty(rows, dtype=torch.int64, device=x.device)"


def _extreme(knobs: Knobs, way: str) -> Phase:
    """The fold of a row's extreme `top` (`way` is max or min) and its `place`."""
    last = knobs["slip"] == "last"
    neutral = NEGATIVE if way == "max" else 'float("inf")'
    better = {"max": ">", "min": "<"}[way] + ("=" if last else "")
    top = f"top = tl.{way}(v, AXIS)KEEP"

    def at(values: str, places: str) -> str:
        if last:
            return f"tl.max(tl.where({values} == top, {places}, 0), AXIS)KEEP"
        return f"tl.min(tl.where({values} == top, {places}, n_cols), AXIS)KEEP"

    once: tuple[str, ...] = (top, f"place = {at('v', 'c')}")
    if knobs["form"] == "library":
        once = (top, f"place = tl.arg{way}(v, AXIS)KEEP")
    if knobs["carry"] == "scalar":
        step: tuple[str, ...] = (
            f"peak = tl.{way}(v, AXIS)KEEP",
            "spot = tl.min(tl.where(v == peak, c, n_cols), AXIS)KEEP",
            f"place = tl.where(peak {better} top, spot, place)",
            f"top = tl.{way}imum(top, peak)",
        )
        return Phase((Online((f"top = {neutral}", "place = 0"), step, (), once),))
    start = (f"best = tl.full(SHAPE, {neutral}, tl.float32)", "seen = tl.full(SHAPE, 0, tl.int32)")
    step = (f"seen = tl.where(v {better} best, c, seen)", f"best = tl.{way}imum(best, v)")
    if knobs["form"] == "chosen":
        step = (f"better = v {better} best", "seen = tl.where(better, c, seen)", "best = tl.where(better, v, best)")
    close = (f"top = tl.{way}(best, AXIS)KEEP", f"place = {at('best', 'seen')}")
    return Phase((Online(start, step, close, once),))


def _joined(phase: Phase, way: str) -> Split:
    place = "place = tl.min(tl.where(top == end, place, n_cols), AXIS)KEEP"
    return Split((phase,), ("top", "place"), (f"end = tl.{way}(top, AXIS)KEEP", place, "top = end"), whole=("place",))


def _argmin(knobs: Knobs) -> tuple[RowOp, Split]:
    phase = _extreme(knobs, "max" if knobs["slip"] == "largest" else "min")
    op = RowOp(
        inputs=("x",),
        outputs=(("out", _PLACES),),
        loads=(("v", "x + at", 'float("inf")', ""),),
        phases=(phase,),
        row_stores=(("out + r", "place"),),
    )
    return op, _joined(phase, "min")


def _max_with_index(knobs: Knobs) -> tuple[RowOp, Split]:
    phase = _extreme(knobs, "max")
    if knobs["form"] == "key":
        encode = (
            "bits = v.to(tl.int32, bitcast=True)",
            "item = tl.where(bits < 0, bits ^ 0x7FFF0000, bits) | (0xFFFF - c)",
        )
        fold = Online(
            ("key = tl.full(SHAPE, -2147483648, tl.int32)",),
            (*encode, "key = tl.maximum(key, tl.where(inside, item, -2147483648))"),
            ("key = tl.max(key, AXIS)KEEP",),
            (*encode, "key = tl.max(tl.where(inside, item, -2147483648), AXIS)KEEP"),
        )
        decode = (
            "place = 0xFFFF - (key & 0xFFFF)",
            "bits = key & -65536",
            "top = tl.where(bits < 0, bits ^ 0x7FFF0000, bits).to(tl.float32, bitcast=True)",
        )
        phase = Phase((fold,), decode)
    top = "-top" if knobs["slip"] == "sign" else "top"
    op = RowOp(
        inputs=("x",),
        outputs=(("out", "torch.empty(rows, dtype=x.dtype, device=x.device)"), ("places", _PLACES)),
        loads=(("v", "x + at", NEGATIVE, ".to(tl.float32)"),),
        phases=(phase,),
        row_stores=(("out + r", top), ("places + r", "place")),
    )
    return op, _joined(phase, "max")


def _first_above(knobs: Knobs) -> tuple[RowOp, Split]:
    form, slip = knobs["form"], knobs["slip"]
    above = f"v {'<' if slip == 'below' else '>'} {_THRESHOLD}"
    nearness = f"tl.where({above}, {'c + 1' if slip == 'last' else 'n_cols - c'}, 0)"
    place = (
        "place = tl.where(near > 0, near - 1, 0)" if slip == "last" else "place = tl.where(near > 0, n_cols - near, 0)"
    )
    if slip == "absent":
        place = "place = tl.where(near > 0, n_cols - near, n_cols)"
    loads: tuple[tuple[str, str, str, str], ...] = (("v", "x + at", "1.0" if slip == "below" else "0.0", ""),)
    fold: Fold | Online = Fold("near", f"({nearness}).to(tl.float32)", "max")
    if form == "integer":
        fold = Online(
            ("near = tl.full(SHAPE, 0, tl.int32)",),
            (f"near = tl.maximum(near, {nearness})",),
            ("near = tl.max(near, AXIS)KEEP",),
            (f"near = tl.max({nearness}, AXIS)KEEP",),
        )
    elif form == "least":
        least = f"tl.where({above}, c, n_cols)"
        fold = Online(
            ("least = tl.full(SHAPE, 2147483647, tl.int32)",),
            (f"least = tl.minimum(least, {least})",),
            ("least = tl.min(least, AXIS)KEEP",),
            (f"least = tl.min({least}, AXIS)KEEP",),
        )
        place = "place = tl.where(least < n_cols, least, 0)"
    elif form in ("stop", "stop_lanes"):
        seen = "near" if form == "stop" else "tl.max(near, AXIS)KEEP"
        first = "tl.max(tl.full(SHAPE, 0, tl.int32), AXIS)KEEP" if form == "stop" else "tl.full(SHAPE, 0, tl.int32)"
        part = f"tl.max({nearness}, AXIS)KEEP" if form == "stop" else nearness
        loads = ()
        step = (
            f"v = tl.load(x + at, mask=inside & (c < tl.where({seen} == 0, n_cols, 0)), other=0.0)",
            f"near = tl.maximum(near, {part})",
        )
        fold = Online((f"near = {first}",), step, () if form == "stop" else ("near = tl.max(near, AXIS)KEEP",), ())
    phase = Phase((fold,), (place,))
    op = RowOp(
        inputs=("x",),
        outputs=(("out", _PLACES),),
        loads=loads,
        phases=(phase,),
        row_stores=(("out + r", "place"),),
    )
    return op, Split((Phase((fold,)),), ("near",), ("near = tl.max(near, AXIS)KEEP", place))


TEMPLATES = (
    row_template("argmin", _argmin, (), ("last", "largest"), looped_forms=("chosen",), whole_forms=("library",)),
    row_template("max_with_index", _max_with_index, ("key",), ("last", "sign"), looped_forms=("chosen",)),
    row_template(
        "first_above",
        _first_above,
        ("integer", "least"),
        ("last", "below", "absent"),
        looped_forms=("stop", "stop_lanes"),
        without=("unmasked",),
    ),
)
