"""The guard around any agent's loop: tells what was achieved, judges what is proposed, and mostly stays quiet.

guard = Guard(critic, historian, threshold)
while not done:
    observation = look()
    prompt = goal + guard.before_action(observation)
    proposal = agent(prompt)
    verdict = guard.after_proposal(observation, proposal)
    if verdict.intervene:
        proposal = agent(prompt + verdict.feedback)
        guard.after_proposal(observation, proposal)
    execute(proposal)
    guard.executed(proposal)
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from foretell.gui.actions import Action
from foretell.gui.dataset import history_to_dict, proposal_to_dict
from foretell.gui.history import STEPS_KEPT, Historian, History, Step, Updates, noted, screen_digest, text_for_prompt
from foretell.gui.judgement import Critic, Judgement
from foretell.gui.observation import Observation, Pixels, Proposal, Sort
from foretell.gui.secrets import Veil, hidden_action, hidden_goal, mentions_secret, typed_texts
from foretell.gui.threshold import Threshold
from foretell.gui.trace import TraceWriter
from foretell.gui.verdict import Mode, Reason, Verdict, feedback_for, judgement_to_dict
from foretell.gui.worker import Busy, TooSlow, Worker

FAULTS_KEPT = 100


@dataclass(frozen=True)
class Limits:
    """What one judgement and one update of the history may take, and the tokens that an episode may cost in all.

    Tokens are counted by critics and historians that have `totals.tokens`, as those do that ask a language model.
    """

    judgement_s: float = 10.0
    history_s: float = 10.0
    tokens: int | None = None


@dataclass(frozen=True)
class Fault:
    """A failure of the guard's own parts, which never reaches the agent. `where` is critic, historian or trace."""

    where: str
    message: str
    step: int


@dataclass(frozen=True, eq=False)
class _Pending:
    """What was executed on which screen, its effect not yet seen."""

    before: Pixels
    actions: tuple[Action, ...]
    intent: str | None
    step: int


class Guard:
    """Wraps an agent's loop for one episode after the other: a new goal, or `reset`, begins a new one.

    `threshold` is a `Threshold` that holds false interruptions under its bound, or a plain number. At most `revisions`
    are asked for in a step. Whatever fails inside (critic, historian, trace) is recorded in `faults` and the proposal
    passes: the guard raises nothing of theirs. Texts typed where intent or goal speak of a secret are dots in traces,
    feedback and `history`; the critic is shown what the agent proposes, and pictures are kept as they are.
    """

    def __init__(
        self,
        critic: Critic,
        historian: Updates | None = None,
        threshold: Threshold | float = 0.5,
        mode: Mode = Mode.ENFORCE,
        revisions: int = 1,
        limits: Limits | None = None,
        trace: TraceWriter | None = None,
    ) -> None:
        self.threshold = (
            threshold if isinstance(threshold, Threshold) else Threshold(float(threshold), bound=math.nan, n_good=0)
        )
        if math.isnan(self.threshold.value) or revisions < 0:
            raise ValueError("the threshold must be a number and the revisions not negative")
        self.mode, self.revisions, self.limits = Mode(mode), revisions, limits or Limits()
        self.faults: deque[Fault] = deque(maxlen=FAULTS_KEPT)
        self._critic, self._historian, self._trace = critic, historian or Historian(), trace
        self._judging, self._telling = Worker("critic"), Worker("historian")
        self.reset()

    def reset(self) -> None:
        """Begin a new episode: nothing is known, nothing was done."""
        self.history = History()
        self._goal: str | None = None
        self._step = 0
        self._revision = 0
        self._advice = ""
        self._proposed: Proposal | None = None
        self._seen: Pixels | None = None
        self._pending: _Pending | None = None
        self._veil = Veil()
        self._real: deque[tuple[Action, str | None]] = deque(maxlen=STEPS_KEPT)
        self._tokens_before = self._tokens()

    def before_action(self, observation: Observation) -> str:
        """Text for the agent's prompt: what was achieved, what the last action did, and advice where there is any."""
        self._enter(observation)
        self._catch_up(observation.image)
        parts = [text_for_prompt(self.history), self._advice]
        self._advice = ""
        return "\n\n".join(part for part in parts if part)

    def after_proposal(self, observation: Observation, proposal: Proposal, secret: bool = False) -> Verdict:
        """Judge a proposal before it is executed. `secret` says that what it types must not be seen."""
        self._enter(observation)
        self._catch_up(observation.image)
        self._proposed, self._seen = proposal, observation.image
        if secret or mentions_secret(proposal.intent, observation.goal):
            self._veil.add(typed_texts(proposal))
        began_s = time.monotonic()
        judgement, failed, note = self._judge(observation, proposal)
        verdict = self._verdict(judgement, failed, note, proposal.sort)
        self._record_proposal(observation, proposal, verdict, time.monotonic() - began_s)
        return verdict

    def executed(self, done: Action | Proposal, secret: bool = False) -> None:
        """Tell what was really executed; its effect is read off the next screen that the guard is shown."""
        actions, intent = (done.actions, done.intent) if isinstance(done, Proposal) else ((done,), None)
        if isinstance(done, Action) and self._proposed is not None and done in self._proposed.actions:
            intent = self._proposed.intent
        if secret or mentions_secret(intent, self._goal):
            self._veil.add(typed_texts(Proposal(actions, intent)))
        real = tuple((action, intent) for action in actions)
        # With an intent that speaks of no secret, the goal's own mention is about another field.
        if secret or mentions_secret(intent if intent is not None else self._goal):
            actions = tuple(hidden_action(action) for action in actions)
        if actions and self._seen is not None:
            self._pending = _Pending(self._seen, actions, None if intent is None else self._veil(intent), self._step)
            self._real.extend(real)
        self._write("executed", {"step": self._step, "actions": [a.to_dict() for a in actions], "intent": intent})
        self._revision, self._proposed = 0, None

    def finished(self, image: Pixels | None = None, **outcome: Any) -> None:
        """End the episode: the last action's effect is read off `image`, and the outcome goes into the trace."""
        if image is not None:
            self._catch_up(image)
        self._write("end", {"step": self._step, "outcome": outcome, "count": self.history.count})

    def _enter(self, observation: Observation) -> None:
        if self._goal is not None and (observation.goal != self._goal or observation.step < self._step):
            self.reset()
        self._goal, self._step = observation.goal, observation.step
        self._seen = observation.image if self._pending is None else self._seen

    def _catch_up(self, after: Pixels) -> None:
        """Update the history with what was executed since the last screen."""
        done = self._pending
        if done is None:
            return
        self._pending, self._seen = None, after
        *earlier, last = done.actions
        history, digest = self.history, screen_digest(done.before)
        for action in earlier:
            history = noted(history, Step(action, digest, changed=True, intent=done.intent))
        try:
            told = self._telling.run(
                lambda: self._historian.update(history, done.before, after, last, done.intent), self.limits.history_s
            )
        except Exception as error:
            self._fault("historian", error)
            told = noted(replace(history, effect=""), Step(last, digest, changed=True, intent=done.intent))
        self.history = told
        data = {"step": done.step, "effect": told.effect, "achieved": list(told.achieved)}
        self._write("effect", data, {"after": after})

    def _judge(self, observation: Observation, proposal: Proposal) -> tuple[Judgement | None, Reason | None, str]:
        limit = self.limits.tokens
        if limit is not None and self._tokens() - self._tokens_before >= limit:
            return None, Reason.OVER_BUDGET, f"the {limit} tokens of this episode are spent"
        history = self._as_it_was()
        try:
            found = self._judging.run(
                lambda: self._critic.judge(observation, proposal, history), self.limits.judgement_s
            )
            if not 0.0 <= found.p_bad <= 1.0:
                raise ValueError(f"P(bad) must lie in 0 to 1, got {found.p_bad!r}")
            return replace(found, explanation=self._veil(found.explanation)), None, ""
        except TooSlow as error:
            return None, Reason.TIMED_OUT, self._fault("critic", error)
        except Busy as error:
            return None, Reason.BUSY, self._fault("critic", error)
        except Exception as error:
            return None, Reason.FAILED, self._fault("critic", error)

    def _as_it_was(self) -> History:
        """The history with what was really typed: the critic is shown it, and nobody else."""
        known = list(self._real)[-len(self.history.steps) :] if self.history.steps else []
        if len(known) != len(self.history.steps):
            return self.history
        pairs = zip(self.history.steps, known, strict=True)
        return replace(self.history, steps=tuple(replace(s, action=a, intent=i) for s, (a, i) in pairs))

    def _verdict(self, judgement: Judgement | None, failed: Reason | None, note: str, sort: Sort) -> Verdict:
        if judgement is None or failed is not None:
            return Verdict(None, False, "", self._revision, failed or Reason.FAILED, note)
        if not self.threshold.cleared_by(judgement.p_bad, sort):
            return Verdict(judgement, False, "", self._revision, Reason.FINE)
        if self._revision >= self.revisions:
            return Verdict(judgement, False, "", self._revision, Reason.QUIET)
        self._revision += 1
        if self.mode is Mode.SHADOW:
            return Verdict(judgement, False, "", self._revision, Reason.DOUBTED)
        feedback = self._veil(feedback_for(judgement, self.mode))
        if self.mode is Mode.ADVISE:
            self._advice = feedback
        return Verdict(judgement, self.mode is Mode.ENFORCE, feedback, self._revision, Reason.DOUBTED)

    def _tokens(self) -> int:
        """Tokens that the critic and the historian say they have spent."""
        totals = [getattr(part, "totals", None) for part in (self._critic, self._historian)]
        return sum(int(getattr(one, "tokens", 0)) for one in totals)

    def _fault(self, where: str, error: Exception) -> str:
        message = self._veil(str(error) or type(error).__name__)
        self.faults.append(Fault(where, f"{type(error).__name__}: {message}", self._step))
        if where != "trace":
            self._write("fault", {"step": self._step, "where": where, "message": message})
        return message

    def _record_proposal(self, observation: Observation, proposal: Proposal, verdict: Verdict, seconds: float) -> None:
        if self._trace is None:
            return
        judgement = verdict.judgement
        limit = self.threshold.of(proposal.sort)
        shown = proposal
        if any(text in self._veil for text in typed_texts(proposal)):
            shown = replace(proposal, actions=tuple(hidden_action(action) for action in proposal.actions))
        data = {
            "step": observation.step,
            "goal": hidden_goal(observation.goal),
            "platform": observation.platform,
            "proposal": proposal_to_dict(shown),
            "history": history_to_dict(self.history),
            "critic": self._critic.name,
            "judgement": None if judgement is None else judgement_to_dict(judgement),
            "verdict": {
                "intervene": verdict.intervene,
                "feedback": verdict.feedback,
                "revision": verdict.revision,
                "reason": verdict.reason.value,
                "note": verdict.note,
                "mode": self.mode.value,
                "threshold": limit if math.isfinite(limit) else None,
            },
            "seconds": round(seconds, 4),
        }
        pictures = {} if judgement is None else dict(judgement.images)
        self._write("proposed", data, {"before": observation.image, **pictures})

    def _write(self, event: str, data: Mapping[str, Any], pictures: Mapping[str, Pixels] | None = None) -> None:
        if self._trace is None:
            return
        try:
            self._trace.append(event, self._veil.data(data), pictures)
        except Exception as error:
            self._fault("trace", error)
