"""benchmarks/results/redteam.json from the log of a round of the red team, and the tables that count its attempts.

    python -m benchmarks.redteam [LOG ROUND]

LOG has one JSON object per line, as an attacker wrote it: n, area, idea, counted (or why not), outcome (refused or
through), evidence, repeat. What was done about attempts is in benchmarks/redteam_answers.json, by round and number: the
test that tries it again; or, of one that went through, `contract: ` and what the task promises, or `open: ` and why.
Without a LOG, answers and tables are written anew. Tables are in docs/threat_model.md and, by round, in
benchmarks/results/trust_rounds.json (for `python -m benchmarks.trust.page`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULT, PAGE = Path("benchmarks/results/redteam.json"), Path("docs/threat_model.md")
ANSWERS, ROUNDS = Path("benchmarks/redteam_answers.json"), Path("benchmarks/results/trust_rounds.json")
BEGIN, END = "<!-- redteam.json -->\n", "<!-- end of redteam.json -->\n"
AREAS = {
    "cpu bench": "CPU bench",
    "gpu bench": "GPU bench",
    "builders": "builders",
    "recorders": "recorders",
    "files": "received files",
}
_NOT_COUNTED = ("no", "NOT COUNTED", "not counted")
_PLACES = re.compile(r"/(?:tmp|work|root|home)/[^\s,;:)]*")  # of the attacker's machine
_OWN_FILES = re.compile(r" ?\([^()]*\.(?:txt|cpp)\b[^()]*\)|(?<=; )[^;]*\.txt[^;]*; |\b\w+\.txt(?:; |$)")
_STATES = {"contract: ": "by contract", "open: ": "open"}
Row = dict[str, Any]


def attempts(log: Sequence[str], round_: int, answers: Mapping[str, str]) -> list[Row]:
    """The attempts of one round; KeyError if one went through and `answers` does not say what was done about it."""
    return [_attempt(json.loads(line), round_, answers) for line in log if line.strip()]


def _attempt(told: Mapping[str, Any], round_: int, answers: Mapping[str, str]) -> Row:
    row = {
        "round": round_,
        "number": told["n"],
        "area": told["area"],
        "idea": _plain(told["idea"]),
        "counted": not told["counted"].startswith(_NOT_COUNTED),
        "outcome": told["outcome"],
        "evidence": _plain(told["evidence"]),
        "repeat": _plain(told["repeat"]),
    }
    return answered(row, answers)


def _plain(words: str) -> str:
    """The words without names of files that only the attacker has."""
    return _PLACES.sub("a file", _OWN_FILES.sub("", words))


def answered(row: Row, answers: Mapping[str, str]) -> Row:
    """The attempt with what was done about it: `state`, and the `test` that tries it again or `because`."""
    if row["outcome"] != "through":
        return row | {"state": "refused", "test": answers.get(str(row["number"]), ""), "because": ""}
    answer = answers[str(row["number"])]
    for prefix, state in _STATES.items():
        if answer.startswith(prefix):
            return row | {"state": state, "test": "", "because": answer.removeprefix(prefix)}
    return row | {"state": "closed", "test": answer, "because": ""}


def counted(rows: Sequence[Row], round_: int, area: str | None = None) -> list[Row]:
    return [r for r in rows if r["round"] == round_ and r["counted"] and area in (None, r["area"])]


def successes(rows: Sequence[Row]) -> int:
    return sum(row["outcome"] == "through" for row in rows)


def table(rows: Sequence[Row]) -> str:
    """Counted attempts of every round by area: how many went through, and what became of those."""
    head = ("round", "area", "attempts counted", "went through", "closed since", "by contract", "open")
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    rounds = sorted({row["round"] for row in rows})
    for round_ in rounds:
        for area in AREAS:
            tried = counted(rows, round_, area)
            states = [row["state"] for row in tried]
            shown = (states.count(state) for state in ("closed", "by contract", "open"))
            if tried:
                cells = (round_, area, len(tried), successes(tried), *shown)
                lines.append(f"| {' | '.join(map(str, cells))} |")
    clean = [str(round_) for round_ in rounds if not successes(counted(rows, round_))]
    lines += ["", f"Of these rounds, without a success: {', '.join(clean) or 'none'}."]
    return "\n".join(lines) + "\n"


def by_round(rows: Sequence[Row], before: Sequence[Row]) -> list[Row]:
    """The rounds for the page on trust: those of `before` that have no list of attempts, and those of `rows`."""
    listed = sorted({row["round"] for row in rows})
    found = [row for row in before if row["round"] not in listed]
    for round_ in listed:
        tried = counted(rows, round_)
        target = ", ".join(words for area, words in AREAS.items() if any(row["area"] == area for row in tried))
        found.append({
            "round": round_, "target": target, "counted": len(tried), "successes": successes(tried),
            "reported": "[threat model](../threat_model.md)",
        })  # fmt: skip
    return found


def _lines(rows: Sequence[Row], indent: str = "") -> str:
    return "[\n" + ",\n".join(indent + json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def main(arguments: Sequence[str]) -> None:
    answers: dict[str, dict[str, str]] = json.loads(ANSWERS.read_text())
    rows: list[Row] = json.loads(RESULT.read_text())
    rows = [answered(row, answers.get(str(row["round"]), {})) for row in rows]
    if arguments:
        log, round_ = Path(arguments[0]), int(arguments[1])
        others = [row for row in rows if row["round"] != round_]
        rows = others + attempts(log.read_text().splitlines(), round_, answers.get(str(round_), {}))
    RESULT.write_text(_lines(rows))
    ROUNDS.write_text(_lines(by_round(rows, json.loads(ROUNDS.read_text())), " "))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(rows)}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main(sys.argv[1:])
