"""What became of the candidates: each has exactly one fate, and some of those measured failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from foretell.kernels.measurement import Status
from foretell.kernels.policy import Action
from foretell.kernels.search.state import Node, RunState
from foretell.report.candidates import KINDS, short

EXAMPLE_CHARACTERS = 160

_FATES = {
    "measured": ("measured", "Paid for: promising, or too unsure to settle otherwise."),
    "audited": ("audited", "Trusted or dropped, and measured all the same."),
    "trusted": ("trusted", "The forecast was sure enough to stand for the value."),
    "dropped": ("dropped", "Not worth a measurement or past the budget, and too unsure to stand for a value."),
    "broken": ("did not build", "The compiler refused them; no device time was spent."),
    "fault": ("not judged", "The machine failed, which is not held against them."),
    "waiting": ("waiting", "Chosen to be measured when the run stopped."),
}


@dataclass(frozen=True)
class Fate:
    """How many candidates ended in one way."""

    key: str
    label: str
    count: int
    note: str


@dataclass(frozen=True)
class Failure:
    """How many candidates failed in one way, with the words of the first."""

    label: str
    count: int
    example: str


def fate_of(node: Node) -> str:
    """The one fate of a candidate, a key of the legend."""
    if not node.build.ok:
        return "broken"
    if node.measurement is None:
        if node.to_measure:
            return "waiting"
        return "trusted" if node.action is Action.TRUST else "dropped"
    if node.measurement.status is Status.INFRASTRUCTURE:
        return "fault"
    return "audited" if node.audit else "measured"


def fates(state: RunState) -> tuple[Fate, ...]:
    """All fates that occurred; their counts sum to the candidates considered."""
    counts = Counter(fate_of(node) for node in state.nodes.values())
    return tuple(Fate(key, label, counts[key], note) for key, (label, note) in _FATES.items() if counts[key])


def failures(state: RunState) -> tuple[Failure, ...]:
    """Failures by kind, the commonest first, each with an example."""
    found: dict[Status, list[Node]] = {}
    for node in state.nodes.values():
        if node.measurement is not None and node.measurement.status is not Status.OK:
            found.setdefault(node.measurement.status, []).append(node)
    ranked = sorted(found.items(), key=lambda pair: (-len(pair[1]), list(Status).index(pair[0])))
    return tuple(Failure(KINDS[status], len(nodes), _example(nodes[0])) for status, nodes in ranked)


def _example(node: Node) -> str:
    message = node.measurement.message if node.measurement else ""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = next((line for line in lines if "error" in line), lines[0] if lines else "")
    cut = text if len(text) <= EXAMPLE_CHARACTERS else f"{text[:EXAMPLE_CHARACTERS].rstrip()} …"
    return f"{short(node.id)}: {cut}" if cut else short(node.id)
