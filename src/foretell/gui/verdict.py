"""What the guard says of a proposal: whether to execute it, why, and the words for the agent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.observation import Proposal
from foretell.gui.quoting import NOTICE, fenced, has_quotes

EXPLANATION_CHARACTERS = 2400
ERROR_WORDS: Mapping[ErrorClass, str] = {
    ErrorClass.GROUNDING: "the point lies beside its target",
    ErrorClass.PREREQUISITE: "a step that has to come first is missing",
    ErrorClass.SEMANTIC: "the element means something else",
    ErrorClass.TERMINATION: "it ends too early, or goes on after the end",
    ErrorClass.CONSTRAINT: "it breaks a condition of the goal",
    ErrorClass.FORMULATION: "it cannot be carried out as written",
    ErrorClass.OBSERVATION: "it looks for what can be seen already",
    ErrorClass.SUBOPTIMAL: "it is a detour",
    ErrorClass.VECTOR: "its direction or distance is wrong",
    ErrorClass.HALLUCINATION: "what it acts on is not on the screen",
    ErrorClass.TIMING: "the screen is still busy",
    ErrorClass.MISALIGNMENT: "it does something else than it says",
}


class Mode(StrEnum):
    """What an objection does."""

    ENFORCE = "enforce"  # the proposal is not to be executed; the agent revises it
    ADVISE = "advise"  # it is executed, unless irreversible; the agent is told before it proposes the next
    SHADOW = "shadow"  # only recorded


class Reason(StrEnum):
    """Why a verdict is as it is. Closed."""

    FINE = "fine"  # P(bad) does not clear the threshold
    DOUBTED = "doubted"  # it does; `intervene` says whether that stops it: a doubt that is advice does not
    UNCONFIRMED = "unconfirmed"  # irreversible, and not sure enough to pass without a confirmation
    QUIET = "quiet"  # it does, but the revisions of this step are used up
    FAILED = "failed"  # the critic failed: passed unjudged
    TIMED_OUT = "timed_out"  # the critic took too long: passed unjudged
    BUSY = "busy"  # the critic is still at an earlier proposal: passed unjudged
    OVER_BUDGET = "over_budget"  # the tokens of the episode are spent: passed unjudged


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the guard says of a proposal. Execute it unless `intervene`.

    `feedback` is ready to paste into the agent's prompt, and empty where there is nothing to say. `revision` counts
    the revisions asked for in this step, this one included. `note` says in words what went wrong where the reason is
    that something did. `judgement` is None where there is none.
    """

    judgement: Judgement | None
    intervene: bool
    feedback: str
    revision: int
    reason: Reason
    note: str = ""


def judgement_to_dict(judgement: Judgement) -> dict[str, Any]:
    """A judgement as JSON, without its pictures; evidence that is no finite number is left out."""
    evidence = {name: float(value) for name, value in judgement.evidence.items() if math.isfinite(value)}
    error = None if judgement.error is None else judgement.error.value
    return {
        "p_bad": float(judgement.p_bad),
        "error": error,
        "explanation": judgement.explanation,
        "evidence": evidence,
    }


def feedback_for(
    judgement: Judgement, proposal: Proposal, stopped: bool, final: bool = False, doubted: bool = True
) -> str:
    """What the agent is told: what is seen, and what may be wrong; what to do about it is the agent's to decide.

    P(bad) is a ranking before it is a chance, and is not told. `stopped` is whether the proposal is not executed; one
    without actions never is. `doubted` is false where it is stopped only since it cannot be taken back.
    """
    kind = f": it may be that {ERROR_WORDS[judgement.error]}." if judgement.error is not None else "."
    doubted = doubted and not (final and judgement.advice)  # then it is stopped for this alone
    why = f"since it is doubted{kind}" if doubted else "since it cannot be taken back and was not confirmed."
    if not proposal.actions:
        lines = ["No action could be read from this message, and nothing has been executed."]
    elif stopped:
        lines = [f"This action was checked against the screenshot and has not been executed, {why}"]
    else:
        lines = [f"The previous action was let through, but a check of it against the screenshot had doubts{kind}"]
    if judgement.explanation:
        lines.append(fenced(judgement.explanation, EXPLANATION_CHARACTERS))
        if has_quotes(judgement.explanation):
            lines.append(NOTICE)
    if final:
        lines.append("It cannot be taken back, so it needs more certainty than other actions.")
    if not proposal.actions:
        lines.append("Propose the next action as a call; where the task is done, call the action that ends it.")
    elif stopped:
        lines.append("Look at the screen again and propose the next action: another one, or the same if it is right.")
    return "\n".join(lines)
