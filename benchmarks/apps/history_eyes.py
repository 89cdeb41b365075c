"""Claims of the history that the DOM does not bear out, looked at: a canvas draws what no element holds.

    python -m benchmarks.apps.history_eyes draw FOLDER DATA/heldout      # FOLDER/questions.md and FOLDER/pictures
    python -m benchmarks.apps.history_eyes score FOLDER                  # writes results/apps_history_eyes.json

A reader that sees writes FOLDER/answers.txt: lines `number | yes` (or `no`, `unclear`). It is not told which claims are
in doubt. Among them are as many that the DOM bears out, and as many false ones: claims about other steps of the same
application that the DOM does not bear out where they are put. Both are drawn of applications without a claim in doubt.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from benchmarks.apps.history import is_true
from benchmarks.apps.install import by_name
from benchmarks.apps.moment import FOLDER, Moment, read_moments
from benchmarks.apps.split import RESULTS
from foretell.gui.bench.truth import Watched
from foretell.gui.claims import Claim
from foretell.gui.dataset import load_image
from foretell.gui.history import History
from foretell.gui.ocr import Ocr

FILE = RESULTS / "apps_history_eyes.json"
DOUBTED, TRUE, FALSE = "doubted", "true by the DOM", "of another step"
ANSWERS = ("yes", "no", "unclear")
LEAST_CONTROLS = 10
_RULES = """Each question shows the screens before and after one action on an application
(pictures/NUMBER-before.png with a red ring where the action points, pictures/NUMBER-after.png), and a sentence about
what the action has achieved. Look at both pictures and say whether the sentence is true of the screen after the action.
Answer in answers.txt, a line each:

    NUMBER | yes        (or no, or unclear)"""


@dataclass(frozen=True)
class Claimed:
    """A claim about one step, and whether the DOM bears it out."""

    before: Moment
    after: Moment
    claim: Claim
    borne_out: bool


def claims(folder: Path, names: Sequence[str]) -> Iterator[Claimed]:
    """All claims of the embedded historian about the recorded walks, as `benchmarks.apps.history` counts them."""
    historian = Watched(Ocr())
    for name in names:
        for _, walk in groupby(read_moments(folder, name), key=lambda one: one.episode):
            history = History()
            for before, after in pairwise(walk):
                if before.planned is None or after.history.count != before.history.count + 1:
                    break
                planned, historian.last = before.planned, None
                images = (load_image(folder / one.image) for one in (before, after))
                history = historian.update(history, *images, planned.action, planned.intent)
                for claim in historian.last.claims if historian.last is not None else ():
                    yield Claimed(before, after, claim, is_true(claim, before, after))


def chosen(found: Sequence[Claimed]) -> list[tuple[str, Claimed]]:
    """Every claim in doubt, and controls drawn by hash of applications without any."""
    doubted = [one for one in found if not one.borne_out]
    odd = {one.before.application for one in doubted}
    sound = sorted((one for one in found if one.before.application not in odd), key=_hash)
    count = max(LEAST_CONTROLS, len(doubted))
    put = []
    for step in sound:
        for other in sound:
            same = other.before.application == step.before.application and other.claim.sentence != step.claim.sentence
            moved = Claimed(step.before, step.after, other.claim, False)
            if same and other.claim.text and not is_true(other.claim, step.before, step.after):
                put.append(moved)
                break
    kinds = [(DOUBTED, doubted), (TRUE, sound[:count]), (FALSE, sorted(put, key=_hash)[:count])]
    return sorted(((kind, one) for kind, some in kinds for one in some), key=lambda each: _hash(each[1]))


def _hash(one: Claimed) -> str:
    return hashlib.sha256(f"{one.before.image} {one.claim.sentence}".encode()).hexdigest()


def draw(folder: Path, data: Path) -> None:
    desktop = {one.name for one in by_name([]) if one.desktop}
    names = sorted({path.stem for path in (data / FOLDER).glob("*.jsonl")} - desktop)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    index, lines = [], [_RULES]
    for number, (kind, one) in enumerate(chosen(list(claims(data, names))), 1):
        name, planned = f"{number:03}", one.before.planned
        assert planned is not None
        picture = Image.fromarray(load_image(data / one.before.image))
        point = planned.action.point
        if point is not None:
            ring = (point.x - 14, point.y - 14, point.x + 14, point.y + 14)
            ImageDraw.Draw(picture).ellipse(ring, outline="red", width=3)
        picture.save(folder / "pictures" / f"{name}-before.png")
        Image.fromarray(load_image(data / one.after.image)).save(folder / "pictures" / f"{name}-after.png")
        typed = f", text {planned.action.text!r}" if planned.action.text else ""
        lines.append(f"# {name}\n\nAction: {planned.action.kind.value}{typed}\n\nSentence: {one.claim.sentence}")
        about = {"application": one.before.application, "sort": one.claim.sort.value}
        index.append({"number": name, "kind": kind} | about)
    (folder / "questions.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    _index_of(folder).write_text(json.dumps(index, indent=0) + "\n", encoding="utf-8")
    print(f"{len(index)} questions")


def _index_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.index.json")  # out of the reader's sight


def score(folder: Path) -> dict[str, Any]:
    """What the reader saw, by kind and application; ValueError names a line that is no answer."""
    index = {one["number"]: one for one in json.loads(_index_of(folder).read_text("utf-8"))}
    answers: dict[str, str] = {}
    for line in filter(None, map(str.strip, (folder / "answers.txt").read_text("utf-8").splitlines())):
        number, _, said = (part.strip() for part in line.partition("|"))
        if number not in index or said not in ANSWERS:
            raise ValueError(f"not an answer of the form number | {'|'.join(ANSWERS)}: {line!r}")
        answers[number] = said
    missing = sorted(index.keys() - answers.keys())
    if missing:
        raise ValueError(f"no answer to {', '.join(missing)}")
    rows = [one | {"seen": answers[number]} for number, one in index.items()]
    counts = {
        kind: {said: sum(row["seen"] == said for row in rows if row["kind"] == kind) for said in ANSWERS}
        for kind in (DOUBTED, TRUE, FALSE)
    }
    return {"counts": counts, "doubted": [row for row in rows if row["kind"] == DOUBTED]}


def section(seen: dict[str, Any] | None, of: int) -> Iterator[str]:
    """The part of docs/results/apps.md; `of` is how many claims were made."""
    if not seen:
        return
    doubted, sound, false = (seen["counts"][kind] for kind in (DOUBTED, TRUE, FALSE))
    true = of - sum(doubted.values()) + doubted["yes"]
    yield (
        f"A canvas tells the DOM nothing of what is drawn on it. So a frontier vision-language model looked at the "
        f"{sum(doubted.values())} held-out claims that the DOM does not bear out, not knowing which they are "
        f"(`python -m benchmarks.apps.history_eyes`): it holds {doubted['yes']} for true, {doubted['no']} for false "
        f"and {doubted['unclear']} for unclear. Of claims mixed in between it calls {sound['yes']} of "
        f"{sum(sound.values())} true that the DOM bears out, and {false['no']} of {sum(false.values())} false that "
        f"belong to another step. By the DOM or, where it says no, by eye {true / of:.3f} of {of} claims are true."
    )
    yield ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["draw", "score"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path, nargs="?")
    options = parser.parse_args(arguments)
    if options.what == "draw":
        if options.data is None:
            parser.error("draw needs DATA")
        draw(options.folder, options.data)
        return
    found = score(options.folder)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found["counts"], indent=1))


if __name__ == "__main__":
    main()
