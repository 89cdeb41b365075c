"""Whether what the history claims on real applications is true, and how much of what was achieved it claims.

    python -m benchmarks.apps.history DATA/dev
    python -m benchmarks.apps.history DATA/heldout --held-out        # logged

Replays the recorded walks of web applications: the embedded historian sees the screens before and after each step,
truth are elements and text of the DOM at both (the accessibility tree of desktop programs lacks what is only text).
Writes results/apps_history.json, a part for each half.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps.evaluate import LOG, REPLICATES
from benchmarks.apps.install import by_name
from benchmarks.apps.moment import CHOICES, FOLDER, TOGGLES, Element, Moment, read_moments
from benchmarks.apps.split import RESULTS, is_held_out
from foretell.belief import cluster_bootstrap
from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.bench.truth import Watched
from foretell.gui.claims import Claim, Effect, Sort, plain
from foretell.gui.dataset import load_image
from foretell.gui.history import History
from foretell.gui.ocr import Ocr

FILE = RESULTS / "apps_history.json"
NEAR_PX = 12.0
SAME_PAGE = 0.6  # of the visible elements of both screens that are on both
LARGE = 0.25  # of the screen: larger elements are ground
_ALIKE = {
    Sort.CHANGED: frozenset((Sort.CHANGED, Sort.PAGE, Sort.FOCUSED, Sort.ELSEWHERE)),
    Sort.PAGE: frozenset((Sort.CHANGED, Sort.PAGE, Sort.FOCUSED, Sort.ELSEWHERE)),
    Sort.FOCUSED: frozenset((Sort.CHANGED, Sort.PAGE, Sort.FOCUSED)),
}  # what may be claimed instead of it
_STATES = frozenset((Sort.TYPED, Sort.HIDDEN, Sort.TICKED, Sort.UNTICKED))


def keyed(elements: Iterable[Element]) -> dict[tuple[Any, ...], Element]:
    """Elements by what names them on both screens: kind, name, surroundings, and which of several it is."""
    seen: Counter[tuple[str, ...]] = Counter()
    found: dict[tuple[Any, ...], Element] = {}
    for one in elements:
        name = (one.tag, one.role, one.name, one.group_name, one.type)
        found[(*name, seen[name])] = one
        seen[name] += 1
    return found


def state(element: Element) -> tuple[Any, ...]:
    """What a step can change of an element, the pointer's own effects aside."""
    box = tuple(round(side / 4) for side in element.box)
    return element.value, element.checked, element.focused, element.disabled, element.visible, element.covered, box


def changed(before: Moment, after: Moment) -> list[Element]:
    """Elements that came, went, or are not as they were."""
    was, now = keyed(before.elements), keyed(after.elements)
    names = [name for name in was.keys() | now.keys() if name not in was or name not in now]
    names += [name for name in was.keys() & now.keys() if state(was[name]) != state(now[name])]
    return [now.get(name) or was[name] for name in names]


def another_page(before: Moment, after: Moment) -> bool:
    """Whether much of what could be acted on is there no more, or a dialog was opened or closed."""

    def looks(moment: Moment) -> set[tuple[Any, ...]]:
        return {(one.role, one.name, *(round(side / 6) for side in one.box)) for one in moment.elements if one.visible}

    was, now = looks(before), looks(after)
    union = was | now
    return (bool(union) and len(was & now) <= SAME_PAGE * len(union)) or before.dialog != after.dialog


def near(claim: Claim, moment: Moment) -> list[Element]:
    """Visible elements that touch the place of a claim, the ground left out."""
    if claim.box is None:
        return []
    x, y, width, height = claim.box
    middle = Point(x + width / 2, y + height / 2)
    large = LARGE * moment.size[0] * moment.size[1]
    reach = NEAR_PX + max(width, height) / 2
    some = (one for one in moment.elements if (one.visible and one.box[2] * one.box[3] < large) or one.editable)
    return [one for one in some if one.distance(middle) <= reach]


def is_true(claim: Claim, before: Moment, after: Moment) -> bool:
    """Whether the elements bear a claim out."""
    here = near(claim, after)
    boxes = [one for one in here if one.role in TOGGLES | CHOICES]
    match claim.sort:
        case Sort.TYPED:
            return any(plain(claim.text) in plain(one.value) for one in here if one.value)
        case Sort.HIDDEN:
            return any(one.type == "password" and one.value for one in here)
        case Sort.TICKED | Sort.UNTICKED:
            wanted = claim.sort is Sort.TICKED
            return any(one.checked is wanted for one in boxes) or (not boxes and bool(changed(before, after)))
        case Sort.FOCUSED:
            refs = {one.ref for one in here}
            focused = [one for one in after.elements if one.focused]
            return any(refs & set(after.above(one.ref)) or one.ref in refs for one in focused)
        case _:
            return bool(changed(before, after)) or before.text != after.text


def achievements(action: Action, before: Moment, after: Moment) -> Iterator[Sort]:
    """What a step really brought about, as far as it is of a sort that can be claimed."""
    was = keyed(before.elements)
    both = [(was[name], one) for name, one in keyed(after.elements).items() if name in was]
    if action.kind is Kind.TYPE and action.text:
        text = action.text.strip()
        typed = [now for old, now in both if now.editable and text in now.value and text not in old.value]
        if typed:
            yield Sort.HIDDEN if typed[0].type == "password" else Sort.TYPED
    if action.kind not in CLICKS or action.point is None:
        return
    ticks = [
        now
        for old, now in both
        if now.role in TOGGLES | CHOICES and now.checked != old.checked and now.distance(action.point) <= NEAR_PX
    ]
    if ticks:
        yield Sort.TICKED if ticks[0].checked else Sort.UNTICKED
    elif another_page(before, after):
        yield Sort.PAGE
    elif any(now.editable and now.focused and not old.focused for old, now in both):
        yield Sort.FOCUSED
    elif before.at(action.point) >= 0 and any(one.distance(action.point) <= NEAR_PX for one in changed(before, after)):
        yield Sort.CHANGED


@dataclass
class Count:
    """Claims made and true ones, achievements and claimed ones, states held at the end of a walk and true ones."""

    made: Counter[str] = field(default_factory=Counter)
    true: Counter[str] = field(default_factory=Counter)
    achieved: Counter[str] = field(default_factory=Counter)
    claimed: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    still: Counter[str] = field(default_factory=Counter)

    def walk(self, folder: Path, moments: Sequence[Moment], historian: Watched) -> None:
        """Count one walk."""
        history = History()
        images = {one.image: load_image(folder / one.image) for one in moments}
        for before, after in pairwise(moments):
            if before.planned is None or after.history.count != before.history.count + 1:
                return  # a step between the two was not kept
            action = before.planned.action
            historian.last = None
            history = historian.update(
                history, images[before.image], images[after.image], action, before.planned.intent
            )
            effect: Effect | None = historian.last
            claims = effect.claims if effect is not None else ()
            for claim in claims:
                self.made[claim.sort] += 1
                self.true[claim.sort] += is_true(claim, before, after)
            for sort in achievements(action, before, after):
                self.achieved[sort] += 1
                alike = _ALIKE.get(sort, frozenset((sort,)))
                self.claimed[sort] += any(claim.sort in alike for claim in claims)
            for claim in (claim for claim in history.claims if claim.sort in _STATES and claim not in claims):
                self.held[claim.sort] += 1
                self.still[claim.sort] += is_true(claim, before, after)

    def to_dict(self) -> dict[str, dict[str, int]]:
        names = ("made", "true", "achieved", "claimed", "held", "still")
        return {name: {str(sort): n for sort, n in sorted(getattr(self, name).items())} for name in names}


def share(counts: Mapping[str, Mapping[str, Mapping[str, int]]], part: str, whole: str) -> dict[str, Any]:
    """A share of all applications with its 95 % interval, by application."""
    parts = [sum(one[part].values()) for one in counts.values()]
    wholes = [sum(one[whole].values()) for one in counts.values()]

    def ratio(p: Any, w: Any) -> float:
        return float(p.sum() / w.sum()) if w.sum() else 0.0

    found = cluster_bootstrap(
        ratio, np.array(parts, float), np.array(wholes, float), groups=np.array(list(counts)), replicates=REPLICATES
    )
    value = sum(parts) / max(1, sum(wholes))
    return {
        "share": round(value, 4),
        "interval": [round(found.low, 4), round(found.high, 4)],
        "of": sum(wholes),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args(arguments)
    desktop = {one.name for one in by_name([]) if one.desktop}
    names = options.only or sorted({path.stem for path in (options.folder / FOLDER).glob("*.jsonl")} - desktop)
    if not options.held_out and any(map(is_held_out, names)):
        parser.error("the folder holds held-out applications: use --held-out, which is logged")
    historian = Watched(Ocr())
    counts = {}
    for name in names:
        count = Count()
        for _, walk in groupby(read_moments(options.folder, name), key=lambda one: one.episode):
            count.walk(options.folder, list(walk), historian)
        counts[name] = count.to_dict()
        print(name, {key: sum(value.values()) for key, value in counts[name].items()}, flush=True)
    half = "held_out" if options.held_out else "development"
    figures = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "applications": len(counts),
        "claims_true": share(counts, "true", "made"),
        "achieved_and_claimed": share(counts, "claimed", "achieved"),
        "held_and_still_true": share(counts, "still", "held"),
        "by_application": counts,
    }
    known = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    if not options.only:
        FILE.write_text(json.dumps(known | {half: figures}, indent=1) + "\n", encoding="utf-8")
    line = {"name": "history", "half": half} | {key: value for key, value in figures.items() if key != "by_application"}
    if not options.only:
        with LOG.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


if __name__ == "__main__":
    main()
