"""Evidence from BrowserGym's observations: the accessibility tree and the boxes of its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foretell.gui.actions import Point
from foretell.gui.evidence import ElementAt, Evidence


def evidence_in(observation: Any, points: Sequence[Point], scale: float = 1.0) -> Evidence | None:
    """What an observation says of points of its screenshot; None where it has no accessibility tree.

    Of all elements whose boxes hold a point, the smallest counts. `scale` is how many pixels of the screenshot make one
    of the page. What covers an element is not known here.
    """
    tree = observation.get("axtree_object") if isinstance(observation, Mapping) else None
    nodes = tree.get("nodes") if isinstance(tree, Mapping) else None
    if not isinstance(nodes, Sequence):
        return None
    known = {str(node["browsergym_id"]): _element(node) for node in nodes if _has_id(node)}
    listed = observation.get("extra_element_properties")
    boxes = {name: _box(one) for name, one in listed.items()} if isinstance(listed, Mapping) else {}
    at = {}
    for point in points:
        x, y = point.x / scale, point.y / scale
        inside = {name: box for name, box in boxes.items() if box is not None and name in known and _holds(box, x, y)}
        held = [(box[2] * box[3], name) for name, box in inside.items()]
        if held:
            at[point] = known[min(held)[1]]
    seen = tuple(known[name] for name, box in boxes.items() if box is not None and name in known and known[name].name)
    return Evidence(at, known.get(str(observation.get("focused_element_bid") or "")), seen)


def _has_id(node: Any) -> bool:
    return isinstance(node, Mapping) and node.get("browsergym_id") is not None


def _box(properties: Any) -> tuple[float, float, float, float] | None:
    box = properties.get("bbox") if isinstance(properties, Mapping) else None
    if box is None or len(box) != 4:
        return None
    x, y, w, h = (float(value) for value in box)
    return x, y, w, h


def _holds(box: tuple[float, float, float, float], x: float, y: float) -> bool:
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]


def _element(node: Mapping[str, Any]) -> ElementAt:
    listed = node.get("properties") or ()
    properties = {one.get("name"): _value(one.get("value")) for one in listed if isinstance(one, Mapping)}
    return ElementAt(
        name=str(_value(node.get("name")) or ""),
        role=str(_value(node.get("role")) or ""),
        disabled=properties.get("disabled") is True,
        editable=bool(properties.get("editable")) and properties.get("readonly") is not True,
    )


def _value(wrapped: Any) -> Any:
    return wrapped.get("value") if isinstance(wrapped, Mapping) else wrapped
