"""Named features of a proposal on a screen, for the learned critic. Pixels, words and history only; nan is "not known".

Each group of features is a pure function of what is seen, so that a name always means the same. A model keeps the names
that it was trained on and asks for those.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from foretell.gui.actions import CLICKS, POINTED, Action, Kind, Point
from foretell.gui.busy import says_busy, waiting_features
from foretell.gui.checks import Finding
from foretell.gui.contradiction import contradiction, contradiction_features
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass
from foretell.gui.legibility import legibility_features
from foretell.gui.observation import Observation, Proposal
from foretell.gui.plan import plan_features
from foretell.gui.pointing import (
    EVIDENCE_NAMES,
    NONE,
    PLACE_NAMES,
    SENSE_NAMES,
    Features,
    evidence_at,
    place_at,
    sense_at,
)
from foretell.gui.progress import (
    clause_features,
    intent_values,
    is_geometric,
    key_context,
    past_features,
    typed_against,
    value_features,
)
from foretell.gui.sight import Sight
from foretell.gui.typed import focus, key_features, type_features
from foretell.gui.wording import (
    DIRECTIONS,
    Wording,
    alike,
    content,
    folded,
    is_readable,
    is_submit,
    part_of,
    tokens,
    wording,
)

_SAME_PLACE = 18.0  # pixels: closer clicks are on the same spot
_KINDS = (Kind.TYPE, Kind.KEY, Kind.SCROLL, Kind.DRAG, Kind.WAIT, Kind.ANSWER, Kind.TERMINATE, Kind.MOVE)
_AT_NAMES = (
    *EVIDENCE_NAMES,
    *PLACE_NAMES,
    *(f"{about}_{name}" for about in ("goal", "intent") for name in SENSE_NAMES),
)
_PARTS = frozenset(("then", "and", "after", "before"))
_SIDES = {"left": (0, -1), "right": (0, 1), "top": (1, -1), "bottom": (1, 1), "upper": (1, -1), "lower": (1, 1)}


def features(
    observation: Observation,
    proposal: Proposal,
    history: History,
    sight: Sight,
    findings: Iterable[Finding] = (),
) -> Features:
    """Everything that the learned critic knows of a proposal. The same names each time; what does not apply is nan."""
    goal = wording(observation.goal)
    intent = wording(proposal.intent) if proposal.intent else None
    action = proposal.actions[0] if proposal.actions else None
    found = _proposal(proposal, action) | _checks(findings) | _history(sight, action, history)
    found |= _screen(sight, goal, history)
    found["busy"] = float(says_busy(sight, observation.evidence))
    found |= _at("at", sight, _pointed(action), goal, intent)
    found |= _at("to", sight, action.to if action is not None else None, goal, intent)
    found |= {f"order.{name}": value for name, value in _order(sight, action, history, goal).items()}
    found |= {f"type.{name}": value for name, value in type_features(sight, action, history, goal, intent).items()}
    found |= {f"key.{name}": value for name, value in key_features(action, history, intent).items()}
    found |= {f"focus.{name}": value for name, value in focus(sight, action, history).items()}
    found |= {f"way.{name}": value for name, value in _way(sight, action, goal, intent).items()}
    found |= {f"end.{name}": value for name, value in _end(sight, action, history, goal).items()}
    found |= {f"intent.{name}": value for name, value in _intent(sight, action, goal, intent).items()}
    found |= {f"still.{name}": value for name, value in waiting_features(sight, action, observation).items()}
    found |= {f"past.{name}": value for name, value in past_features(sight, action, history, goal).items()}
    found |= {
        f"value.{name}": value
        for name, value in value_features(sight, action, history, goal, done_so_far(history)).items()
    }
    found |= {f"typed.{name}": value for name, value in typed_against(action, goal).items()}
    found |= {f"clause.{name}": value for name, value in clause_features(sight, action, history, goal).items()}
    found |= {f"key.{name}": value for name, value in key_context(action, history, intent).items()}
    found |= {f"intent.{name}": value for name, value in intent_values(sight, action, goal, intent).items()}
    found |= {f"plan.{name}": value for name, value in plan_features(sight, action, history, goal, intent).items()}
    found |= {f"crisp.{name}": value for name, value in legibility_features(sight, _pointed(action)).items()}
    against = contradiction_features(contradiction(sight, action, proposal.intent))
    found |= {f"against.{name}": value for name, value in against.items()}
    found |= {"goal.geometric": is_geometric(goal), "intent.geometric": is_geometric(intent)}
    return found


def _pointed(action: Action | None) -> Point | None:
    return action.point if action is not None and action.kind in POINTED else None


def _proposal(proposal: Proposal, action: Action | None) -> Features:
    found: Features = {"fault": float(proposal.fault is not None), "actions": float(len(proposal.actions))}
    found["clicks"] = float(action is not None and action.kind in CLICKS)
    found["plain_click"] = float(action is not None and action.kind is Kind.CLICK)
    for kind in _KINDS:
        found[f"is_{kind.value}"] = float(action is not None and action.kind is kind)
    found["stated"] = float(bool(proposal.intent))
    found["seconds"] = NONE if action is None or action.seconds is None else action.seconds
    return found


def _checks(findings: Iterable[Finding]) -> Features:
    """How strong the findings are, by error class and by check."""
    found = {f"check.{error.value}": 0.0 for error in ErrorClass} | {"check.most": 0.0}
    for finding in findings:
        for name in (f"check.{finding.error.value}", f"rule.{finding.check}", "check.most"):
            found[name] = max(found.get(name, 0.0), finding.strength)
    return found


def _history(sight: Sight, action: Action | None, history: History) -> Features:
    """Steps so far, repetitions, cycles, and whether anything happened."""
    steps = history.steps
    found: Features = {"steps": float(history.count), "achieved": float(len(history.achieved))}
    found["last_changed"] = NONE if not steps else float(steps[-1].changed)
    stalled = 0
    for step in reversed(steps):
        if step.changed:
            break
        stalled += 1
    found["stalled"] = float(stalled)
    found["screen_seen"] = float(sum(step.screen == sight.digest for step in steps))
    same = [step for step in steps if action is not None and _same(step.action, action)]
    found["done_before"] = float(len(same))
    found["done_last"] = float(bool(steps) and action is not None and _same(steps[-1].action, action))
    found["done_here"] = float(any(step.screen == sight.digest for step in same))
    found["done_in_vain"] = float(any(not step.changed for step in same))
    last = steps[-1].action if steps else None
    found["last_was_type"] = float(last is not None and last.kind is Kind.TYPE)
    found["last_was_click"] = float(last is not None and last.kind in CLICKS)
    found["last_was_scroll"] = float(last is not None and last.kind is Kind.SCROLL)
    found["scrolls"] = float(sum(step.action.kind is Kind.SCROLL for step in steps))
    found["types"] = float(sum(step.action.kind is Kind.TYPE for step in steps))
    found["to_last_click"] = NONE
    if action is not None and action.point is not None:
        earlier = [step.action.point for step in steps if step.action.point is not None]
        if earlier:
            gaps = [math.hypot(action.point.x - p.x, action.point.y - p.y) for p in earlier]
            found["to_last_click"] = gaps[-1]
            found["to_any_click"] = min(gaps)
    return found


def _same(one: Action, other: Action) -> bool:
    if one.kind is not other.kind or (one.text or "") != (other.text or "") or one.keys != other.keys:
        return False
    if one.kind is Kind.SCROLL and (one.dy * other.dy < 0 or one.dx * other.dx < 0):
        return False
    if (one.point is None) != (other.point is None):
        return False
    if one.point is None or other.point is None:
        return True
    return math.hypot(one.point.x - other.point.x, one.point.y - other.point.y) < _SAME_PLACE


def done_so_far(history: History) -> str:
    """Everything that the history says was done, as one text."""
    typed = [step.action.text for step in history.steps if step.action.text]
    said = [step.intent for step in history.steps if step.intent and step.changed]
    return " ; ".join([*history.achieved, *typed, *said])


def _screen(sight: Sight, goal: Wording, history: History) -> Features:
    places, words = sight.places.all, sight.places.words
    done = done_so_far(history)
    page = " ".join(word.text for word in words)
    found: Features = {"places": float(len(places)), "lines": float(len(words))}
    for kind in ("button", "field", "checkbox", "radio", "shape", "icon", "link"):
        found[f"n_{kind}"] = float(sum(place.kind == kind for place in places))
    found["empty_fields"] = float(sum(place.kind == "field" and not place.text for place in places))
    found["marked"] = float(sum(place.marked for place in places))
    found["told"] = float(sight.places.instruction is not None)
    found["darkest"], found["lightest"] = sight.kept("extremes", _extremes)
    asked = goal.quoted
    found["quotes"] = float(len(asked))
    found["quotes_open"] = float(sum(not _met(phrase, done) for phrase in asked))
    found["quotes_unseen"] = float(sum(part_of(phrase, page) < 0.8 for phrase in asked if is_readable(phrase)))
    named = content(goal.text)
    found["named_open"] = 1.0 - part_of(" ".join(named), done) if named else NONE
    found["named_seen"] = part_of(" ".join(named), page) if named else NONE
    found["goal_words"] = float(len(tokens(goal.text)))
    found["goal_parts"] = float(sum(token in _PARTS for token in tokens(goal.text)) + goal.text.count(","))
    found["steps_short"] = found["goal_parts"] + 1 - history.count
    found["wants_submit"] = float(any(is_submit(word) for word in tokens(goal.text)))
    return found


def _extremes(sight: Sight) -> tuple[float, float]:
    """The darkest and the lightest grey of a screen, but for a few pixels."""
    low, high = np.quantile(sight.image[::4, ::4].mean(axis=2), (0.002, 0.998))
    return float(low), float(high)


def _met(phrase: str, done: str) -> bool:
    return folded(phrase) in folded(done)


def _at(prefix: str, sight: Sight, point: Point | None, goal: Wording, intent: Wording | None) -> Features:
    """Everything about one point of the screen; all nan where there is none."""
    if point is None:
        return dict.fromkeys((f"{prefix}.{name}" for name in _AT_NAMES), NONE)
    x, y = point.x, point.y
    found = evidence_at(sight, x, y) | place_at(sight, x, y)
    for name, words in (("goal", goal), ("intent", intent)):
        words = words if words is not None and is_readable(words.text) else None
        found |= {f"{name}_{key}": value for key, value in sense_at(sight, words, x, y).items()}
    return {f"{prefix}.{name}": value for name, value in found.items()}


def _order(sight: Sight, action: Action | None, history: History, goal: Wording) -> Features:
    """Where the goal names what is pointed at, whether that was done before, and what it names earlier was not."""
    found = dict.fromkeys(("at", "done", "earlier_open", "later_done", "open", "named"), NONE)
    if action is None:
        return found
    text, done = folded(goal.text), folded(done_so_far(history))
    names = {folded(p.name) for p in sight.places.all if len(p.name) > 1 and p.kind != "panel"}
    named = {name: _first(name, text) for name in names if _first(name, text) >= 0}
    named |= {folded(phrase): text.find(folded(phrase)) for phrase in goal.quoted}
    found["named"] = float(len(named))
    found["open"] = float(sum(name not in done for name in named))
    if action.kind is Kind.TYPE and action.text:
        own = folded(action.text)
    elif action.point is not None and (here := sight.places.under(action.point.x, action.point.y)) is not None:
        own = folded(here.name)
    else:
        return found
    found["done"] = float(bool(own) and own in done)
    at = _first(own, text)
    if at >= 0:
        found["at"] = at / max(1, len(text))
        found["earlier_open"] = float(sum(place < at and name not in done for name, place in named.items()))
        found["later_done"] = float(sum(place > at and name in done for name, place in named.items()))
    return found


def _first(name: str, text: str) -> int:
    """Where a name stands in a text as whole words; -1 where it does not."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not (at and text[at - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return at
        at = text.find(name, at + 1)
    return -1


def _way(sight: Sight, action: Action | None, goal: Wording, intent: Wording | None) -> Features:
    """Directions and lengths of scrolls and drags, and whether words ask for another way."""
    found = dict.fromkeys(("dx", "dy", "length", "goal", "intent", "seen", "seen_intent", "page"), NONE)
    if action is None or action.kind not in (Kind.SCROLL, Kind.DRAG):
        return found
    dx, dy = action.dx, action.dy
    if action.kind is Kind.DRAG:
        if action.point is None or action.to is None:
            return found
        dx, dy = action.to.x - action.point.x, action.to.y - action.point.y
    found["dx"], found["dy"] = dx / sight.screen.width, dy / sight.screen.height
    found["length"] = math.hypot(dx, dy)
    found["page"] = max(abs(found["dx"]), abs(found["dy"]))
    for name, words in (("goal", goal), ("intent", intent)):
        if words is None:
            continue
        ways = {DIRECTIONS[word] for word in tokens(words.text) if word in DIRECTIONS}
        if ways and found["length"] > 0:
            found[name] = max((dx * x + dy * y) / found["length"] for x, y in ways)
        # what a scroll looks for may be on the screen already
        named = [max(words.fit_quoted(p.text), words.fit_quoted(p.label)) for p in sight.places.all]
        found["seen" if name == "goal" else "seen_intent"] = max(named, default=0.0) if words.quoted else NONE
    return found


def _end(sight: Sight, action: Action | None, history: History, goal: Wording) -> Features:
    """Whether an answer, a termination or a wait comes at the right time."""
    found = dict.fromkeys(("success", "answered", "open", "named", "submitted", "length", "on_screen"), NONE)
    if action is None or action.kind not in (Kind.TERMINATE, Kind.ANSWER, Kind.WAIT):
        return found
    done = done_so_far(history)
    if action.success is not None:
        found["success"] = float(action.success)
    found["answered"] = float(any(step.action.kind is Kind.ANSWER for step in history.steps))
    found["open"] = float(sum(not _met(phrase, done) for phrase in goal.quoted))
    found["named"] = part_of(" ".join(content(goal.text)), done)
    found["submitted"] = float(any(is_submit(token) for token in tokens(done)))
    if action.text:
        found["length"] = float(len(action.text))
        found["on_screen"] = part_of(action.text, " ".join(word.text for word in sight.places.words))
    return found


def _intent(sight: Sight, action: Action | None, goal: Wording, intent: Wording | None) -> Features:
    """Whether what is said serves the goal, can be done on this screen, and is what is done."""
    names = "in_goal quoted_in_goal on_screen kind_fits side "
    names += "says_click says_type says_hover says_scroll says_drag says_other"
    found = dict.fromkeys(names.split(), NONE)
    if intent is None:
        return found
    page = " ".join([*(word.text for word in sight.places.words), goal.text])
    found["in_goal"] = part_of(intent.text, goal.text)
    if intent.quoted:
        found["quoted_in_goal"] = max(part_of(phrase, goal.text) for phrase in intent.quoted)
        found["quoted_is_goals"] = max(
            (alike(one, other) for one in intent.quoted for other in goal.quoted), default=NONE
        )
        found["on_screen"] = min((part_of(one, page) for one in intent.quoted if is_readable(one)), default=NONE)
    said = tokens(intent.text)
    verbs: Mapping[str, tuple[str, ...]] = {
        "click": ("click", "press", "tap", "select", "choose", "open", "tick", "check", "focus", "pick", "expand"),
        "type": ("type", "enter", "write", "fill", "input"),
        "hover": ("hover",),
        "scroll": ("scroll", "look"),
        "drag": ("drag", "move", "swipe", "resize", "draw"),
        "other": ("wait", "done", "finish", "stop", "finished", "answer", "terminate", "end", "complete"),
    }
    first = next((name for word in said for name, listed in verbs.items() if word in listed), None)
    for name in verbs:
        found[f"says_{name}"] = float(first == name)
    if action is not None and first is not None:
        fits = {
            "click": action.kind in CLICKS or action.kind is Kind.KEY or action.kind is Kind.MOVE,
            "type": action.kind in (Kind.TYPE, Kind.KEY),
            "scroll": action.kind is Kind.SCROLL,
            "hover": action.kind is Kind.MOVE,
            "drag": action.kind in (Kind.DRAG, Kind.MOVE),
            "other": action.kind in (Kind.WAIT, Kind.TERMINATE, Kind.ANSWER),
        }
        found["kind_fits"] = float(fits[first])
    if action is not None and action.point is not None:
        place = (action.point.x / sight.screen.width, action.point.y / sight.screen.height)
        sides = [(axis, sign) for word, (axis, sign) in _SIDES.items() if word in said]
        if sides:
            found["side"] = min(sign * (2 * place[axis] - 1) for axis, sign in sides)
    return found
