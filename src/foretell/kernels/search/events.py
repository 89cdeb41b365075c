"""What happens in a run, as values: the journal holds these and nothing else.

One `Round` is one selection: parents, children, builds, forecasts and decisions together, so a crash can never leave
half of it. Each event has a name and turns into plain JSON and back without loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement
from foretell.kernels.packed import (
    forecast_from_json,
    forecast_to_json,
    measurement_from_json,
    measurement_to_json,
    split_measurement,
)
from foretell.kernels.profiles import Budgets
from foretell.kernels.search.child import Child, candidate_from
from foretell.kernels.search.config import SearchConfig
from foretell.kernels.store.details import Details
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
        device, reference = Device.from_dict(data["device"]), candidate_from(data["reference"])
        SearchConfig.from_resolved(data["config"])
        return typed(RunStarted(data["config"], device, reference, data["version"], data.get("seal", "")))


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

    def to_stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Payload and details for a journal."""
        children = [child.to_stored() for child in self.children]
        payload = replace(self, children=()).to_payload() | {"children": [stored for stored, _ in children]}
        return payload, {"children": [details for _, details in children]}

    @staticmethod
    def from_payload(data: Mapping[str, Any], details: Details | None = None) -> Round:
        if details is None:
            children = tuple([Child.from_payload(child) for child in data["children"]])
        else:
            children = tuple([Child.from_stored(child, details, i) for i, child in enumerate(data["children"])])
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

    def to_stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Payload and details for a journal."""
        payload = self.to_payload()
        payload["measurement"], details = split_measurement(payload["measurement"])
        return payload, {"measurement": details}

    @staticmethod
    def from_payload(data: Mapping[str, Any], details: Details | None = None) -> Measured:
        node_id, audit, reused, seal = data["id"], data["audit"], data["reused"], data.get("seal", "")
        if not (type(node_id) is type(seal) is str and type(audit) is type(reused) is bool):
            raise ValueError(f"a measurement has the id {node_id!r}, audit {audit!r}, reused {reused!r}, seal {seal!r}")
        stored = data["measurement"]
        measurement = measurement_from_json(stored) if details is None else _measurement(stored, details)
        return Measured(node_id, measurement, audit, reused, seal)


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


def _measurement(stored: Mapping[str, Any], details: Details) -> Measurement:
    """The measurement that `Measured.to_stored` described, of which the figures alone are made now."""

    def make() -> Mapping[str, Any]:
        return details.read(lambda content: vars(measurement_from_json({**content["measurement"], **stored})))

    return Measurement.from_figures(stored, make)


Event = RunStarted | Round | Measured | Verified | Finished | Extended
_Kind = type[RunStarted] | type[Round] | type[Measured] | type[Verified] | type[Finished] | type[Extended]

_KINDS: Mapping[str, _Kind] = {kind.name: kind for kind in (RunStarted, Round, Measured, Verified, Finished, Extended)}


class Stored(NamedTuple):
    """An event as a journal takes it: its name, payload and details (see `store.details`)."""

    name: str
    payload: dict[str, Any]
    details: dict[str, Any] | None


def to_stored(event: Event) -> Stored:
    """The event for a journal."""
    if isinstance(event, (Round, Measured)):
        return Stored(event.name, *event.to_stored())
    return Stored(event.name, event.to_payload(), None)


def event_from(name: str, payload: Mapping[str, Any], details: Details | None = None) -> Event:
    """The event of that name; its payload is in full if there are no details.

    Raises ValueError for a name this version does not know; ValueError, KeyError or TypeError if it makes no sense.
    """
    if name not in _KINDS:
        raise ValueError(f"unknown event {name!r}: the run was written by another version of Foretell")
    kind = _KINDS[name]
    if kind is Round or kind is Measured:
        return kind.from_payload(payload, details)
    if details is not None:
        raise ValueError(f"event {name!r} has no details in this version of Foretell")
    return kind.from_payload(payload)
