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
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar, cast

from foretell.gui.actions import ENDINGS, Action
from foretell.gui.claims import LOADING
from foretell.gui.dataset import action_to_dict
from foretell.gui.experts import is_small
from foretell.gui.guard_limits import Fault, Limits
from foretell.gui.history import STEPS_KEPT, Historian, History, Step, Updates, noted, screen_digest, text_for_prompt
from foretell.gui.judgement import Critic, Judgement, sound
from foretell.gui.observation import Observation, Pixels, Proposal, as_pixels
from foretell.gui.risk import EVIDENCE, RiskTier, is_final
from foretell.gui.secret_pieces import Pieces
from foretell.gui.secret_scope import Scope, within
from foretell.gui.secrets import (
    hidden_action,
    hidden_endings,
    hidden_goal,
    hidden_proposal,
    hidden_words,
    is_secret,
    looked_at,
    mentions_secret,
    told_secrets,
    typed_letters,
    typed_texts,
    types,
    types_into_password,
)
from foretell.gui.threshold import Threshold
from foretell.gui.trace import TraceWriter
from foretell.gui.trace_entry import proposed
from foretell.gui.veil import Veil, told
from foretell.gui.verdict import Mode, Reason, Verdict, feedback_for
from foretell.gui.worker import Busy, TooSlow, Worker

__all__ = ["Fault", "Guard", "Limits"]

FAULTS_KEPT = 100

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class _Pending:
    """What was executed on which screen, its effect not yet seen."""

    before: Pixels
    actions: tuple[Action, ...]
    intent: str | None
    step: int
    secret: bool  # it typed one


def _locked(method: F) -> F:
    """One call at a time: agents that share a guard between threads wait for each other."""

    @wraps(method)
    def call(guard: Guard, *positional: Any, **named: Any) -> Any:
        with guard._lock:
            return method(guard, *positional, **named)

    return cast(F, call)


class Guard:
    """Wraps an agent's loop for one episode after the other: a new goal, or `reset`, begins a new one.

    Without a `mode` it enforces on small pages like those that the bound on false interruptions was learnt on, and
    advises on all others. `threshold` is a `Threshold` that holds false interruptions under its bound, or a plain
    number. At most `revisions` are asked for in a step. Whatever fails inside (critic, historian, trace) is recorded in
    `faults` and the proposal passes: the guard raises nothing of theirs. Texts typed where intent or goal speak of a
    secret are dots in traces, feedback and `history`, and the agent's raw words are left out; the critic is shown what
    the agent proposes, and pictures are kept as they are. Irreversible actions have to clear `risk`, also where it only
    advises. Safe to share between threads, though an episode has one history: agents that work at the same time want a
    guard each.
    """

    def __init__(
        self,
        critic: Critic,
        historian: Updates | None = None,
        threshold: Threshold | float = 0.5,
        mode: Mode | None = None,
        revisions: int = 1,
        limits: Limits | None = None,
        trace: TraceWriter | None = None,
        risk: RiskTier | None = None,
    ) -> None:
        self._lock = threading.RLock()
        self.risk = risk or RiskTier()
        self.threshold = (
            threshold if isinstance(threshold, Threshold) else Threshold(float(threshold), bound=math.nan, n_good=0)
        )
        if math.isnan(self.threshold.value) or revisions < 0:
            raise ValueError("the threshold must be a number and the revisions not negative")
        self._asked_mode = None if mode is None else Mode(mode)
        self.mode = self._asked_mode or Mode.ENFORCE
        self.revisions, self.limits = revisions, limits or Limits()
        self.faults: deque[Fault] = deque(maxlen=FAULTS_KEPT)
        self._critic, self._historian, self._trace = critic, historian or Historian(), trace
        self._judging, self._telling = Worker("critic"), Worker("historian")
        self.reset()

    @_locked
    def reset(self) -> None:
        """Begin a new episode: nothing is known, nothing was done."""
        self.history = History()
        self._goal: str | None = None
        self._step = 0
        self._revision = 0
        self._begun = False
        self._secret = False
        self._advice = ""
        self._held: deque[tuple[int, tuple[Action, ...], str | None]] = deque(maxlen=STEPS_KEPT)
        self._proposed: Proposal | None = None
        self._seen: Pixels | None = None
        self._pending: _Pending | None = None
        self._earlier: Pixels | None = None
        self._veil, self._told = Veil(), Veil()  # all secrets of the episode; those that the goal itself tells
        self._hinted = Veil()  # what the agent's raw words tell: a secret once it is typed
        self._pieces, self._spoken = Pieces(), False
        self._spelling = False  # whether a secret is being typed key by key
        self._real: deque[tuple[Action, str | None]] = deque(maxlen=STEPS_KEPT)
        self._tokens_before = self._tokens()

    @_locked
    def before_action(self, observation: Observation) -> str:
        """Text for the agent's prompt: what was achieved, what the last action did, and advice where there is any."""
        self._enter(observation)
        self._catch_up(observation.image, observation.settled)
        parts = [self._veil(text_for_prompt(self.history)), self._advice]
        self._advice = ""
        return "\n\n".join(part for part in parts if part)

    @_locked
    def after_proposal(self, observation: Observation, proposal: Proposal, secret: bool = False) -> Verdict:
        """Judge a proposal before it is executed. `secret`, or its own, says that what it types must not be seen."""
        self._enter(observation)
        self._catch_up(observation.image, observation.settled)
        proposal = looked_at(proposal)
        self._proposed, self._seen = proposal, observation.image
        self._secret = secret or proposal.secret or types_into_password(proposal, observation.evidence)
        self._learn_secrets(proposal)
        began_s = time.monotonic()
        judgement, failed, note = self._judge(observation, proposal)
        verdict = self._verdict(judgement, failed, note, observation, proposal)
        self._record_proposal(observation, proposal, verdict, time.monotonic() - began_s)
        return verdict

    @_locked
    def executed(self, done: Action | Proposal, secret: bool = False) -> None:
        """Tell what was really executed; its effect is read off the next screen that the guard is shown."""
        if isinstance(done, Action):
            proposed = self._proposed if self._proposed is not None and done in self._proposed.actions else Proposal(())
            done = replace(proposed, actions=(done,))
        done = looked_at(done)
        self._secret = self._secret or secret or done.secret
        self._learn_secrets(done)
        is_secret_step = self._is_secret(done)
        actions = self._as_remembered(done)
        self._pieces = self._pieces.after(done.actions)
        letters = any(map(typed_letters, done.actions))
        self._spelling = not self._pieces.begins and (self._spelling or (is_secret_step and letters))
        intent = done.intent
        if intent is not None:
            intent = self._veil(hidden_words(intent) if is_secret_step else intent)
        if actions and self._seen is not None:
            self._pending = _Pending(self._seen, actions, intent, self._step, types(done) and is_secret_step)
            self._real.extend((action, done.intent) for action in done.actions)
        self._write("executed", {"step": self._step, "actions": [*map(action_to_dict, actions)], "intent": intent})
        self._revision, self._proposed = 0, None

    @_locked
    def finished(self, image: Pixels | None = None, **outcome: Any) -> None:
        """End the episode: the last action's effect is read off `image`, and the outcome goes into the trace."""
        if image is not None:
            try:
                self._catch_up(as_pixels(image))
            except ValueError as error:
                self._fault("historian", error)
        shown = told(outcome, lambda text: hidden_goal(self._veil(text)), names=True)
        self._write("end", {"step": self._step, "outcome": shown, "count": self.history.count})

    def _enter(self, observation: Observation) -> None:
        if self._goal is not None and (observation.goal != self._goal or observation.step < self._step):
            self.reset()
        if observation.step != self._step:
            self._revision = 0  # also where a proposal that was stopped has been dropped
        if self._goal is None and mentions_secret(observation.goal):
            found = told_secrets(observation.goal)
            self._spoken = True
            self._told.add(found)
            self._veil.add(found)
        self._goal, self._step = observation.goal, observation.step
        self.mode = self._asked_mode or (Mode.ENFORCE if is_small(observation.size) else Mode.ADVISE)
        self._seen = observation.image if self._pending is None else self._seen

    def _catch_up(self, after: Pixels, settled: bool | None = None) -> None:
        """Update the history with what was executed since the last screen, which may not have come to rest yet."""
        done = self._pending
        if done is None:
            return
        self._pending, self._seen = None, after
        self._earlier = done.before if done.before.size else None  # nothing can be compared with an empty screen
        *earlier, last = done.actions
        history, digest = self.history, screen_digest(done.before)
        for action in earlier:
            history = noted(history, Step(action, digest, changed=True, intent=done.intent))
        historian, scope = self._affordable(), Scope(self._veil, done.secret, self.history)

        def update() -> History:
            with within(scope):
                return historian.update(history, done.before, after, last, done.intent)

        try:
            updated = self._telling.run(update, self.limits.history_s)
            if not isinstance(updated, History):
                raise TypeError(f"the historian gave no history but {type(updated).__name__}")
        except Exception as error:
            self._fault("historian", error)
            updated = noted(replace(history, effect=""), Step(last, digest, changed=True, intent=done.intent))
        if settled is False and LOADING not in updated.effect:
            updated = replace(updated, effect="; ".join(part for part in (updated.effect, LOADING) if part))
        self.history = updated
        data = {"step": done.step, "effect": updated.effect, "achieved": list(updated.achieved)}
        self._write("effect", data, {"after": after})

    def _judge(self, observation: Observation, proposal: Proposal) -> tuple[Judgement | None, Reason | None, str]:
        if min(observation.size) < 1:
            width, height = observation.size
            return (
                None,
                Reason.FAILED,
                self._fault("critic", ValueError(f"the screenshot is empty ({width} x {height})")),
            )
        if self._is_spent():
            return None, Reason.OVER_BUDGET, f"the {self.limits.tokens} tokens of this episode are spent"
        history = self._as_it_was()
        if observation.earlier is None:
            observation = replace(observation, earlier=self._earlier)
        scope = Scope(self._veil, types(proposal) and self._is_secret(proposal), self.history)

        def judge() -> Judgement:
            with within(scope):
                return self._critic.judge(observation, proposal, history)

        try:
            found = sound(self._judging.run(judge, self.limits.judgement_s))
            return replace(found, explanation=self._unspelled(found.explanation, proposal)), None, ""
        except TooSlow as error:
            return None, Reason.TIMED_OUT, self._fault("critic", error)
        except Busy as error:
            return None, Reason.BUSY, self._fault("critic", error)
        except Exception as error:
            return None, Reason.FAILED, self._fault("critic", error)

    def _unspelled(self, explanation: str, proposal: Proposal) -> str:
        """What a critic says of a proposal, without secrets and without the keys by which one is typed."""
        letters = Veil(least=1)
        if self._is_secret(proposal):
            letters.add(letter for action in proposal.actions for letter in typed_letters(action))
        return letters(self._veil(explanation))

    def _as_it_was(self) -> History:
        """The history with what was really typed: the critic is shown it, and nobody else."""
        known = list(self._real)[-len(self.history.steps) :] if self.history.steps else []
        if len(known) != len(self.history.steps):
            return self.history
        pairs = zip(self.history.steps, known, strict=True)
        return replace(self.history, steps=tuple(replace(s, action=a, intent=i) for s, (a, i) in pairs))

    def _verdict(
        self,
        judgement: Judgement | None,
        failed: Reason | None,
        note: str,
        observation: Observation,
        proposal: Proposal,
    ) -> Verdict:
        if judgement is None or failed is not None:
            return self._unjudged(failed or Reason.FAILED, note, observation, proposal)
        sort = proposal.sort_of(judgement.action)
        doubted = self.threshold.cleared_by(judgement.p_bad, sort, bool(proposal.intent), judgement.model)
        final = EVIDENCE in judgement.evidence or is_final(proposal, observation.evidence)
        risky = final and judgement.p_bad > self.risk.most_p_bad
        if not doubted and not risky:
            return Verdict(judgement, False, "", self._revision, Reason.FINE)
        held = risky and self.mode is not Mode.SHADOW
        if held and self._confirmed(observation, proposal):
            return Verdict(judgement, False, "", self._revision, Reason.FINE, "confirmed")
        insists = self._insists(proposal)
        named = doubted and not judgement.advice  # a score without a reason does not outweigh an agent that insists
        stays_closed = held and (named or self.risk.confirm is not None or not insists)
        if self._revision >= self.revisions and not stays_closed:
            return Verdict(judgement, False, "", self._revision, Reason.QUIET)
        self._revision += 1
        if held:
            self._held.append((self._step, proposal.actions, proposal.intent))
        reason = Reason.DOUBTED if doubted else Reason.UNCONFIRMED
        if self.mode is Mode.SHADOW:
            return Verdict(judgement, False, "", self._revision, reason)
        enforced = self.mode is Mode.ENFORCE and not judgement.advice
        stopped = held or enforced or not proposal.actions  # where nothing can be executed, nothing is
        feedback = self._veil(feedback_for(judgement, proposal, stopped, final, doubted))
        if not stopped:
            self._advice = feedback
        return Verdict(judgement, stopped, feedback, self._revision, reason)

    def _unjudged(self, reason: Reason, note: str, observation: Observation, proposal: Proposal) -> Verdict:
        """What nobody judged passes; an irreversible action only with a confirmation, where one can be asked for."""
        asks = self.mode is not Mode.SHADOW and self.risk.confirm is not None
        asks = asks and is_final(proposal, observation.evidence)
        if asks and not self._confirmed(observation, proposal):
            self._revision += 1
            feedback = (
                "This action cannot be taken back. It could not be checked, was not confirmed, and is not executed."
            )
            return Verdict(None, True, feedback, self._revision, Reason.UNCONFIRMED, note)
        return Verdict(None, False, "", self._revision, reason, note)

    def _insists(self, proposal: Proposal) -> bool:
        """Whether this very proposal was held back in this step before: the same actions, with the same intent."""
        if not self._revision:  # nothing was held since the last action was executed
            self._held.clear()
        return (self._step, proposal.actions, proposal.intent) in self._held

    def _confirmed(self, observation: Observation, proposal: Proposal) -> bool:
        """Whether whoever is responsible says yes; nobody to ask, or a failure to ask, is no confirmation."""
        if self.risk.confirm is None:
            return False
        try:
            return bool(self.risk.confirm(observation, proposal))
        except Exception as error:
            self._fault("confirm", error)
            return False

    def _tokens(self) -> int:
        """Tokens that the critic and the historian say they have spent."""
        totals = [getattr(part, "totals", None) for part in (self._critic, self._historian)]
        return sum(int(getattr(one, "tokens", None) or 0) for one in totals)

    def _is_spent(self) -> bool:
        return self.limits.tokens is not None and self._tokens() - self._tokens_before >= self.limits.tokens

    def _affordable(self) -> Updates:
        """The historian, or the embedded one where it asks a model and the tokens are spent."""
        if not hasattr(self._historian, "totals") or not self._is_spent():
            return self._historian
        embedded = getattr(self._historian, "embedded", None)
        return embedded if isinstance(embedded, Historian) else Historian()

    def _is_secret(self, proposal: Proposal) -> bool:
        hinted = any(text in self._hinted for text in typed_texts(proposal))
        return self._secret or hinted or self._spells_on(proposal) or is_secret(proposal, self._goal)

    def _spells_on(self, proposal: Proposal) -> bool:
        """Whether a proposal goes on typing the letters of a secret of which an earlier intent spoke."""
        return self._spelling and any(map(typed_letters, proposal.actions))

    def _learn_secrets(self, proposal: Proposal) -> None:
        if mentions_secret(proposal.raw):
            self._hinted.add(told_secrets(proposal.raw))
        secret = self._is_secret(proposal)
        self._spoken = self._spoken or secret
        if secret:
            self._veil.add((*typed_texts(proposal), *told_secrets(proposal.intent or "")))
        endings = (action.text or "" for action in proposal.actions if action.kind in ENDINGS)
        self._veil.add(one for text in endings if mentions_secret(text) for one in told_secrets(text))
        if types(proposal):
            joined = tuple(self._pieces.after(proposal.actions).joined())
            self._veil.add(one for one in joined if self._spoken or one in self._hinted or mentions_secret(one))

    def _as_remembered(self, done: Proposal) -> tuple[Action, ...]:
        """Executed actions as history and trace may show them.

        With an intent that speaks of no secret, the goal's own mention is about another field; of single letters that
        cannot be told.
        """
        own = self._secret or self._spells_on(done) or is_secret(done, None)
        in_goal = own or is_secret(done, self._goal)
        shown = []
        for action in hidden_endings(done).actions:
            text = action.text
            hides = in_goal if done.intent is None or typed_letters(action) else own
            told_before = text is not None and (text in self._hinted or self._told(text) != text)
            shown.append(hidden_action(action) if hides or told_before else action)
        return tuple(shown)

    def _fault(self, where: str, error: Exception) -> str:
        message = self._veil(str(error) or type(error).__name__)
        self.faults.append(Fault(where, f"{type(error).__name__}: {message}", self._step))
        if where != "trace":
            self._write("fault", {"step": self._step, "where": where, "message": message})
        return message

    def _record_proposal(self, observation: Observation, proposal: Proposal, verdict: Verdict, seconds: float) -> None:
        if self._trace is None:
            return
        try:
            data = self._recorded(observation, proposal, verdict, seconds)
            drawn = {} if verdict.judgement is None else dict(verdict.judgement.images)
        except Exception as error:
            self._fault("trace", error)
            return
        self._write("proposed", data, {"before": observation.image, **drawn})

    def _recorded(
        self, observation: Observation, proposal: Proposal, verdict: Verdict, seconds: float
    ) -> Mapping[str, Any]:
        judgement = verdict.judgement
        sort = proposal.sort if judgement is None else proposal.sort_of(judgement.action)
        limit = self.threshold.of(sort, bool(proposal.intent), "" if judgement is None else judgement.model)
        shown, letters = hidden_endings(proposal), Veil(least=1)
        if self._is_secret(proposal) or any(text in self._veil for text in typed_texts(proposal)):
            shown = hidden_proposal(proposal)
            letters.add(letter for action in proposal.actions for letter in typed_letters(action))
        if self._trace is None or not self._trace.raw or self._spoken or mentions_secret(proposal.raw):
            shown = replace(shown, raw="")
        asked = replace(observation, goal=hidden_goal(observation.goal))
        critic = str(getattr(self._critic, "name", type(self._critic).__name__))
        return proposed(asked, shown, self.history, critic, verdict, self.mode, limit, letters) | {
            "seconds": round(seconds, 4)
        }

    def _write(self, event: str, data: Mapping[str, Any], pictures: Mapping[str, Pixels] | None = None) -> None:
        if self._trace is None:
            return
        if not self._begun:
            self._begun = True
            self._write("start", {"goal": None if self._goal is None else hidden_goal(self._goal)})
        try:
            self._trace.append(event, self._veil.data(data), pictures)
        except Exception as error:
            self._fault("trace", error)
