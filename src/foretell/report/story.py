"""The report's sentences: what came out, what it took, and how far to believe it."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from foretell.kernels.search.events import StopReason
from foretell.kernels.search.state import RunState
from foretell.report.calibration import BEYOND_LUCK, FEWEST, Calibration
from foretell.report.candidates import shown
from foretell.report.clock import Clock
from foretell.report.conditions import contention, disagreement, measurements_of, trust_note
from foretell.report.numbers import count, percent, seconds, times
from foretell.report.start import over_start, start_trouble


@dataclass(frozen=True)
class Figure:
    """A number with its name: `of` is what it is out of, `note` the small print."""

    value: str
    label: str
    of: str = ""
    note: str = ""


def ended(state: RunState, clock: Clock | None) -> str:
    """When it ran and how it ended, for the top of the page."""
    if state.finished is None:
        how = "unfinished"
    else:
        how = "interrupted" if state.finished.reason is StopReason.INTERRUPTED else "finished"
    return f"{clock.day}, {how}" if clock else how


def lead(state: RunState) -> str:
    """The outcome in a sentence or two."""
    best = state.best
    found = shown(best) if best else None
    device = Markup("<b>{}</b>").format(state.device.name)
    if best is None or found is None or not found.speedup:
        if state.measured == 0:
            return Markup("Nothing has been measured yet on {}.").format(device)
        return Markup("None of the {} measured on {} works, so there is no speedup to tell.").format(
            count(state.measured, "candidate"), device
        )
    if state.shown_faster:
        parts = [Markup("as fast as the reference on {}.").format(device)]
    else:
        closest = Markup("No candidate is shown to be faster than the reference on {}. The closest runs at <b>{}</b>:")
        parts = [closest.format(device, times(found.speedup))]
    if found.low and found.high:
        parts.append(Markup("95 % interval <b>{} to {}</b>").format(times(found.low, sign=""), times(found.high)))
    if best.verified is not None and best.verified.ok:
        parts.append(Markup("verified by measuring it again at the end."))
    else:
        parts.append(Markup("not measured a second time: the first look at a winner tends to flatter it."))
    note = trust_note(found)
    warning = Markup(" <b>{}</b>.").format(note[0].upper() + note[1:]) if note else ""
    return parts[0] + " " + Markup(", ").join(parts[1:]) + warning + _beside_start(state)


def _beside_start(state: RunState) -> str:
    """A sentence on the kernel that the run started from, if it did."""
    gain = over_start(state)
    sentence = gain.sentence if gain is not None else start_trouble(state)
    return Markup(" {}.").format(sentence[0].upper() + sentence[1:]) if sentence else ""


def no_speedup(state: RunState) -> str:
    """What stands in the place of the headline number where there is none."""
    return "Not shown to be faster" if state.best is not None else "No winner yet"


def notices(state: RunState, run: str) -> tuple[str, ...]:
    """What a reader must know before believing the rest."""
    found: list[str] = []
    command = f"ask {run or 'RUN'}" if state.config.get("proposer") == "told" else ""
    command = command or f"search {state.config['task']} --resume {run or 'RUN'}"
    resume = Markup("<code>foretell {}</code>").format(command)
    if state.finished is None:
        found.append(Markup("This run has not finished: what follows is where it stood. Go on with {}").format(resume))
    elif state.finished.reason is StopReason.INTERRUPTED:
        found.append(Markup("This run was interrupted; nothing measured is lost. Go on with {}").format(resume))
    disturbance = contention(measurements_of(state), uses_catalogue=False)
    if disturbance:
        found.append(f"Other processes used this machine meanwhile: {disturbance}.")
    if apart := disagreement(state):
        found.append(f"Not everything repeated: {apart}.")
    if state.faults:
        found.append(
            f"{count(state.faults, 'candidate')} could not be judged because the machine failed; that is not held "
            "against them. foretell doctor may tell why."
        )
    return tuple(found)


def figures(state: RunState, calibration: Calibration) -> tuple[Figure, ...]:
    """The four numbers under the headline."""
    share = state.measured / state.considered if state.considered else None
    left = state.trusted + state.dropped
    verifying = f"and {seconds(state.verify_s)} verifying the winners" if state.verify_s else "no winner was verified"
    saved = Figure("–", "Device time saved", note="nothing was left unmeasured")
    if left and state.mean_cost_s:
        note = f"an estimate: {left} not measured, at {seconds(state.mean_cost_s)} each"
        saved = Figure(f"≈ {seconds(state.saved_s)}", "Device time saved", note=note)
    kept = Figure("–", "80 % intervals kept", note="no forecast could be checked")
    if calibration.kept_80 is not None:
        note = f"of {count(calibration.n_speedups, 'measured speedup')}; 80 % would be perfect"
        kept = Figure(percent(calibration.kept_80), "80 % intervals kept", note=note)
    measured_note = f"{percent(share)} were worth paying for" if share is not None else "no candidate was proposed"
    return (
        Figure(str(state.measured), "Measured", f"of {state.considered} considered", measured_note),
        Figure(seconds(state.device_s), "Device time spent", note=verifying),
        saved,
        kept,
    )


def progress_note(state: RunState) -> str:
    best = state.best
    parts = []
    if best is not None and best.verified is not None and best.verified.ok and best.measurement is not None:
        first, again = times(best.measurement.speedup), times(best.verified.speedup)
        parts.append(f"The winner showed {first} at first and {again} when measured again.")
    if state.reused:
        parts.append(f"{count(state.reused, 'measurement')} came from an earlier run at no cost.")
    return " ".join(parts)


def no_progress(measured: int) -> str:
    if measured:
        return f"Every one of {count(measured, 'measurement')} ended in a failure, so there is no speedup to draw."
    return "Nothing has been measured yet, so there is nothing to draw."


def judged_note(calibration: Calibration, reused: int) -> str:
    """When these forecasts were made, and how fair a draw they are."""
    if not calibration.n:
        return ""
    when = "Each forecast here was made before its candidate was measured"
    if reused:
        earlier = "was" if reused == 1 else "were"
        when += f", but {reused} {earlier} measured in an earlier run, from which the forecaster may have learnt"
    return (
        f"{when}. "
        f"n = {calibration.n}, of which {calibration.n_speedups} worked. "
        "The policy chose most of them, so only audits are a fair draw."
    )


def no_forecasts(calibration: Calibration) -> str:
    if calibration.n:
        expected = f"{calibration.failures_expected:.1f}"
        return (
            f"All {calibration.n} judged candidates failed ({expected} were expected to), so no speedup can be judged."
        )
    return "No forecast has been put to the test: nothing was measured."


def forecast_facts(calibration: Calibration) -> tuple[Figure, ...]:
    """Numbers beside the scatter."""
    facts = []
    if calibration.kept_80 is not None:
        facts.append(Figure(percent(calibration.kept_80), "of the 80 % intervals held the measured speedup"))
    if calibration.error_log2 is not None:
        facts.append(Figure(f"{times(2.0**calibration.error_log2, sign='')}-fold", "typical miss (median, either way)"))
    if calibration.bias_log2 is not None:
        way = "under" if calibration.bias_log2 > 0 else "over"
        facts.append(Figure(percent(2.0 ** abs(calibration.bias_log2) - 1.0), f"typical {way}estimate of the speedup"))
    if calibration.ece is not None:
        facts.append(
            Figure(
                f"{calibration.ece:.2f}",
                f"calibration error (ECE) of the likeliest of nine outcomes, n = {calibration.n}",
            )
        )
    facts.append(
        Figure(
            f"{calibration.failures_seen} vs {calibration.failures_expected:.1f}",
            "failures seen and failures expected",
        )
    )
    return tuple(facts)


def coverage_verdict(calibration: Calibration) -> str:
    """What the coverage curve amounts to, in one sentence."""
    if calibration.n_speedups < FEWEST:
        return ""
    below = sum(c.kept < c.luck_low for c in calibration.coverages)
    above = sum(c.kept > c.luck_high for c in calibration.coverages)
    if max(below, above) == 0:
        return "Here the curve stays within the band: nothing speaks against these intervals."
    if max(below, above) < BEYOND_LUCK:
        return "Here it leaves the band at a single level, as luck alone has it in about one run of eight."
    if below > above:
        return f"Here it falls below the band at {below} levels: the intervals were too narrow, trust them less."
    return f"Here it rises above the band at {above} levels: the intervals were wider than they had to be."
