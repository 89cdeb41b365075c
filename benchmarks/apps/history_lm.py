"""The history that a vision-language model writes, against what the DOM says; asked and judged by files.

    python -m benchmarks.apps.history_lm draw FOLDER DATA/dev DATA/heldout       # questions for a reader
    python -m benchmarks.apps.history_lm read FOLDER                             # answers.txt becomes answers.jsonl
    python -m benchmarks.apps.history_lm judge FOLDER DATA/dev DATA/heldout      # claims of both historians, shuffled
    python -m benchmarks.apps.history_lm score FOLDER                            # writes results/apps_history_lm.json

Drawn steps of the recorded walks of web applications. `draw` asks as `LanguageHistorian(pictures=True)` does; a reader
answers. `judge` puts what it added to the record, and what the rules added, before a second reader, without saying who
wrote what, beside what the DOM says of the step; that reader says which sentences are true, and whether the record
tells what was achieved. The first reader does not see the DOM, the second not the pictures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps.evaluate import LOG, REPLICATES
from benchmarks.apps.history import changed, keyed, state
from benchmarks.apps.install import by_name
from benchmarks.apps.moment import FOLDER, Element, Moment, read_moments
from benchmarks.apps.split import RESULTS, is_held_out
from benchmarks.apps.vlm import index_of, write
from foretell.belief import cluster_bootstrap
from foretell.gui.dataset import load_image
from foretell.gui.history import Historian
from foretell.gui.history_lm import SYSTEM, LanguageHistorian, read_answer
from foretell.gui.ocr import Ocr
from foretell.lm.files import FileModel
from foretell.lm.model import Reply, Request

FILE = RESULTS / "apps_history_lm.json"
JUDGE, KEY = "judge", "judge.key.json"
COUNT = 60
AUTHORS = ("model", "rules")
FACTS, TEXT_CHARACTERS = 14, 60  # told of a step
_RULES = f"""Answer by what the texts and pictures say and nothing else. The two pictures of a question are the changed
area of the screen before and after the action, one above the other. For each question add one line to `answers.txt`:

    001 | effect | achieved; achieved; ...

one sentence on what the last action visibly did, then the whole record after the action, sentences separated by
semicolons (no vertical bars or semicolons within them); a single - where the record is empty. The task, as a model is
given it:

{SYSTEM}"""
_JUDGE = """Below are steps that were executed in applications, what the application itself says changed by each, and
records that two writers, A and B, made of it without knowing that. The list of changes may be cut short, and knows
nothing of what is drawn on a canvas. Judge every sentence: t (true by the list), f (contradicted by it, or claims what
the list would have to show and does not), u (cannot be told). Then whether the sentences of each writer tell what the
step achieved, if only in part: y or n. One line per question into `answers.txt`:

    001 | A ttf y | B - n

with one letter per sentence in their order, - where there is none."""


@dataclass(frozen=True)
class Transition:
    """A step of a walk with the moments before and after it."""

    folder: Path
    before: Moment
    after: Moment

    @property
    def name(self) -> str:
        return f"{self.before.application} {self.before.episode} {self.before.number}"


def transitions(folder: Path) -> Iterator[Transition]:
    """All steps of the walks of web applications of a half whose effect was recorded."""
    desktop = {one.name for one in by_name([]) if one.desktop}
    for path in sorted((folder / FOLDER).glob("*.jsonl")):
        if path.stem in desktop:
            continue
        for _, walk in groupby(read_moments(folder, path.stem), key=lambda one: one.episode):
            for before, after in pairwise(walk):
                if before.planned is not None and after.history.count == before.history.count + 1:
                    yield Transition(folder, before, after)


def in_turn(folder: Path) -> Iterator[Transition]:
    """The steps of a half in an order drawn by hash, applications and kinds of actions in turn."""
    left = sorted(transitions(folder), key=lambda one: hashlib.sha256(one.name.encode()).hexdigest())
    seen: Counter[str] = Counter()
    while left:
        best = min(left, key=lambda one: (seen[one.before.application], seen[_kind(one)]))
        left.remove(best)
        seen.update((best.before.application, _kind(best)))
        yield best


def _kind(one: Transition) -> str:
    assert one.before.planned is not None
    return f"kind {one.before.planned.action.kind}"


def asked(one: Transition, historian: LanguageHistorian) -> tuple[Request, list[str]] | None:
    """The request about a step, and what the rules claim of it; None where nothing changed, and no model is asked."""
    before, after = (load_image(one.folder / moment.image) for moment in (one.before, one.after))
    planned, history = one.before.planned, one.before.history
    assert planned is not None
    changes, effect = historian.embedded.look(history, before, after, planned.action)
    if not changes.changed:
        return None
    request = historian.request(history, before, after, planned.action, planned.intent, changes, effect)
    return request, [claim.sentence for claim in effect.claims]


def questions(some: Sequence[tuple[str, Request]]) -> str:
    """All questions as one text."""
    own = [f"# {name}\n\n{request.messages[1].content}" for name, request in some]
    return "\n\n".join([_RULES, *own])


def draw(folder: Path, data: Sequence[Path]) -> None:
    """Write the questions for the first reader; what the rules claim stands beside the folder."""
    model = FileModel(folder, pictures=True)
    historian = LanguageHistorian(model, Historian(Ocr()), pictures=True)
    requests, rules = [], {}
    for half in data:
        found = ((one.name, question) for one in in_turn(half) if (question := asked(one, historian)) is not None)
        for name, (request, claims) in islice(found, COUNT // len(data)):
            requests.append((name, request))
            rules[name] = claims
    write(folder, model, requests, questions)
    _rules_of(folder).write_text(json.dumps(rules, indent=0), encoding="utf-8")


def _rules_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.rules.json")


def read(folder: Path) -> None:
    """Lines of the first reader as answers; ValueError names a line that is not one."""
    requests = {one["number"]: one["request"] for one in json.loads(index_of(folder).read_text("utf-8"))}
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as file:
        for line in filter(None, map(str.strip, (folder / "answers.txt").read_text("utf-8").splitlines())):
            parts = [part.strip() for part in line.split("|")]
            if len(parts) != 3 or parts[0] not in requests:
                raise ValueError(f"not an answer of the form number | effect | achieved; ...: {line!r}")
            achieved = [] if parts[2] == "-" else [one.strip() for one in parts[2].split(";") if one.strip()]
            told = {"achieved": achieved, "effect": parts[1]}
            file.write(json.dumps({"id": requests[parts[0]], "text": json.dumps(told)}) + "\n")


def facts(one: Transition) -> Iterator[str]:
    """What the DOM says that a step changed, in lines."""
    was, now = keyed(one.before.elements), keyed(one.after.elements)
    for number, element in enumerate(changed(one.before, one.after)):
        if number == FACTS:
            yield "- and more elements"
            break
        name = next(name for name in (*now, *was) if (now.get(name) or was.get(name)) is element)
        what = f"{element.role} {element.name[:TEXT_CHARACTERS]!r}"
        if name not in was or name not in now:
            yield f"- {'new' if name in now else 'gone'}: {what}{_value(element)}"
        else:
            words = ("value", "checked", "focused", "disabled", "visible", "covered", "place")
            pairs = zip(words, state(was[name]), state(now[name]), strict=True)
            yield f"- {what}: " + ", ".join(f"{w} {a!r} -> {b!r}" for w, a, b in pairs if a != b)
    lines, after = (moment.text.splitlines() for moment in (one.before, one.after))
    for title, some in (("text that came", set(after) - set(lines)), ("text that went", set(lines) - set(after))):
        if some:
            yield f"- {title}: " + " / ".join(repr(text[:TEXT_CHARACTERS]) for text in sorted(some)[:FACTS])
    if one.before.dialog != one.after.dialog:
        yield f"- a dialog was {'opened' if one.after.dialog else 'closed'}"


def _value(element: Element) -> str:
    return f", value {element.value[:TEXT_CHARACTERS]!r}" if element.value else ""


def judge(folder: Path, data: Sequence[Path]) -> None:
    """Write what the second reader is asked; who wrote what stands beside the folder."""
    steps = {one.name: one for half in data for one in transitions(half)}
    model = FileModel(folder, pictures=True)
    historian = LanguageHistorian(model, Historian(Ocr()), pictures=True)
    rules = json.loads(_rules_of(folder).read_text("utf-8"))
    key, parts = [], [_JUDGE]
    for entry in json.loads(index_of(folder).read_text("utf-8")):
        one = steps[entry["row"]]
        question = asked(one, historian)
        (reply,) = model.ask([question[0]]) if question is not None else (None,)
        answer = read_answer(reply.text) if isinstance(reply, Reply) else None
        if answer is None:
            continue
        claims = {
            "model": [text for text in answer[0] if text not in one.before.history.achieved],
            "rules": rules[one.name],
        }
        order = random.Random(one.name).sample(AUTHORS, 2)
        planned = one.before.planned
        assert planned is not None
        text = [f"# {entry['number']}", f"Executed: {planned.action.to_dict()} ({planned.intent})", "Changes:"]
        text += list(facts(one)) or ["- none that the application knows of"]
        for letter, author in zip("AB", order, strict=True):
            text.append(f"{letter} wrote:")
            text += [f"  {number}. {said}" for number, said in enumerate(claims[author], 1)] or ["  (nothing)"]
        parts.append("\n".join(text))
        key.append(
            {
                "number": entry["number"],
                "application": one.before.application,
                "order": order,
                "claims": {author: len(claims[author]) for author in AUTHORS},
            }
        )
    (folder / JUDGE).mkdir(exist_ok=True)
    (folder / JUDGE / "questions.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    folder.with_name(f"{folder.name}.{KEY}").write_text(json.dumps(key, indent=0), encoding="utf-8")


def verdicts(line: str, order: Sequence[str], counts: dict[str, int]) -> dict[str, tuple[str, bool]]:
    """Letters and coverage by author in a line of the second reader. Raises ValueError for a line that is not one."""
    parts = [part.split() for part in line.split("|")[1:]]
    found = {}
    for letter, author, part in zip("AB", order, parts, strict=True):
        if len(part) != 3 or part[0] != letter or part[2] not in "yn" or not set(part[1]) <= set("tfu-"):
            raise ValueError(f"not a verdict on {letter}: {line!r}")
        letters = part[1].strip("-")
        if len(letters) != counts[author]:
            raise ValueError(f"{counts[author]} sentences of {letter}, {len(letters)} verdicts: {line!r}")
        found[author] = letters, part[2] == "y"
    return found


def score(folder: Path) -> None:
    """Figures of both historians by half, as the second reader sees them, and log it."""
    lines = (folder / JUDGE / "answers.txt").read_text("utf-8").splitlines()
    told = {line.partition("|")[0].strip(): line for line in lines if line.strip()}
    result: dict[str, Any] = {"when": datetime.now(UTC).isoformat(timespec="seconds")}
    key = json.loads(folder.with_name(f"{folder.name}.{KEY}").read_text("utf-8"))
    for half, held_out in (("development", False), ("held_out", True)):
        own = [one for one in key if one["number"] in told and is_held_out(one["application"]) is held_out]
        read_off = [verdicts(told[one["number"]], one["order"], one["claims"]) for one in own]
        groups = np.array([one["application"] for one in own])
        result[half] = {"steps": len(own), "applications": len(set(groups.tolist()))}
        for author in AUTHORS:
            letters = [one[author][0] for one in read_off]
            sure = [sum(map(text.count, "tf")) for text in letters]
            result[half][author] = {
                "claims": sum(map(len, letters)),
                "cannot_be_told": sum(text.count("u") for text in letters),
                "claims_true": _share([text.count("t") for text in letters], sure, groups),
                "achieved_and_claimed": _share([one[author][1] for one in read_off], [1] * len(own), groups),
            }
    FILE.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    with LOG.open("a", encoding="utf-8") as file:
        short = {author: result["held_out"][author]["claims_true"] for author in AUTHORS}
        file.write(
            json.dumps({"name": "model-written history", "when": result["when"], "half": "held_out"} | short) + "\n"
        )
    print(json.dumps(result, indent=1))


def _share(parts: Sequence[float], wholes: Sequence[int], groups: Any) -> dict[str, Any] | None:
    if not sum(wholes):
        return None

    def ratio(p: Any, w: Any) -> float:
        return float(p.sum() / w.sum()) if w.sum() else 0.0

    p, w = np.array(parts, float), np.array(wholes, float)
    found = cluster_bootstrap(ratio, p, w, groups=groups, replicates=REPLICATES)
    return {"share": round(ratio(p, w), 4), "interval": [round(found.low, 4), round(found.high, 4)], "of": int(w.sum())}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("draw", "read", "judge", "score"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path, nargs="*")
    options = parser.parse_args(arguments)
    if options.verb in ("draw", "judge"):
        (draw if options.verb == "draw" else judge)(options.folder, options.data)
    else:
        (read if options.verb == "read" else score)(options.folder)


if __name__ == "__main__":
    main()
