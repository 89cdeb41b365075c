"""What happens in a run, as values: the journal holds these and nothing else.

One `Round` is one selection: parents, children, builds, forecasts and decisions together, so a crash can never leave
half of it. Each event has a name and turns into plain JSON and back without loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement
from foretell.kernels.packed import forecast_from_json, forecast_to_json, measurement_from_json, measurement_to_json
from foretell.kernels.policy import Action
from foretell.kernels.profiles import Budgets
from foretell.kernels.protocols import Build
from foretell.kernels.search.config import SearchConfig
from foretell.kernels.typed import typed


class StopReason(StrEnum):
    """Why a run ended. All are final but `interrupted`, which a resumed run leaves behind, until it is extended."""

    MEASUREMENTS = "measurements"
    SECONDS = "seconds"
    CANDIDATES = "candidates"
    EXHAUSTED = "exhausted"
    ENDED = "ended"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        return {
            StopReason.MEASUREMENTS: "the budget of measurements is spent",
            StopReason.SECONDS: "the budget of device seconds is spent",
            StopReason.CANDIDATES: "the budget of candidates is spent",
            StopReason.EXHAUSTED: "the proposer has nothing new to propose",
            StopReason.ENDED: "it was told to finish with budget left",
            StopReason.INTERRUPTED: "it was interrupted and can be resumed",
        }[self]


@dataclass(frozen=True)
class RunStarted:
    """The first event: everything needed to run it again. `config` is the resolved configuration, plain JSON.

    `seal` is the mark of the user who started it (see `store.seal`); empty in a run that nobody marked.
    """

    name: ClassVar[str] = "run_started"

    config: Mapping[str, Any]
    device: Device
    reference: Candidate
    version: str
    seal: str = ""

    def to_payload(self) -> dict[str, Any]:
        return self.sealed_content() | ({"seal": self.seal} if self.seal else {})

    def sealed_content(self) -> dict[str, Any]:
        """What the seal is a mark of."""
        return {
            "config": dict(self.config),
            "device": self.device.to_dict(),
            "reference": self.reference.to_dict(),
            "version": self.version,
        }

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> RunStarted:
        device, reference = Device.from_dict(data["device"]), _candidate(data["reference"])
        SearchConfig.from_resolved(data["config"])
        return typed(RunStarted(data["config"], device, reference, data["version"], data.get("seal", "")))


@dataclass(frozen=True)
class Child:
    """One proposed candidate with what its build showed, what was forecast for it and what was decided.

    `audit` marks a trusted or dropped candidate that is measured all the same. Where the build failed the action is
    drop, and a measurement with the build's status follows without device time.
    """

    candidate: Candidate
    build: Build
    forecast: Forecast
    action: Action
    reason: str
    audit: bool

    def to_payload(self) -> dict[str, Any]:
        return {
            "candidate": self.candidate.to_dict(),
            "build": self.build.to_dict(),
            "forecast": forecast_to_json(self.forecast),
            "action": self.action.value,
            "reason": self.reason,
            "audit": self.audit,
        }

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Child:
        reason, audit = data["reason"], data["audit"]
        if type(reason) is not str or type(audit) is not bool:  # the rest is checked where it is made
            raise ValueError(f"a decision has the reason {reason!r} and the audit {audit!r}")
        return Child(
            _candidate(data["candidate"]),
            Build.from_dict(data["build"]),
            forecast_from_json(data["forecast"]),
            Action(data["action"]),
            reason,
            audit,
        )


@dataclass(frozen=True)
class Again:
    """A candidate of an earlier round that was left unmeasured and is to be measured after all, and why."""

    id: str
    forecast: Forecast
    reason: str

    def to_payload(self) -> dict[str, Any]:
        return {"id": self.id, "forecast": forecast_to_json(self.forecast), "reason": self.reason}

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Again:
        return typed(Again(data["id"], forecast_from_json(data["forecast"]), data["reason"]))


@dataclass(frozen=True)
class Round:
    """One selection. Children stand in the order in which those to be measured are measured.

    `again` are measured before them. A round without children or parents looked at earlier candidates only.
    `decide_s` is the wall-clock time spent on choosing parents, refitting, forecasting and deciding; proposing and
    building are not in it.
    """

    name: ClassVar[str] = "round"

    round: int
    parents: tuple[str, ...]
    children: tuple[Child, ...]
    forecaster: str
    decide_s: float
    again: tuple[Again, ...] = ()

    def to_payload(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "parents": list(self.parents),
            "children": [child.to_payload() for child in self.children],
            "again": [one.to_payload() for one in self.again],
            "forecaster": self.forecaster,
            "decide_s": self.decide_s,
        }

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Round:
        children = tuple(Child.from_payload(child) for child in data["children"])
        again = tuple(Again.from_payload(one) for one in data.get("again", ()))  # journals of old have none
        parents = tuple(data["parents"])
        return typed(Round(data["round"], parents, children, data["forecaster"], data["decide_s"], again))


@dataclass(frozen=True)
class Measured:
    """The outcome for one candidate; `reused` where it came from the catalogue and cost no device time.

    `seal` is the mark of the user who measured it.
    """

    name: ClassVar[str] = "measured"

    id: str
    measurement: Measurement
    audit: bool = False
    reused: bool = False
    seal: str = ""

    def to_payload(self) -> dict[str, Any]:
        payload = {
            "id": self.id,
            "measurement": measurement_to_json(self.measurement),
            "audit": self.audit,
            "reused": self.reused,
        }
        return payload | ({"seal": self.seal} if self.seal else {})

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Measured:
        node_id, audit, reused, seal = data["id"], data["audit"], data["reused"], data.get("seal", "")
        if not (type(node_id) is type(seal) is str and type(audit) is type(reused) is bool):
            raise ValueError(f"a measurement has the id {node_id!r}, audit {audit!r}, reused {reused!r}, seal {seal!r}")
        return Measured(node_id, measurement_from_json(data["measurement"]), audit, reused, seal)


@dataclass(frozen=True)
class Verified:
    """A winner measured again at the end."""

    name: ClassVar[str] = "verified"

    id: str
    measurement: Measurement

    def to_payload(self) -> dict[str, Any]:
        return {"id": self.id, "measurement": measurement_to_json(self.measurement)}

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Verified:
        return typed(Verified(data["id"], measurement_from_json(data["measurement"])))


@dataclass(frozen=True)
class Finished:
    """The last event: why it ended, the winner's id (None where nothing works) and all device seconds spent."""

    name: ClassVar[str] = "finished"

    reason: StopReason
    best: str | None
    seconds: float

    def to_payload(self) -> dict[str, Any]:
        return {"reason": self.reason.value, "best": self.best, "seconds": self.seconds}

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Finished:
        return typed(Finished(StopReason(data["reason"]), data["best"], data["seconds"]))


@dataclass(frozen=True)
class Extended:
    """The run goes on with larger budgets; it may have been finished before. Winners are verified anew at its end."""

    name: ClassVar[str] = "extended"

    budgets: Mapping[str, float]

    def to_payload(self) -> dict[str, Any]:
        return {"budgets": dict(self.budgets)}

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Extended:
        typed(Budgets(**data["budgets"]))
        return Extended(dict(data["budgets"]))


Event = RunStarted | Round | Measured | Verified | Finished | Extended
_Kind = type[RunStarted] | type[Round] | type[Measured] | type[Verified] | type[Finished] | type[Extended]

_KINDS: Mapping[str, _Kind] = {kind.name: kind for kind in (RunStarted, Round, Measured, Verified, Finished, Extended)}


def _candidate(data: Mapping[str, Any]) -> Candidate:
    """A candidate under the id it was written with, to be read and reported; a run is resumed only if it is its own."""
    candidate = Candidate.from_dict(data)
    if not isinstance(data["id"], str) or not data["id"]:
        raise ValueError(f"a candidate has the id {data['id']!r}")
    vars(candidate)["id"] = data["id"]
    return candidate


def event_from(name: str, payload: Mapping[str, Any]) -> Event:
    """The event of that name; ValueError for a name this version does not know."""
    if name not in _KINDS:
        raise ValueError(f"unknown event {name!r}: the run was written by another version of Foretell")
    return _KINDS[name].from_payload(payload)
