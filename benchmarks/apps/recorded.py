"""A guard that writes down every call on it, so that `benchmarks.apps.replayed` can judge the same proposals later.

    guard = recording(FOLDER / "application")
    guard.label(app="application", right=True)
    verdict = guard.after_proposal(observation, proposal)    # the proposal is written with the label

It enforces with a bound of 2 %. A label holds for the next proposal alone and has to be given before it is judged, so
that a verdict cannot change it; what turns out wrong afterwards is marked with `dispute`. LOG.jsonl beside the calls
has the lines that `benchmarks.apps.played` counts.
"""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path
from typing import Any

from foretell.gui.critic import EmbeddedCritic
from foretell.gui.dataset import action_to_dict
from foretell.gui.guard import Guard
from foretell.gui.history import Historian
from foretell.gui.observation import Observation, Proposal
from foretell.gui.ocr import Ocr
from foretell.gui.sight import Eyes
from foretell.gui.threshold import DEFAULT_BOUND
from foretell.gui.verdict import Mode, Verdict

LOG = "LOG.jsonl"


class RecordingGuard(Guard):
    """Goes on counting where a folder already has calls."""

    folder: Path | None = None

    def label(self, app: str, right: bool, first: bool = True, note: str = "") -> None:
        """What the next proposal is: `first` unless it is the answer to an objection."""
        self._label: dict[str, Any] | None = {"app": app, "right": right, "first": first, "note": note}

    def reset(self) -> None:
        super().reset()
        self._write_call("reset", ())

    def before_action(self, observation: Observation) -> str:
        self._write_call("before_action", (observation,))
        return super().before_action(observation)

    def after_proposal(self, observation: Observation, proposal: Proposal, secret: bool = False) -> Verdict:
        label = getattr(self, "_label", None)
        if label is None:
            raise RuntimeError("call label(app=..., right=...) before the proposal is judged")
        self._label = None
        number = self._write_call("after_proposal", (observation, proposal), label)
        began_s = time.monotonic()
        verdict = super().after_proposal(observation, proposal, secret)
        seconds = time.monotonic() - began_s
        judgement = verdict.judgement
        line = label | {
            "call": number,
            "mode": "pixels" if observation.evidence is None else "evidence",
            "goal": observation.goal,
            "intent": proposal.intent,
            "action": action_to_dict(proposal.actions[0]) if proposal.actions else {"kind": "none"},
            "interrupted": verdict.intervene,
            "reason": verdict.reason.value,
            "p_bad": None if judgement is None else judgement.p_bad,
            "error": None if judgement is None or judgement.error is None else judgement.error.value,
            "seconds": round(seconds, 3),
            "feedback": verdict.feedback,
        }
        assert self.folder is not None
        with (self.folder / LOG).open("a") as log:
            log.write(json.dumps(line) + "\n")
        return verdict

    def executed(self, done: Any, secret: bool = False) -> None:
        self._write_call("executed", (done,))
        super().executed(done, secret)

    def dispute(self, number: int, why: str) -> None:
        """Say that the label of a judged proposal was wrong or is in doubt; it is counted apart."""
        assert self.folder is not None
        path = self.folder / f"{number:05}.pkl"
        call = pickle.loads(path.read_bytes())
        call["label"] |= {"disputed": True, "why": why}
        path.write_bytes(pickle.dumps(call))
        lines = [json.loads(line) for line in (self.folder / LOG).read_text().splitlines()]
        changed = [line | {"disputed": True, "why": why} if line["call"] == number else line for line in lines]
        (self.folder / LOG).write_text("".join(json.dumps(line) + "\n" for line in changed))

    def _write_call(self, call: str, values: tuple[Any, ...], label: dict[str, Any] | None = None) -> int:
        if self.folder is None:
            return -1
        number = len(list(self.folder.glob("*.pkl")))
        content = {"call": call, "values": values, "label": label}
        (self.folder / f"{number:05}.pkl").write_bytes(pickle.dumps(content))
        return number


def recording(folder: Path) -> RecordingGuard:
    """A guard as `benchmarks.apps.replayed` builds it, whose calls go into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = Ocr()
    critic = EmbeddedCritic(eyes=Eyes(reader), pictures=False)
    guard = RecordingGuard(critic, Historian(reader), critic.threshold(DEFAULT_BOUND), mode=Mode.ENFORCE)
    guard.folder = folder
    return guard
