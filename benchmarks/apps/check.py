"""Validates the recorded proposals of both halves without showing any, and writes their counts and hashes.

    python -m benchmarks.apps.check DATA [--installed FOLDER]     # writes results/apps_data.json

Checks: every picture is there and has its walk's size; points lie on the screen unless the rule says otherwise; right
clicks lie in their target and missed ones outside; right and wrong proposals of every class are there; and where the
DOM has links with a text, that text is read in the picture (a picture of another layout is none of it).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.apps.install import by_name
from benchmarks.apps.label import DETAILS
from benchmarks.apps.moment import Element, read_moments
from benchmarks.apps.split import DESKTOP, RESULTS, draw
from foretell.gui.actions import Kind, Point
from foretell.gui.dataset import FILE, Row, load_image, read_rows
from foretell.gui.judgement import ErrorClass
from foretell.gui.ocr import Ocr
from foretell.gui.wording import part_of

HALVES = {"development": "dev", "held_out": "heldout"}
OFF_SCREEN = frozenset(("outside the screen",))
LEAST_LETTERS, MOST_HEIGHT_PX = 4, 48.0  # of a label of one line
LEAST_LETTER_PX = 5.0  # of width for each letter: in a narrower box a label is cut off, as in a drawer of icons
LEAST_LABELS = 10  # of an application of which that can be said
LEAST_READ = 0.5  # of an application's labels: the rest is small, faint, cut off or drawn otherwise
_READ = 0.6  # of a label's words


@lru_cache(maxsize=8192)
def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture; its pixels are not read."""
    from PIL import Image

    with Image.open(path) as file:
        return file.size


def faults(folder: Path, row: Row, detail: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a row, in words."""
    size = tuple(detail["size"])
    path = folder / row.image
    if not path.is_file():
        yield "has no picture"
    elif picture_size(path) != size:
        yield f"has a picture of {picture_size(path)}, not {size}"
    for action in row.proposal.actions:
        if action.point is None:
            continue
        if not action.point.inside(*size) and detail["rule"] not in OFF_SCREEN:
            yield "points outside the screen"
        inside = detail["box"] is not None and _holds(detail["box"], action.point)
        if action.kind is Kind.CLICK and not row.bad and not inside:
            yield "is right but lies outside its target"
        if row.error is ErrorClass.GROUNDING and inside:
            yield "is said to miss its target but lies in it"
    if not row.goal.strip():
        yield "has no goal"
    if row.bad == (detail["rule"] == "right"):
        yield f"has the label bad={row.bad} and the rule {detail['rule']}"


def _holds(box: Sequence[float], point: Point) -> bool:
    x, y, width, height = box
    return x - 1 <= point.x <= x + width + 1 and y - 1 <= point.y <= y + height + 1


def counted(folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """Counts, hash and faults of a half."""
    rows = list(read_rows(folder))
    lines = (folder / DETAILS).read_text("utf-8").splitlines()
    details = {one["id"]: one for one in map(json.loads, lines)}
    found = Counter(text for row in rows for text in faults(folder, row, details[row.id]))
    classes = Counter(row.error.value for row in rows if row.error is not None)
    by_name = {name: [row for row in rows if row.task == name] for name in names}
    reader = Ocr()
    in_place = {name: read_in_place(folder, name, reader) for name, own in by_name.items() if own}
    unread = Counter(
        f"shows the labels of {name} elsewhere"
        for name, one in in_place.items()
        if one["labels"] >= LEAST_LABELS and one["read"] < LEAST_READ * one["labels"]
    )
    return {
        "proposals": len(rows),
        "right": sum(not row.bad for row in rows),
        "pictures": len({row.image for row in rows}),
        "applications": sum(bool(own) for own in by_name.values()),
        "desktop_programs": sum(bool(own) for name, own in by_name.items() if name in DESKTOP),
        "missing": sorted(name for name, own in by_name.items() if not own),
        "classes": {error.value: classes[error.value] for error in ErrorClass},
        "sizes": dict(Counter("x".join(map(str, details[row.id]["size"])) for row in rows)),
        "themes": dict(Counter(details[row.id]["theme"] for row in rows)),
        "by_application": {
            name: {"right": sum(not row.bad for row in own), "wrong": sum(row.bad for row in own)}
            for name, own in by_name.items()
            if own
        },
        "faults": dict(found + unread),
        "labels_read": in_place,
        "sha256": hashlib.sha256((folder / FILE).read_bytes()).hexdigest(),
        "pictures_sha256": _pictures_digest(folder, sorted({row.image for row in rows})),
    }


def labelled(elements: Sequence[Element]) -> Iterator[Element]:
    """Links whose text should stand where they are; buttons may be icons."""
    for one in elements:
        is_label = one.role == "link" and one.named_by == "text" and one.visible and not one.covered
        fits = one.box[2] >= LEAST_LETTER_PX * len(one.name) and one.box[3] <= MOST_HEIGHT_PX
        if is_label and fits and len(one.name) >= LEAST_LETTERS:
            yield one


def read_in_place(folder: Path, name: str, reader: Ocr) -> dict[str, int]:
    """How many links the first picture of each walk of an application should show, and how many are read there."""
    checked = read = 0
    for moment in read_moments(folder, name):
        if moment.number:
            continue
        words = reader.read(load_image(folder / moment.image))
        for one in labelled(moment.elements):
            here = " ".join(word.text for word in words if _crosses(word.box, one.box))
            checked += 1
            read += part_of(one.name, here) >= _READ
    return {"labels": checked, "read": read}


def _crosses(line: Sequence[float], box: Sequence[float]) -> bool:
    """Whether a line of text, which may hold several labels, runs through a box."""
    left, top, width, height = box
    beside = line[0] < left + width and left < line[0] + line[2]
    return beside and line[1] - 2 <= top + height / 2 <= line[1] + line[3] + 2


def _pictures_digest(folder: Path, names: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode())
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def versions(folder: Path) -> dict[str, str]:
    """The version of each installed application."""
    found = {}
    for one in by_name([]):
        package = re.split(r"(?<=.)@|[<\[]", one.packages[0])[0]
        home = folder / one.name
        manifest = home / "node_modules" / package / "package.json"
        if one.source == "npm" and manifest.is_file():
            found[one.name] = str(json.loads(manifest.read_text("utf-8"))["version"])
        elif one.source == "pypi":
            name = package.replace("-", "_").lower()
            metadata = [p.name.removesuffix(".dist-info") for p in home.glob("venv/lib/*/site-packages/*.dist-info")]
            known = {text.rpartition("-")[0].replace("-", "_").lower(): text.rpartition("-")[2] for text in metadata}
            found[one.name] = known.get(name, "?")
        elif one.source == "debian":
            ask = ["dpkg-query", "-W", "-f", "${Version}", package]
            found[one.name] = subprocess.run(ask, capture_output=True, text=True).stdout or "?"
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--installed", type=Path, help="where the applications are, to note their versions")
    parser.add_argument("--into", type=Path, default=RESULTS / "apps_data.json")
    options = parser.parse_args(arguments)
    halves = {
        name: counted(options.data / folder, draw()[name])
        for name, folder in HALVES.items()
        if (options.data / folder / FILE).is_file()
    }
    result = {
        "proposals": sum(one["proposals"] for one in halves.values()),
        "applications": sum(one["applications"] for one in halves.values()),
        **halves,
        "versions": versions(options.installed) if options.installed else {},
    }
    options.into.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, one in halves.items():
        print(name, {key: one[key] for key in ("proposals", "right", "applications", "missing", "faults")})


if __name__ == "__main__":
    main()
