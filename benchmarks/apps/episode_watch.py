"""The guard of an episode: with the evidence of the page, and beside it the verdict by pixels alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.apps.browser import BrowserStage
from foretell.gui.adapters.playwright import PlaywrightScreen
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.guard import Guard, Limits
from foretell.gui.history import Historian
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.ocr import Ocr
from foretell.gui.sight import Eyes
from foretell.gui.verdict import Mode

BOUND = 0.02
PATIENT = Limits(judgement_s=60.0, history_s=60.0)


@dataclass(frozen=True)
class Judged:
    """The guard's verdict on a proposal; `by_pixels` is whether pixels alone would have been enough to object."""

    intervene: bool
    feedback: str
    p_bad: float | None
    by_pixels: bool


class Watch:
    """The guard as its documentation makes it, in the mode that sends proposals back."""

    def __init__(self) -> None:
        reader = Ocr()
        self._critic = EmbeddedCritic(eyes=Eyes(reader), pictures=False)
        self._threshold = self._critic.threshold(BOUND)
        self._guard = Guard(self._critic, Historian(reader), self._threshold, mode=Mode.ENFORCE, limits=PATIENT)
        self._earlier: Pixels | None = None

    def before_action(self, observation: Observation) -> str:
        return self._guard.before_action(observation)

    def judge(self, observation: Observation, proposal: Proposal, stage: BrowserStage) -> Judged:
        screen = PlaywrightScreen(stage.page, evidence=True)
        points = [action.point for action in proposal.actions if action.point is not None]
        verdict = self._guard.after_proposal(replace(observation, evidence=screen.gather(points)), proposal)
        seen = replace(observation, earlier=self._earlier)
        plain = self._critic.judge(seen, proposal, self._guard.history)
        sort = proposal.sort_of(plain.action)
        by_pixels = self._threshold.cleared_by(plain.p_bad, sort, bool(proposal.intent), plain.model)
        p_bad = None if verdict.judgement is None else round(verdict.judgement.p_bad, 4)
        return Judged(verdict.intervene, verdict.feedback, p_bad, by_pixels)

    def executed(self, observation: Observation, proposal: Proposal) -> None:
        self._earlier = observation.image
        self._guard.executed(proposal)
