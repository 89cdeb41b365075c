"""The page of guarded episodes: each step's picture, proposal, verdict and effect, as one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from foretell.gui.actions import Action, Kind
from foretell.gui.observation import Proposal
from foretell.gui.trace import Round, Trace, TraceStep, read
from foretell.received import inside, read_plain
from foretell.report.numbers import count
from foretell.report.write import write_whole

_SAID = {
    "fine": "passed",
    "quiet": "passed: already revised once in this step",
    "failed": "passed unjudged: the critic failed",
    "timed_out": "passed unjudged: the critic took too long",
    "busy": "passed unjudged: the critic was busy",
    "over_budget": "passed unjudged: out of tokens",
}
MOST_PICTURE_BYTES = 256 << 20
_OBJECTIONS = ("doubted", "unconfirmed")
_WITH_ADVICE = "passed, with advice"  # also where a guard enforces: its doubt rests on a learned score alone
_PASSED = {"advise": _WITH_ADVICE, "enforce": _WITH_ADVICE, "shadow": "passed: would have been sent back"}


@dataclass(frozen=True)
class ProposalView:
    """One proposal as the page shows it. `p_bad` and `threshold` are percent of the bar's width."""

    words: str
    intent: str
    picture: str
    crop: str
    judged: bool
    p_bad: float
    threshold: float | None
    chance: str
    error: str
    explanation: str
    verdict: str
    objected: bool
    feedback: str
    note: str
    took: str


@dataclass(frozen=True)
class StepView:
    """One step as the page shows it; `shade` is the class of its mark in the strip at the top, `key` its anchor."""

    key: str
    number: int
    shade: str
    proposals: tuple[ProposalView, ...]
    executed: str
    effect: str
    achieved: tuple[str, ...]
    after: str


@dataclass(frozen=True)
class EpisodeView:
    """One episode as the page shows it."""

    goal: str
    outcome: str
    steps: tuple[StepView, ...]


def action_words(action: Action) -> str:
    """An action in a few words: its kind, where, and what."""
    words = [action.kind.value.replace("_", " ")]
    if action.point is not None:
        words.append(f"at ({action.point.x:.0f}, {action.point.y:.0f})")
    if action.to is not None:
        words.append(f"to ({action.to.x:.0f}, {action.to.y:.0f})")
    if action.text is not None:
        words.append(f"‘{action.text}’")
    if action.keys:
        words.append(" + ".join(action.keys))
    if action.kind is Kind.SCROLL:
        words.append(f"by ({action.dx:.0f}, {action.dy:.0f})")
    return " ".join(words)


def proposal_words(proposal: Proposal) -> str:
    if proposal.fault is not None:
        return f"unreadable: {proposal.fault}"
    return ", then ".join(action_words(action) for action in proposal.actions) or "nothing"


def episodes_of(trace: Trace) -> list[EpisodeView]:
    """What the page shows of each episode."""
    pictures = Pictures(trace)
    return [
        EpisodeView(one.goal, _outcome(one.outcome), tuple(steps_of(trace, number, pictures)))
        for number, one in enumerate(trace.episodes)
    ]


def steps_of(trace: Trace, number: int = 0, pictures: Pictures | None = None) -> list[StepView]:
    """What the page shows of each step of an episode."""
    pictures = pictures or Pictures(trace)
    steps = trace.episodes[number].steps
    before = sum(len(one.steps) for one in trace.episodes[:number])
    found = []
    for at, step in enumerate(steps, 1):
        proposals = tuple(_proposal(pictures, round_) for round_ in step.rounds)
        last = at == len(steps)
        found.append(
            StepView(
                key=str(before + at),
                number=step.step + 1,
                shade=_shade(step),
                proposals=proposals,
                executed=", then ".join(map(action_words, step.executed or ())),
                effect=step.effect,
                achieved=step.achieved,
                after=pictures(step.after) if last else "",
            )
        )
    return found


def _shade(step: TraceStep) -> str:
    if any(one.intervened for one in step.rounds):
        return "objected"
    return "unjudged" if any(one.judgement is None for one in step.rounds) else "passed"


def _proposal(pictures: Pictures, round_: Round) -> ProposalView:
    verdict, judged = round_.verdict, round_.judgement
    reason, mode = str(verdict.get("reason", "")), str(verdict.get("mode", ""))
    said = _SAID.get(reason, reason)
    if reason in _OBJECTIONS:
        said = "sent back" if round_.intervened else _PASSED.get(mode, reason)
    threshold = verdict.get("threshold")
    error = judged.error if judged is not None else None
    return ProposalView(
        words=proposal_words(round_.proposal),
        intent=round_.proposal.intent or "",
        picture=pictures(_marked(round_.images)),
        crop=pictures(round_.images.get("crop")),
        judged=judged is not None,
        p_bad=0.0 if judged is None else 100.0 * judged.p_bad,
        threshold=None if threshold is None else min(100.0, 100.0 * float(threshold)),
        chance="" if judged is None else f"{judged.p_bad:.0%}",
        error="" if error is None else error.value,
        explanation="" if judged is None else judged.explanation,
        verdict=said,
        objected=reason in _OBJECTIONS,
        feedback=str(verdict.get("feedback", "")),
        note=str(verdict.get("note", "")),
        took=f"{1000.0 * round_.seconds:.0f} ms",
    )


def _marked(images: Mapping[str, str]) -> str | None:
    """The screen with the proposal drawn on it, under the names that critics give it, or as it was."""
    return next((images[name] for name in ("marked", "screen", "before") if name in images), None)


class Pictures:
    """The pictures of a trace as data URIs: as many as a page can hold."""

    def __init__(self, trace: Trace) -> None:
        self._folder, self._left = trace.folder, MOST_PICTURE_BYTES

    def __call__(self, name: str | None) -> str:
        """The picture as a data URI; nothing where there is none, or the page is full."""
        path = inside(self._folder, name) if name else None
        if path is None or not path.is_file():
            return ""
        self._left -= path.stat().st_size
        if self._left < 0:
            return ""
        return f"data:image/png;base64,{base64.b64encode(read_plain(path)).decode()}"


def _figures(trace: Trace) -> list[tuple[str, str, str]]:
    rounds = [one for step in trace.steps for one in step.rounds]
    objected = sum(one.verdict.get("reason") == "doubted" for one in rounds)
    unjudged = sum(one.judgement is None for one in rounds)
    times = sorted(one.seconds for one in rounds)
    median = f"{1000.0 * times[len(times) // 2]:.0f} ms" if times else "–"
    return [
        ("Steps", str(len(trace.steps)), "executed or at least proposed"),
        (
            "Proposals",
            str(len(rounds)),
            f"{count(unjudged, 'was', 'were')} passed unjudged" if unjudged else "all judged",
        ),
        ("Objections", str(objected), "where P(bad) cleared the threshold"),
        ("A judgement took", median, "the median, pictures included"),
    ]


def _faults(trace: Trace) -> list[tuple[str, str, str]]:
    """The step (with its episode, where there are several), the part and the message of each fault."""
    found = []
    for number, episode in enumerate(trace.episodes, 1):
        which = f"{number}: " if len(trace.episodes) > 1 else ""
        for fault in episode.faults:
            found.append((f"{which}{fault.get('step', 0) + 1}", fault.get("where", ""), fault.get("message", "")))
    return found


def _outcome(outcome: Mapping[str, Any] | None) -> str:
    said = (outcome or {}).get("outcome") or {}
    return " · ".join(f"{name.replace('_', ' ')}: {_plain(value)}" for name, value in said.items())


def _plain(value: Any) -> str:
    """A value of an outcome for people: yes and no rather than True and False."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def render_gui_replay(trace: Trace) -> str:
    """The page's HTML; everything from the trace is escaped. ValueError where no step was traced."""
    from jinja2 import Environment, StrictUndefined

    from foretell import __version__

    if not trace.steps:
        raise ValueError(f"no step was traced in {trace.folder}")
    package = files("foretell.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(package.joinpath("gui.html").read_text(encoding="utf-8"))
    first = trace.steps[0].rounds[0]
    episodes = episodes_of(trace)
    return template.render(
        version=__version__,
        title=episodes[0].goal if len(episodes) == 1 else f"{len(episodes)} episodes",
        name=trace.folder.name,
        critic=first.critic,
        mode=first.verdict.get("mode", ""),
        threshold=first.verdict.get("threshold"),
        torn=trace.torn,
        figures=_figures(trace),
        faults=_faults(trace),
        episodes=episodes,
        css="".join(package.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "gui.css")),
    )


def write_gui_replay(trace: Path | str | Trace, path: Path | str) -> Path:
    """Write the page of a trace (or of the folder it is in), all or nothing, and return its path."""
    told = trace if isinstance(trace, Trace) else read(trace)
    return write_whole(Path(path), render_gui_replay(told))
