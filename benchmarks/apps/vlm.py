"""A vision-language model on proposals of real applications, asked by files and blind to the labels.

    python -m benchmarks.apps.vlm draw DATA/dev FOLDER --count 100
    python -m benchmarks.apps.vlm read FOLDER              # answers.txt, one line per question, becomes answers.jsonl

`draw` asks the product's own `VisionCritic` about a sample: its requests and their pictures lie in FOLDER, and for a
reader the same as `questions.md` with one picture per question in `sheets/` (the marked screen above the crop). Which
row a question is about stands in FOLDER.index.json, beside the folder; labels stay where the data are.
`python -m benchmarks.apps.vlm_figures` computes the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.apps.install import by_name
from foretell.gui import vision_prompt
from foretell.gui.actions import Platform
from foretell.gui.dataset import Row, load_image, read_rows
from foretell.gui.observation import Observation
from foretell.gui.vision import VisionCritic
from foretell.lm.files import FileModel
from foretell.lm.model import Request

RIGHT_SHARE = 0.55
SHEET_PX = 1280
ANSWER = ("number", "p_bad", "error", *vision_prompt.RATIONALE)
_RULES = """Answer by what the pictures show and nothing else. For each question add one line to `answers.txt` here:

    001 | p_bad | error | under_mark | effect | serves_goal

`p_bad` from 0 to 1, `error` one of the names below or none, then the three sentences (short; no vertical bars).
"""


def sample(rows: Sequence[Row], count: int, right_share: float = RIGHT_SHARE) -> list[Row]:
    """Rows drawn by hash: right ones in turn by application, wrong ones in turn by class, then by application."""
    order = sorted(rows, key=lambda row: hashlib.sha256(row.id.encode()).hexdigest())
    right = round(count * right_share)
    chosen = in_turn([row for row in order if not row.bad], right)
    chosen += in_turn([row for row in order if row.bad], count - right)
    random.Random(count).shuffle(chosen)
    return chosen


def in_turn(rows: Sequence[Row], count: int) -> list[Row]:
    """That many rows, each of the class and then of the application that were drawn least often so far."""
    drawn: Counter[str] = Counter()
    left = list(rows)
    found: list[Row] = []
    while left and len(found) < count:
        best = min(left, key=lambda row: (drawn[f"class {row.error}"], drawn[row.task], drawn[row.image]))
        left.remove(best)
        found.append(best)
        drawn.update((f"class {best.error}", best.task, best.image))
    return found


def observation(folder: Path, row: Row) -> Observation:
    """What a critic sees of a row."""
    desktop = {one.name for one in by_name([]) if one.desktop}
    platform: Platform = "desktop" if row.task in desktop else "web"
    return Observation(row.goal, load_image(folder / row.image), row.step, platform)


def asked(folder: Path, row: Row, critic: VisionCritic) -> Request:
    """The request that the critic makes for a row."""
    seen = observation(folder, row)
    return critic.request(seen, row.proposal, row.history, critic.pictures(seen, row.proposal))


def draw(data: Path, folder: Path, count: int) -> None:
    """Write the requests for a sample, sheets for a reader, and the index."""
    model = FileModel(folder, pictures=True)
    critic = VisionCritic(model)
    rows = sample(list(read_rows(data)), count)
    write(folder, model, [(row.id, asked(data, row, critic)) for row in rows], page)


def write(
    folder: Path,
    model: FileModel,
    requests: Sequence[tuple[str, Request]],
    text: Callable[[Sequence[tuple[str, Request]]], str],
) -> None:
    """Ask a model that answers by files; for a reader all questions as one text and a sheet of pictures for each.

    `requests` have the names of what they are about, which stand in the index only.
    """
    index, questions = [], []
    for number, (row, request) in enumerate(requests, 1):
        model.ask([request])
        name = f"{number:03}"
        _sheet(request, folder / "sheets" / f"{name}.png")
        questions.append((name, request))
        index.append({"number": name, "request": request.id, "row": row})
    (folder / "questions.md").write_text(text(questions), encoding="utf-8")
    index_of(folder).write_text(json.dumps(index, indent=0) + "\n", encoding="utf-8")


def index_of(folder: Path) -> Path:
    """Where it stands which row each question is about."""
    return folder.with_name(f"{folder.name}.index.json")


def page(questions: Sequence[tuple[str, Request]]) -> str:
    """All questions as one text: what they share once, and of each what is its own."""
    system = questions[0][1].messages[0].content
    shared = f"## Ways to be wrong\n{vision_prompt.table()}\n\n## Answer\n{vision_prompt.asked_for()}"
    own = [
        f"# {name}\n\n{request.messages[1].content.partition('## Ways to be wrong')[0]}" for name, request in questions
    ]
    return "\n\n".join([_RULES, system, shared, *own])


def _sheet(request: Request, path: Path) -> None:
    """The pictures of a request below each other, none wider than the sheet; no sheet where there are none."""
    from PIL import Image

    pictures = [Image.open(BytesIO(one.data)).convert("RGB") for one in request.messages[1].images]
    if not pictures:
        return
    scaled = []
    for one in pictures:
        scale = min(1.0, SHEET_PX / one.width)
        scaled.append(one.resize((round(one.width * scale), round(one.height * scale)), Image.Resampling.LANCZOS))
    sheet = Image.new("RGB", (max(one.width for one in scaled), sum(one.height + 8 for one in scaled)), (255, 0, 255))
    top = 0
    for one in scaled:
        sheet.paste(one, (0, top))
        top += one.height + 8
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)


def answers(lines: Iterable[str], index: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Lines of a reader as answers to requests; ValueError names a line that is not one."""
    requests = {one["number"]: one["request"] for one in index}
    found = []
    for line in (line.strip() for line in lines):
        if not line:
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != len(ANSWER) or parts[0] not in requests:
            raise ValueError(f"not an answer of the form {' | '.join(ANSWER)}: {line!r}")
        number, p_bad, error, *sentences = parts
        told = dict(zip(vision_prompt.RATIONALE, sentences, strict=True)) | {"p_bad": float(p_bad), "error": error}
        found.append({"id": requests[number], "text": json.dumps(told)})
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    drawing = verbs.add_parser("draw")
    drawing.add_argument("data", type=Path)
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("--count", type=int, default=150)
    reading = verbs.add_parser("read")
    reading.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.verb == "draw":
        draw(options.data, options.folder, options.count)
        return
    index = json.loads(index_of(options.folder).read_text("utf-8"))
    text = (options.folder / "answers.txt").read_text("utf-8")
    lines = answers(text.splitlines(), index)
    (options.folder / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    print(f"{len(lines)} answers of {len(index)} questions")


if __name__ == "__main__":
    main()
