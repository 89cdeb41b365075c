"""benchmarks/results/redteam.json from the log of a round of the red team, and its table in docs/threat_model.md.

    python -m benchmarks.redteam [LOG ROUND]

LOG has one JSON object per line, as an attacker wrote it: n, area, idea, counted (or why not), outcome (refused or
through), evidence, repeat. What was done about an attempt that went through is FIXES, below. Without a LOG the table is
written from redteam.json as it is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULT, PAGE = Path("benchmarks/results/redteam.json"), Path("docs/threat_model.md")
BEGIN, END = "<!-- redteam.json -->\n", "<!-- end of redteam.json -->\n"
AREAS = ("cpu bench", "builders", "recorders", "files")
_NOT_COUNTED = "NOT COUNTED"
_OWN_FILES = re.compile(r" ?\([^()]*\.(?:txt|cpp)\b[^()]*\)|(?<=; )[^;]*\.txt[^;]*; |\b\w+\.txt(?:; |$)")
_TABLES, _PLANS = "tests/kernels/evaluate/test_pools.py", "tests/kernels/test_corpus.py"
_TRACES, _INPUTS = "tests/gui/test_trace_received.py", "tests/redteam/test_peeking.py"
# By round and number: the test that holds it closed, or why it is open.
FIXES: dict[int, dict[int, str]] = {
    3: {
        6: "open: errors without bias stay within the tolerance of a mean",
        8: _INPUTS,
        9: _INPUTS,
        10: "open: variance in one pass is within the tolerance at the means that are drawn",
        11: "open: arguable, no byte beyond the bins is drawn",
        14: "tests/redteam/test_cpu.py",
        15: "open: a slow kernel may hold the bench for as long as its limits allow",
        22: "open: by design, a kernel may be made for the sizes that the task names",
        24: _INPUTS,
        27: "tests/kernels/languages/test_disassembly.py",
        28: "tests/kernels/test_candidate.py",
        33: "tests/kernels/languages/test_diagnostics.py",
        46: "tests/kernels/record/test_job.py",
        **dict.fromkeys(range(51, 61), _TABLES),
        **dict.fromkeys(range(61, 65), _TRACES),
        **dict.fromkeys(range(66, 71), _PLANS),
    }
}


def attempts(log: Sequence[str], round_: int) -> list[dict[str, Any]]:
    """The attempts of one round; KeyError if one went through and FIXES does not say what was done about it."""
    rows = []
    for line in log:
        told = json.loads(line)
        through = told["outcome"] == "through"
        fix = FIXES[round_][told["n"]] if through else ""
        rows.append(
            {
                "round": round_,
                "number": told["n"],
                "area": told["area"],
                "idea": _OWN_FILES.sub("", told["idea"]),
                "counted": not told["counted"].startswith(_NOT_COUNTED),
                "outcome": told["outcome"],
                "evidence": _OWN_FILES.sub("", told["evidence"]),
                "repeat": told["repeat"],
                "state": "refused" if not through else "open" if fix.startswith("open") else "closed",
                "closed_by": "" if fix.startswith("open") else fix,
                "open_because": fix.removeprefix("open: ") if fix.startswith("open") else "",
            }
        )
    return rows


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Counted attempts of every round by area: how many went through, and of those the closed and the open ones."""
    lines = ["| round | area | attempts counted | went through | closed since | open |", "| --- " * 6 + "|"]
    for round_ in sorted({row["round"] for row in rows}):
        for area in AREAS:
            counted = [r for r in rows if (r["round"], r["area"]) == (round_, area) and r["counted"]]
            states = [row["state"] for row in counted]
            closed, still = states.count("closed"), states.count("open")
            lines.append(f"| {round_} | {area} | {len(counted)} | {closed + still} | {closed} | {still} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> None:
    rows = json.loads(RESULT.read_text()) if RESULT.exists() else []
    if arguments:
        log, round_ = Path(arguments[0]), int(arguments[1])
        rows = [row for row in rows if row["round"] != round_] + attempts(log.read_text().splitlines(), round_)
        RESULT.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(rows)}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main(sys.argv[1:])
