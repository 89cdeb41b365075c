"""A trace judged again by another critic: what it would have said, and how far the two agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.gui.judgement import Critic, Judgement, sound
from foretell.gui.trace import Trace, read


@dataclass(frozen=True, eq=False)
class Again:
    """One proposal with its judgement in the trace and the new one; `fault` is why there is no new one.

    `objected` is whether it was objected to when it was traced, `sent_back` whether the agent had to revise it.
    """

    step: int
    revision: int
    before: Judgement | None
    now: Judgement | None
    fault: str = ""
    objected: bool = False
    sent_back: bool = False
    episode: int = 0


@dataclass(frozen=True, eq=False)
class Rescored:
    """All proposals of a trace, judged again; the new critic objects where P(bad) is above `threshold`.

    What the old one objected to is as the trace has it, under the threshold of that time.
    """

    critic: str
    threshold: float
    rounds: tuple[Again, ...]

    @property
    def judgements(self) -> list[Judgement | None]:
        return [one.now for one in self.rounds]

    def summary(self) -> Mapping[str, Any]:
        """How far the critics agree, over the proposals that both judged; shares are None where there are none."""
        both = [(one, one.before, one.now) for one in self.rounds if one.before is not None and one.now is not None]
        pairs = [(before.p_bad, now.p_bad) for _, before, now in both]
        objected = [(one.objected, now.p_bad > self.threshold) for one, _, now in both]
        same_error = [a.error == b.error for (_, a, b), (x, y) in zip(both, objected, strict=True) if x and y]
        return {
            "critic": self.critic,
            "threshold": self.threshold,
            "proposals": len(self.rounds),
            "judged_by_both": len(both),
            "faults": sum(1 for one in self.rounds if one.now is None),
            "agreement": _mean([float(a == b) for a, b in objected]),
            "objections_before": sum(a for a, _ in objected),
            "objections_now": sum(b for _, b in objected),
            "sent_back_before": sum(one.sent_back for one, _, _ in both),
            "same_error_where_both_object": _mean([float(same) for same in same_error]),
            "mean_p_bad_before": _mean([a for a, _ in pairs]),
            "mean_p_bad_now": _mean([b for _, b in pairs]),
            "mean_p_bad_apart": _mean([abs(a - b) for a, b in pairs]),
        }


def rescore(trace: Path | str | Trace, critic: Critic, threshold: float = 0.5) -> Rescored:
    """Judge every proposal of a trace with another critic. What the critic cannot judge is told, not raised.

    TraceError where the trace cannot be read, or has no pictures to judge by. Secrets are dots in a trace, so a critic
    sees dots there too.
    """
    told = trace if isinstance(trace, Trace) else read(trace)
    steps = [(number, step) for number, episode in enumerate(told.episodes) for step in episode.steps]
    found = []
    for number, step in steps:
        for revision, round_ in enumerate(step.rounds):
            observation = told.observation(step, round_)
            now, fault = None, ""
            try:
                now = sound(critic.judge(observation, round_.proposal, round_.history))
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
            before, objected, sent_back = round_.judgement, round_.objected, round_.intervened
            found.append(Again(step.step, revision, before, now, fault, objected, sent_back, number))
    return Rescored(critic.name, threshold, tuple(found))


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
