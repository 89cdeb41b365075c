"""How it was measured and what it cost: device, budgets, settings and seconds, as rows to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.kernels.device import Device
from foretell.kernels.search.state import RunState
from foretell.report.clock import Clock
from foretell.report.numbers import count, rate, seconds, size


@dataclass(frozen=True)
class Term:
    """A name, a value and, in the table of costs, a remark."""

    label: str
    value: str
    note: str = ""


def method_text(state: RunState) -> str:
    """The bench's own statement of how it timed, from the first candidate that was timed."""
    for node in state.nodes.values():
        if node.measurement is not None and node.measurement.method:
            text = node.measurement.method
            return f"{text[0].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
    return "No candidate was timed in this run."


def terms(state: RunState, workloads: tuple[str, ...]) -> tuple[Term, ...]:
    """What a reader needs to repeat the run."""
    config = state.config
    rows = [Term("Device", _device_text(state.device)), Term("Toolchain", state.device.toolchain)]
    if workloads:
        rows.append(Term("Timed workloads", "; ".join(workloads)))
    for key, label in (
        ("policy", "Policy"),
        ("forecaster", "Forecaster"),
        ("strategy", "Strategy"),
        ("proposer", "Proposer"),
    ):
        if key in config:
            rows.append(Term(label, str(config[key])))
    rows.append(Term("Budgets", _budget_text(config)))
    rows.append(Term("Seed", str(config.get("seed", "–"))))
    if state.finished is not None:
        rows.append(Term("Ended because", state.finished.reason.sentence))
    return tuple(rows)


def settings(config: Mapping[str, Any]) -> tuple[Term, ...]:
    """The whole configuration, nested names joined by dots."""
    return tuple(Term(name, value) for name, value in _flat(config, ""))


def costs(state: RunState, clock: Clock | None) -> tuple[Term, ...]:
    """Seconds by what they were spent on, and the estimate of those that were not."""
    builds = [node.build.seconds for node in state.nodes.values()]
    rows = [
        Term("Building", seconds(sum(builds)), f"{count(len(builds), 'candidate')}, in parallel on CPU cores"),
        Term(
            "Device, searching", seconds(state.device_s), f"{count(state.paid, 'measurement')} paid for{_each(state)}"
        ),
        Term("Device, verifying", seconds(state.verify_s), "the winners, measured again at the end"),
    ]
    if state.reused:
        rows.append(Term("Reused", "0 s", f"{count(state.reused, 'measurement')} taken from the catalogue"))
    if clock is not None:
        rows.append(Term("Deciding", seconds(clock.decide_s), "choosing parents, refitting, forecasting, deciding"))
        rows.append(Term("Wall clock", seconds(clock.active_s), "from the first event to the last, pauses left out"))
    left = state.trusted + state.dropped
    if left and state.mean_cost_s:
        note = f"an estimate: {count(left, 'candidate')} not measured, at {seconds(state.mean_cost_s)} each"
        rows.append(Term("Saved on the device", seconds(state.saved_s), note))
    return tuple(rows)


def _each(state: RunState) -> str:
    return f", {seconds(state.mean_cost_s)} each" if state.mean_cost_s else ""


def _device_text(device: Device) -> str:
    peak = device.peak_flops.get("float32", max(device.peak_flops.values(), default=0.0))
    parts = [
        device.name,
        count(device.cores, "core"),
        rate(device.clock_hz, "Hz"),
        f"{rate(device.bandwidth_bytes_per_s, 'B/s')} memory bandwidth",
        f"{rate(peak, 'FLOP/s')} float32 peak",
        f"{size(device.cache_bytes)} cache",
        f"{size(device.memory_bytes)} memory",
    ]
    return ", ".join(parts)


def _budget_text(config: Mapping[str, Any]) -> str:
    budgets = config.get("budgets") or config.get("profile", {}).get("budgets", {})
    names = {"measurements": "measurements", "seconds": "device seconds", "candidates": "candidates"}
    return ", ".join(f"{budgets[key]:g} {name}" for key, name in names.items() if budgets.get(key) is not None) or "–"


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, Mapping):
            yield from _flat(item, f"{name}.")
        else:
            yield name, str(item)
