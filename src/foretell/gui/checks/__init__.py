"""Deterministic checks of a proposal against the screen and the history: cheap, explainable, no model of any kind.

`check` gives every finding, the strongest first. A finding's strength is how sure it is by itself that the proposal is
wrong; whoever decides weighs it against other evidence. Whether a screen is still busy is not among them: a spinner
cannot be told from a picture by one look, and words such as "loading" are for whoever reads the screen's text.
"""

from foretell.gui.checks.course import circling, continued, ending, pressing, repeated
from foretell.gui.checks.finding import Case, Check, Finding
from foretell.gui.checks.focus import unfocused
from foretell.gui.checks.form import formulation, out_of_bounds, too_small
from foretell.gui.checks.screens import caret, coarse_digest, digest, focus_ring
from foretell.gui.checks.words import against_intent, typed_text, wrong_key, wrong_way
from foretell.gui.history import History
from foretell.gui.observation import Observation, Proposal

__all__ = ["CHECKS", "Case", "Check", "Finding", "caret", "check", "coarse_digest", "digest", "focus_ring"]

CHECKS: tuple[Check, ...] = (
    formulation,
    out_of_bounds,
    too_small,
    repeated,
    circling,
    continued,
    pressing,
    ending,
    unfocused,
    wrong_way,
    against_intent,
    typed_text,
    wrong_key,
)


def check(observation: Observation, proposal: Proposal, history: History) -> tuple[Finding, ...]:
    """Every finding, the strongest first; none where nothing speaks against the proposal."""
    case = Case(observation, proposal, history)
    found = [finding for one in CHECKS for finding in one(case)]
    return tuple(sorted(found, key=lambda finding: -finding.strength))
