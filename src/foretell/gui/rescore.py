"""A trace judged again by another critic: what it would have said, and how far the two agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foretell.gui.claims import DOTS
from foretell.gui.judgement import Critic, Judgement, sound
from foretell.gui.observation import Observation
from foretell.gui.threshold import Threshold
from foretell.gui.trace import Round, Trace, read


@dataclass(frozen=True, eq=False)
class Again:
    """One proposal with its judgement in the trace and the new one; `fault` is why there is no new one.

    `objected` is whether it was objected to when it was traced, `sent_back` whether the agent had to revise it. The
    thresholds are those that P(bad) had to clear then and has to clear now; infinite if nothing is ever objected to.
    `redacted` says that the trace has dots in place of secrets that the first critic saw.
    """

    step: int
    revision: int
    before: Judgement | None
    now: Judgement | None
    fault: str = ""
    objected: bool = False
    sent_back: bool = False
    episode: int = 0
    threshold_before: float = math.inf
    threshold_now: float = math.inf
    redacted: bool = False

    @property
    def objects(self) -> bool:
        """Whether the new critic objects."""
        return self.now is not None and self.now.p_bad > self.threshold_now


@dataclass(frozen=True, eq=False)
class Rescored:
    """All proposals of a trace, judged again by `critic`; `before` names the critics of the trace."""

    critic: str
    rounds: tuple[Again, ...]
    before: tuple[str, ...] = ()

    @property
    def judgements(self) -> list[Judgement | None]:
        return [one.now for one in self.rounds]

    def summary(self) -> Mapping[str, Any]:
        """Objections of both critics over all proposals, and their agreement over those that both judged.

        Means are None if there is nothing to average.
        """
        both = [(one, one.before, one.now) for one in self.rounds if one.before is not None and one.now is not None]
        pairs = [(before.p_bad, now.p_bad) for _, before, now in both]
        same_error = [before.error == now.error for one, before, now in both if one.objected and one.objects]
        return {
            "critic": self.critic,
            "critics_before": list(self.before),
            "proposals": len(self.rounds),
            "judged_by_both": len(both),
            "faults": sum(1 for one in self.rounds if one.now is None),
            "redacted": sum(one.redacted for one in self.rounds),
            "agreed": sum(one.objected == one.objects for one, _, _ in both),
            "agreement": _mean([float(one.objected == one.objects) for one, _, _ in both]),
            "objections_before": sum(one.objected for one in self.rounds),
            "objections_now": sum(one.objects for one in self.rounds),
            "sent_back_before": sum(one.sent_back for one in self.rounds),
            "same_error_where_both_object": _mean([float(same) for same in same_error]),
            "mean_p_bad_before": _mean([a for a, _ in pairs]),
            "mean_p_bad_now": _mean([b for _, b in pairs]),
            "mean_p_bad_apart": _mean([abs(a - b) for a, b in pairs]),
        }


def rescore(trace: Path | str | Trace, critic: Critic, threshold: Threshold | float | None = None) -> Rescored:
    """Judge every proposal of a trace with another critic. What it cannot judge is recorded, not raised.

    Args:
        trace: The trace or its folder. Secrets are dots in a trace, so a critic sees dots there too.
        critic: The critic that judges now.
        threshold: What P(bad) has to clear now; None for what it had to clear in the trace, proposal by proposal.

    Raises:
        TraceError: The trace cannot be read, or has no pictures to judge by.
    """
    recorded = trace if isinstance(trace, Trace) else read(trace)
    steps = [(number, step) for number, episode in enumerate(recorded.episodes) for step in episode.steps]
    rounds = []
    last: tuple[str, Observation] | None = None  # many proposals may have one picture, which is read once then
    for number, step in steps:
        for revision, round_ in enumerate(step.rounds):
            name = round_.images.get("before", "")
            if last is None or name != last[0]:
                last = name, recorded.observation(step, round_)
            platform: Any = step.platform
            observation = replace(last[1], goal=step.goal, step=step.step, platform=platform)
            now, fault = None, ""
            try:
                now = sound(critic.judge(observation, round_.proposal, round_.history))
                now = replace(now, images={})  # they would keep every screen
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
            before = _recorded_threshold(round_)
            rounds.append(
                Again(
                    step.step,
                    revision,
                    round_.judgement,
                    now,
                    fault,
                    round_.objected,
                    round_.intervened,
                    number,
                    before,
                    before if threshold is None else _threshold(threshold, round_, now),
                    _is_redacted(step.goal, round_),
                )
            )
    return Rescored(critic.name, tuple(rounds), critics_of(recorded))


def critics_of(trace: Trace) -> tuple[str, ...]:
    """The names of the critics that judged in a trace, each once."""
    return tuple(dict.fromkeys(round_.critic for step in trace.steps for round_ in step.rounds))


def _recorded_threshold(round_: Round) -> float:
    value = round_.verdict.get("threshold")
    return math.inf if value is None else float(value)


def _threshold(threshold: Threshold | float, round_: Round, now: Judgement | None) -> float:
    if not isinstance(threshold, Threshold):
        return threshold
    return threshold.of(round_.proposal.sort, bool(round_.proposal.intent), "" if now is None else now.model)


def _is_redacted(goal: str, round_: Round) -> bool:
    actions = (*round_.proposal.actions, *(step.action for step in round_.history.steps))
    return any(DOTS in (text or "") for text in (goal, round_.proposal.intent, *(one.text for one in actions)))


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
