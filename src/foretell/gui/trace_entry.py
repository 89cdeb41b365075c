"""A judged proposal as a trace keeps it."""

from __future__ import annotations

import math
from typing import Any

from foretell.gui.dataset import history_to_dict, proposal_to_dict
from foretell.gui.history import History
from foretell.gui.observation import Observation, Proposal
from foretell.gui.veil import Veil
from foretell.gui.verdict import Mode, Verdict, judgement_to_dict


def proposed(
    observation: Observation,
    proposal: Proposal,
    history: History,
    critic: str,
    verdict: Verdict,
    mode: Mode,
    limit: float,
    letters: Veil,
) -> dict[str, Any]:
    """The entry of one proposal, of which the goal and what is typed may be shown already.

    `limit` is what P(bad) had to clear; `letters` hides single letters of a secret in what the guard itself says.
    """
    judgement = verdict.judgement
    return {
        "step": observation.step,
        "goal": observation.goal,
        "platform": observation.platform,
        "proposal": proposal_to_dict(proposal),
        "history": history_to_dict(history),
        "critic": critic,
        "judgement": None if judgement is None else letters.data(judgement_to_dict(judgement)),
        "verdict": {
            "intervene": verdict.intervene,
            "feedback": letters(verdict.feedback),
            "revision": verdict.revision,
            "reason": verdict.reason.value,
            "note": letters(verdict.note),
            "mode": mode.value,
            "threshold": limit if math.isfinite(limit) else None,
        },
    }
