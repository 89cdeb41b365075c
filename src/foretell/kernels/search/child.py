"""One candidate of a round, in full or as a journal holds it: what the state of a run follows from, and details.

Sources, their origins and what builds showed are most of a journal, and whoever opens one looks at few of them. They
stand in the details of a round's line (see `store.details`), and a child that is read back has them made when one of
them is first asked for. Journals of earlier versions hold children in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.deferred import deferrable, deferred
from foretell.kernels.measurement import Status, status_of
from foretell.kernels.packed import forecast_from_json, forecast_to_json
from foretell.kernels.policy import Action
from foretell.kernels.protocols import Build
from foretell.kernels.store.details import Details
from foretell.kernels.typed import all_text

_ACTIONS: Mapping[str, Action] = {action.value: action for action in Action}


@deferrable("candidate", "build", "forecast")
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

    @cached_property
    def id(self) -> str:
        return self.candidate.id

    @cached_property
    def made_from(self) -> tuple[str, ...]:
        """The ids that the candidate names as its parents."""
        return self.candidate.parents

    @cached_property
    def built(self) -> bool:
        return self.build.ok

    def to_payload(self) -> dict[str, Any]:
        """The child in full, as plain JSON."""
        return {"candidate": self.candidate.to_dict(), "build": self.build.to_dict(), **self._decision()}

    def to_stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The child as plain JSON in two parts, for the payload of a round and for its details."""
        candidate, build = self.candidate.to_dict(), self.build.to_dict()
        payload = {"id": candidate.pop("id"), "parents": candidate.pop("parents"), "status": build.pop("status")}
        payload, details = payload | self._decision(), {"candidate": candidate, "build": build}
        if self.action is Action.MEASURE:  # of others the value, or what they promise, follows from the forecast
            details["forecast"] = payload.pop("forecast")
        return payload, details

    def _decision(self) -> dict[str, Any]:
        return {
            "forecast": forecast_to_json(self.forecast),
            "action": self.action.value,
            "reason": self.reason,
            "audit": self.audit,
        }

    @staticmethod
    def from_payload(data: Mapping[str, Any]) -> Child:
        """The child that `to_payload` described. Raises ValueError, KeyError or TypeError if it makes no sense."""
        candidate, build = candidate_from(data["candidate"]), Build.from_dict(data["build"])
        return Child(candidate, build, forecast_from_json(data["forecast"]), *_decision(data))

    @staticmethod
    def from_stored(data: Mapping[str, Any], details: Details, index: int) -> Child:
        """The child that is the one at this index in the details. Raises as `from_payload`.

        What the details hold is read later, and then raises JournalDamaged if it makes no sense.
        """
        candidate_id, parents, status = data["id"], tuple(data["parents"]), status_of(data["status"])
        if type(candidate_id) is not str or not candidate_id or not all_text(parents):
            raise ValueError(f"a candidate has the id {candidate_id!r} and the parents {parents!r}")
        action, reason, audit = _decision(data)
        fields = {
            "id": candidate_id,
            "made_from": parents,
            "built": status is Status.OK,
            "action": action,
            "reason": reason,
            "audit": audit,
        }
        if "forecast" in data:
            fields["forecast"] = forecast_from_json(data["forecast"])
        return deferred(Child, fields, partial(_rest, data, details, index))


def candidate_from(data: Mapping[str, Any]) -> Candidate:
    """A candidate under the id it was written with, to be read and reported; a run is resumed only if it is its own."""
    candidate = Candidate.from_dict(data)
    if not isinstance(data["id"], str) or not data["id"]:
        raise ValueError(f"a candidate has the id {data['id']!r}")
    vars(candidate)["id"] = data["id"]
    return candidate


def _decision(data: Mapping[str, Any]) -> tuple[Action, str, bool]:
    action, reason, audit = data["action"], data["reason"], data["audit"]
    if type(reason) is not str or type(audit) is not bool:
        raise ValueError(f"a decision has the reason {reason!r} and the audit {audit!r}")
    return _ACTIONS.get(action) or Action(action), reason, audit


def _rest(data: Mapping[str, Any], details: Details, index: int) -> dict[str, Any]:
    """The fields of a child that `from_stored` left out."""

    def make(content: Mapping[str, Any]) -> dict[str, Any]:
        stored = content["children"][index]
        return {
            "candidate": candidate_from({**stored["candidate"], "id": data["id"], "parents": data["parents"]}),
            "build": Build.from_dict({**stored["build"], "status": data["status"]}),
            "forecast": forecast_from_json((data if "forecast" in data else stored)["forecast"]),
        }

    return details.read(make)
