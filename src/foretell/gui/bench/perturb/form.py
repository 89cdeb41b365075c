"""Proposals that cannot be read or carried out as they are written."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from foretell.gui.actions import POINTED, Action, Kind, Point
from foretell.gui.bench.pages import HEIGHT, WIDTH
from foretell.gui.bench.perturb.moment import Moment, Wrong
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal
from foretell.gui.parse.faults import BadProposal
from foretell.gui.parse.reader import read
from foretell.gui.parse.write import to_python, to_qwen

_SIZE = (WIDTH, HEIGHT)


def malformed(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """Texts that come out of the reader with a fault, and actions that lack something or miss the screen."""
    planned = moment.planned
    if planned is None:
        return
    action, intent = planned.action, planned.intent
    try:
        text = to_qwen(action, _SIZE, intent=intent)
    except BadProposal:
        text = f"Action: {intent}\n{to_python(action)}"
    breaks = [_cut, _unquoted, _unknown, _prose, _empty, _no_point]
    rng.shuffle(breaks)
    for one in breaks:
        proposal = read(one(text, action, rng), size=_SIZE)
        if proposal.fault is not None:
            yield Wrong(proposal, ErrorClass.FORMULATION)
    lacking = _lacking(action, rng)
    if lacking is not None:
        yield Wrong(Proposal((lacking,), intent), ErrorClass.FORMULATION)


def _lacking(action: Action, rng: random.Random) -> Action | None:
    """An action that can be read, but not carried out here."""
    if action.kind in POINTED and action.point is not None:
        out = Point(action.point.x + WIDTH * rng.uniform(1, 3), action.point.y + HEIGHT * rng.uniform(0, 2))
        return rng.choice(
            (replace(action, point=None), replace(action, point=out), replace(action, kind=Kind.LONG_PRESS, to=None))
        )
    if action.kind is Kind.TYPE:
        return replace(action, text="")
    if action.kind is Kind.KEY:
        return replace(action, keys=())
    return replace(action, dx=0.0, dy=0.0) if action.kind is Kind.SCROLL else None


def _cut(text: str, action: Action, rng: random.Random) -> str:
    start = text.index("{") if "{" in text else 0
    return text[: rng.randint(start + 2, max(start + 3, len(text) - 18))]


def _unquoted(text: str, action: Action, rng: random.Random) -> str:
    return text.replace('"action":', "action:").replace('"name":', "name:")


def _unknown(text: str, action: Action, rng: random.Random) -> str:
    name = rng.choice(("select_element", "press_button", "set_value", "tap_on", "focus", "interact"))
    return f'<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "{name}"}}}}\n</tool_call>'


def _prose(text: str, action: Action, rng: random.Random) -> str:
    said = text.split("<tool_call>")[0].removeprefix("Action: ").strip()
    return rng.choice(("I would {} now.", "The next step is to {}, I think.", "{}")).format(said)


def _empty(text: str, action: Action, rng: random.Random) -> str:
    return rng.choice(("", "<tool_call>\n</tool_call>", "{}", "```json\n```"))


def _no_point(text: str, action: Action, rng: random.Random) -> str:
    kind = "left_click" if action.kind in POINTED else "type"
    arguments: dict[str, object] = {"action": kind}
    if rng.random() < 0.5 and kind == "left_click":
        arguments["coordinate"] = rng.choice((["left", "top"], [240], "the button", None))
    call = {"name": "computer_use", "arguments": arguments}
    return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


Break = Callable[[str, Action, random.Random], str]
