"""Critics that need no language model: rules alone, and trees over what is seen on the screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from foretell.gui import marker
from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.agreed import is_agreed
from foretell.gui.batch import Part, parts
from foretell.gui.called import goal_margin, is_called_on_page, is_called_on_screen, is_new_label
from foretell.gui.checks import Finding, check
from foretell.gui.contradiction import Contradiction, contradiction
from foretell.gui.critic_model import UNUSABLE, CriticModel
from foretell.gui.evidence import CALLED_SO, ElementAt, Evidence, Weighed, weigh
from foretell.gui.evidence_contradiction import against_page, disagrees
from foretell.gui.evidence_features import page_features
from foretell.gui.experts import EVIDENCE as BY_EVIDENCE
from foretell.gui.experts import Experts
from foretell.gui.explain import explain
from foretell.gui.features import features
from foretell.gui.grounds import SURE, grounds
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass, Judgement, Pictures
from foretell.gui.namesakes import row_names
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.pressed import is_final_at, label_at, reads_as
from foretell.gui.reading import interest
from foretell.gui.risk import EVIDENCE, is_final, is_final_on_page, points_at
from foretell.gui.shrink import shrunk
from foretell.gui.sight import Eyes, Sight
from foretell.gui.target import target_of
from foretell.gui.threshold import Threshold
from foretell.gui.typed import is_typed_into_field
from foretell.gui.untaught import GOAL_NAMES, MOST_P_BAD, is_untaught

_UNDOUBTED = 0.02  # P(bad) where no rule speaks
_NAMED = 0.5  # P(bad) from which a doubt with a reason comes before one without
_TOLD = (
    "at.away", "at.ink_12", "at.goal_margin", "at.intent_margin", "at.intent_quoted", "type.quoted_best", "stalled",
    "done_before", "quotes_open", "check.most",
)  # fmt: skip


class RulesCritic:
    """The deterministic checks alone, as a control: P(bad) is the strength of the strongest finding."""

    name = "rules"

    def __init__(self, pictures: bool = True) -> None:
        self._pictures = pictures

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        findings = check(observation, proposal, history)
        worst = max(findings, key=lambda one: one.strength, default=None)
        p_bad = _UNDOUBTED if worst is None else min(1.0, max(_UNDOUBTED, worst.strength))
        text = " ".join(one.sentence for one in findings) or "No rule speaks against it."
        images = _images(observation.image, proposal) if self._pictures else {}
        return Judgement(p_bad, None if worst is None else worst.error, text, _strengths(findings), images)


class EmbeddedCritic:
    """Trees over what is seen: the checks, the place pointed at, its words and those of goal and intent, the history.

    Without a `model` the shipped ones judge, each the screens that it was trained for; `threshold` has what the P(bad)
    of each has to clear. `model` is the one for small pages, or the one passed in.

    Raises OcrError if the OCR weights are missing, and BadCriticModel if there is no model.
    """

    name = "embedded"

    def __init__(self, model: CriticModel | None = None, eyes: Eyes | None = None, pictures: bool = True) -> None:
        self.experts = Experts.load() if model is None else Experts(model)
        self.model = self.experts.small
        self.eyes = eyes or Eyes()
        self._pictures = pictures

    def threshold(self, bound: float) -> Threshold:
        """What P(bad) has to clear for a bound on false interruptions; BadCriticModel where none was learnt."""
        return self.experts.threshold(bound)

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        findings = check(observation, proposal, history)
        if proposal.fault is not None or not proposal.actions or not proposal.placed:
            text = (
                " ".join(one.sentence for one in findings) or f"Nothing can be done: {proposal.fault or 'no action'}."
            )
            found = max((one.strength for one in findings), default=1.0)
            # What the agent may have said well, but nothing here can carry out, is not held against it.
            p_bad = UNUSABLE if found >= 0.5 else found
            return Judgement(p_bad, ErrorClass.FORMULATION, text, _strengths(findings))
        full, whole = observation, proposal
        observation, proposal, history = shrunk(observation, proposal, history)
        sight = self.eyes.see(observation, interest(proposal, history, observation.goal))
        batch = parts(proposal, history, sight.digest, partial(_stays, sight))
        judged = [self._judge_part(observation, part, sight, len(batch), whole.actions[part.index]) for part in batch]
        worst = max(judged, key=_weight)
        if any(EVIDENCE in one.evidence for one in judged):
            worst = replace(worst, evidence={**worst.evidence, EVIDENCE: 1.0})
        return replace(worst, images=_images(full.image, whole) if self._pictures else {})

    def _judge_part(self, observation: Observation, part: Part, sight: Sight, count: int, whole: Action) -> Judgement:
        """One action of a batch; the only one of most. `whole` is the action on the screen in its full size."""
        findings = check(observation, part.proposal, part.history)
        numbered = f"Action {part.index + 1} of {count}: " if count > 1 else ""
        final = self._final(observation, part, sight, whole)
        if not part.on_screen:
            strongest = max(findings, key=lambda one: one.strength, default=None)
            p_bad = _UNDOUBTED if strongest is None else strongest.strength
            text = numbered + (" ".join(one.sentence for one in findings) or "Its screen is not known yet.")
            error = None if strongest is None else strongest.error
            return Judgement(p_bad, error, text, _strengths(findings) | final, action=part.index)
        focus_moves = part.index > 0 and whole.kind is Kind.TYPE  # by what comes before it in the batch
        if focus_moves:
            observation = replace(observation, evidence=None)
        found = self._weighed(observation, part, sight, whole, findings, numbered)
        here = _element_at(observation, whole)
        if here is not None and disagrees(label_at(sight, part.proposal.actions[0]), here, part.proposal.intent):
            # What the screen shows clearly is not explained away by what its page calls it.
            pixels = replace(observation, evidence=None)
            found = _worse(found, self._weighed(pixels, part, sight, whole, findings, numbered))
        if final and whole.kind in (Kind.DRAG, Kind.TYPE) and whole.point is not None:
            # It presses what is there, whatever else it does: it is no better than a click.
            as_click, whole = _clicking(part, whole)
            findings = check(observation, as_click.proposal, as_click.history)
            found = _worse(found, self._weighed(observation, as_click, sight, whole, findings, numbered))
        action, intent = part.proposal.actions[0], part.proposal.intent
        risky = bool(final) or is_final(replace(part.proposal, actions=(whole,)), observation.evidence)
        if risky and found.advice and is_agreed(observation.evidence, whole, action, intent, observation.goal, sight):
            found = replace(found, p_bad=min(found.p_bad, CALLED_SO))
        return replace(found, evidence={**found.evidence, **final})

    def _weighed(
        self,
        observation: Observation,
        part: Part,
        sight: Sight,
        whole: Action,
        findings: Sequence[Finding],
        numbered: str,
    ) -> Judgement:
        """One action by the model, what contradicts it, and the evidence where there is any."""
        name, model = self.experts.of(observation)
        action, intent = part.proposal.actions[0], part.proposal.intent
        if name and is_new_label(sight, action, part.history):
            findings = [one for one in findings if (one.check, one.error) != ("repeated", ErrorClass.SUBOPTIMAL)]
        seen = features(observation, part.proposal, part.history, sight, findings)
        if name == BY_EVIDENCE:
            page = observation.evidence or Evidence()
            seen |= page_features(page, whole, observation.goal, part.proposal.intent, part.history)
        table = model.table([seen])
        p_bad = float(np.clip(model.p_bad(table, stated=bool(part.proposal.intent))[0], 0.0, 1.0))
        error = model.ways(table)[0]
        against = self._contradiction(observation, part, sight)
        against = against_page(observation.evidence, whole, part.proposal.intent, against)
        if name:
            margin = goal_margin(sight, action, intent, observation.goal, part.history, seen["at.goal_margin"])
            sure = not against.strength and not margin <= GOAL_NAMES
            sure = sure and self._is_called(observation, part, sight, whole)
            typed_so = is_typed_into_field(sight, action, part.history, observation.goal, findings, error)
            if typed_so or is_untaught(whole, intent, against.named, seen, error, sure):
                p_bad = min(p_bad, max(MOST_P_BAD, seen["check.most"]))
        asked = observation.evidence
        reasons = []
        if name:
            reasons = grounds(asked, action, whole, intent, observation.goal, part.history, sight, findings, seen)
            decides = next((one for one in reasons if p_bad >= one.bar), None)
            if decides is not None:
                p_bad, error = max(p_bad, SURE), decides.error
                reasons.sort(key=lambda one: one is not decides)
        advice = bool(name) and not reasons and not against.strength
        if against.strength > p_bad:
            p_bad, error = against.strength, against.error
        said = Weighed(p_bad, error)
        if observation.evidence is not None:
            said = weigh(observation.evidence, whole, part.proposal.intent, p_bad, error)
            p_bad, error = said.p_bad, said.error
        told = {name: seen[name] for name in _TOLD if not math.isnan(seen.get(name, math.nan))}
        element = asked.at.get(whole.point) if asked is not None and whole.point is not None else None
        named = [said.sentence, against.sentence, *(one.sentence for one in reasons)]
        if reasons and error is reasons[0].error:
            named = [reasons[0].sentence, *named]  # what comes first is the reason
        first = " ".join(dict.fromkeys(one for one in named if one))
        findings = [one for one in findings if one.sentence not in named]
        text = explain(
            observation, part.proposal, part.history, sight, seen, findings, element, compares=not (name and first)
        )
        text = " ".join(one for one in (f"{numbered}{first}".strip(), text) if one)
        return Judgement(p_bad, error, text, _strengths(findings) | told, action=part.index, model=name, advice=advice)

    def _is_called(self, observation: Observation, part: Part, sight: Sight, whole: Action) -> bool:
        """Whether a click is on just what its intent names, by the page where it was asked, else by the pixels."""
        action, intent = part.proposal.actions[0], part.proposal.intent
        if not intent or whole.kind not in CLICKS or self._final(observation, part, sight, whole):
            return False  # doubts about what is irreversible stand, whatever its page calls it
        here = _element_at(observation, whole)
        if here is None:
            return is_called_on_screen(sight, action, intent)
        return is_called_on_page(here, observation.evidence.seen if observation.evidence else None, intent)

    def _final(self, observation: Observation, part: Part, sight: Sight, whole: Action) -> dict[str, float]:
        """Whether an action presses something irreversible, by the pixels or by the page.

        Where the page may be another one by then, what is seen now is the best guess.
        """
        action = part.proposal.actions[0]
        by_page = observation.evidence is not None and is_final_on_page(whole, observation.evidence)
        final = by_page or is_final_at(sight, action, points_at(whole))
        here = _element_at(observation, whole)
        if final and not by_page and here is not None and reads_as(sight, action, here.name):
            return {}  # what is irreversible is another label of the line that is read there
        if not final and sight.is_partial and whole.kind in (Kind.TYPE, Kind.DRAG) and points_at(whole):
            clicked = replace(part.proposal, actions=(Action(Kind.CLICK, action.point),))  # reads what is around it
            seen = self.eyes.see(observation, interest(clicked, part.history, observation.goal))
            final = is_final_at(seen, action, True)
        return {EVIDENCE: 1.0} if final else {}

    def _contradiction(self, observation: Observation, part: Part, sight: Sight) -> Contradiction:
        """What contradicts a click; of a dense page more is read where its intent names a row."""
        action, intent = part.proposal.actions[0], part.proposal.intent
        found = contradiction(sight, action, intent)
        rows = row_names(target_of(intent).context) if intent else ()
        if found.strength or not found.named or not rows or not sight.is_partial:
            return found
        about = replace(interest(part.proposal, part.history, observation.goal), rows=rows)
        return contradiction(self.eyes.see(observation, about), action, intent)


def _element_at(observation: Observation, action: Action) -> ElementAt | None:
    """What the page says of the element under an action's point; None where it was not asked or does not name it."""
    here = observation.evidence.at.get(action.point) if observation.evidence and action.point is not None else None
    return here if here is not None and here.name else None


def _worse(one: Judgement, other: Judgement) -> Judgement:
    return other if _weight(other) > _weight(one) else one


def _weight(judgement: Judgement) -> tuple[bool, float]:
    """Of several judgements the worst counts; a doubt that can be named before one that cannot."""
    return (judgement.p_bad > _NAMED and not judgement.advice, judgement.p_bad)


def _clicking(part: Part, whole: Action) -> tuple[Part, Action]:
    """A part as if it only clicked at its point, and its action in full size."""
    click = Action(Kind.CLICK, part.proposal.actions[0].point)
    return replace(part, proposal=replace(part.proposal, actions=(click,))), Action(Kind.CLICK, whole.point)


def _stays(sight: Sight, action: Action) -> bool:
    """Whether a click is on something that leaves the page as it is: a field, a box to tick."""
    place = None if action.point is None else sight.places.under(action.point.x, action.point.y)
    return place is not None and place.kind in ("field", "checkbox", "radio")


def _strengths(findings: Sequence[Finding]) -> dict[str, float]:
    return {f"check.{one.error.value}": one.strength for one in sorted(findings, key=lambda one: one.strength)}


def _images(image: Pixels, proposal: Proposal) -> Pictures:
    return Pictures(partial(marker.evidence, image, proposal))
