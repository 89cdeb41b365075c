"""docs/results/acceptance.md and benchmarks/results/acceptance.json from the rows of the other scripts.

    python -m benchmarks.acceptance.page ROWS_FOLDER

ROWS_FOLDER holds set.json (draw), mark.jsonl and time.jsonl (plain), measure.jsonl, record.jsonl (without a GPU) and
record_gpu.jsonl; what is missing is left out of the page.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

RESULT, PAGE = Path("benchmarks/results/acceptance.json"), Path("docs/results/acceptance.md")
LONG_US = 300.0  # from here on KernelBench's event timing is compared with: launch overhead matters less
LEAST_US = 1.0  # a graph that takes less has captured nothing
HEAD = """\
# Acceptance: kernels that other people and language models wrote

Made by the scripts in `benchmarks/acceptance/`; data in `benchmarks/results/acceptance.json`. The set: 200 rows, drawn
by a committed seed from the 1,738 rows of a table of language-model-written kernels that are recorded as correct and
have a reference, and 60 Triton kernels that an independent language model wrote for problems in KernelBench form. A
plain evaluator (`plain.py`) marks rows first: *reduced precision* (root mean square error against float64 more than 4
times that of eager float32), *result caching* (wrong after new data was written into the same tensors). It also shows
what is *wrong* or *fails* on this GPU by itself, although the table records it as correct; figures are given with and
without those.

Our speedups are of device time with a cold L2. `do_bench_cudagraph` as it is leaves L2 warm, which matters for problems
that fit into it; *L2 cold* is the same tool with L2 overwritten before each call, less the time of overwriting. The
events time eager calls (compared from 0.3 ms on). Recorded on the GPU: by torch 2.11 and Triton 3.6, and a replay
there reproduces the candidate's outputs. Recorded without a GPU: by torch 2.13 and Triton 3.9, on an ARM machine.
Device time did not suffice to measure all rows again after the last changes: the statuses of those counted as measured
*in an earlier run* are of the commit before, their speedups were not kept, and the comparison with other timers, whose
figures are of that run too, was not repeated. Some of the rows measured now (the last ten) and six ask/tell searches
([ask and tell](ask_tell.md)) went through the walls around the GPU bench.
"""


def read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}


def share(count: int, total: int) -> str:
    return f"{count} of {total} ({count / total:.1%})" if total else "none"


def one_line(text: str) -> str:
    """A message as it can stand in a table."""
    return " ".join(text.replace("|", "/").split())[:140]


def kind_of(mark: dict[str, Any]) -> str:
    if not mark.get("runs"):
        return "fails"
    if not mark["right"]:
        return "wrong"
    if mark["caches_results"]:
        return "result caching"
    return "reduced precision" if mark["reduced_precision"] else "unmarked"


def apart(left: float, right: float) -> float:
    return abs(math.log(left / right))


def agreement(measured: dict[str, Any], timed: dict[str, Any]) -> dict[str, Any]:
    """Differences between our speedups and those of the plain timers."""
    graph, cold, event = [], [], []
    for row_id, row in measured.items():
        plain = timed.get(row_id)
        if row["status"] != "ok" or plain is None or "reference" not in plain:
            continue
        reference, candidate = plain["reference"], plain["candidate"]
        for figure, found in (("graph_us", graph), ("cold_graph_us", cold)):
            if row["timed"] == "graph" and min(reference.get(figure, 0.0), candidate.get(figure, 0.0)) > LEAST_US:
                found.append(apart(row["speedup"], reference[figure] / candidate[figure]))
        if min(candidate["event_us"], reference["event_us"]) >= LONG_US:
            event.append(apart(row["speedup"], reference["event_us"] / candidate["event_us"]))
    return {
        name: {
            "rows": len(values),
            "median": statistics.median(values),
            "within_3_percent": sum(v <= 0.03 for v in values),
        }
        for name, values in (
            ("do_bench_cudagraph, L2 cold", cold),
            ("do_bench_cudagraph, L2 warm", graph),
            ("events", event),
        )
        if values
    }


def summary(rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    marks, timed = read(folder / "mark.jsonl"), read(folder / "time.jsonl")
    measured = read(folder / "measure.jsonl")
    recorded = {name: read(folder / f"{name}.jsonl") for name in ("record", "record_gpu")}
    kinds = {row["id"]: kind_of(marks[row["id"]]) for row in rows if row["id"] in marks}
    honest = [row_id for row_id, kind in kinds.items() if kind == "unmarked"]
    unmarked = [row_id for row_id, kind in kinds.items() if kind in ("unmarked", "wrong", "fails")]
    result: dict[str, Any] = {"rows": len(rows), "marks": dict(Counter(kinds.values()))}
    if measured:
        result["measured"] = len(measured)
        result["statuses"] = {
            kind: dict(Counter(measured[i]["status"] for i, k in kinds.items() if k == kind and i in measured))
            for kind in sorted(set(kinds.values()))
        }
        for name, ids in (("honest", honest), ("unmarked", unmarked)):
            seen = [measured[i] for i in ids if i in measured]
            result[f"measured_{name}"] = {
                "rows": len(seen),
                "ok": sum(row["status"] == "ok" for row in seen),
                "timed": dict(Counter(row["timed"] for row in seen if row["status"] == "ok")),
            }
        builds = [row["build_s"] for row in measured.values() if row["build_s"]]
        result["build_s"] = {"median": statistics.median(builds), "most": max(builds)} if builds else {}
        result["agreement"] = agreement(measured, timed)
        result["refusals"] = [
            {"id": i, "mark": kinds.get(i, "?"), "status": row["status"], "message": row["message"][:200]}
            for i, row in measured.items()
            if row["status"] != "ok"
        ]
    for name, entries in recorded.items():
        seen = [entries[i] for i in honest if i in entries]
        if seen:
            reasons = Counter(row.get("refusal") or row.get("failure", "")[:80] or "recorded" for row in seen)
            result[name] = {"rows": len(seen), "recorded": reasons["recorded"], "reasons": dict(reasons.most_common())}
            seconds = [row["record_s"] for row in seen if row.get("record_s") is not None]
            result[name]["median_s"] = statistics.median(seconds) if seconds else None
    result["by_row"] = [
        row_facts(row_id, kind, measured.get(row_id), {name: entries.get(row_id) for name, entries in recorded.items()})
        for row_id, kind in kinds.items()
    ]
    return result


def row_facts(row_id: str, kind: str, measured: dict[str, Any] | None, recorded: dict[str, Any]) -> dict[str, Any]:
    """What each script said of one row, without the row's text."""
    facts: dict[str, Any] = {"id": row_id, "mark": kind}
    if measured is not None:
        facts |= {
            key: measured[key] for key in ("status", "timed", "speedup", "low", "high") if measured[key] is not None
        }
    for name, entry in recorded.items():
        if entry is not None:
            refusal = entry.get("refusal") or entry.get("failure")
            facts[name] = f"{refusal}: {entry.get('sentence', '')}"[:200] if refusal else "recorded"
    return facts


def page(result: dict[str, Any]) -> str:
    lines = [HEAD, "| what | figure | asked |", "| --- | --- | --- |"]
    marks = ", ".join(f"{count} {kind}" for kind, count in sorted(result["marks"].items()))
    lines.append(f"| plain evaluator | {marks} | |")
    if 0 < result.get("measured", 0) < result["rows"]:
        lines.append(f"| measured so far | {share(result['measured'], result['rows'])} | all |")
    if "measured_honest" in result:
        for name, words in (("honest", "unmarked and right by the plain evaluator"), ("unmarked", "all unmarked")):
            figures = result[f"measured_{name}"]
            ways = ", ".join(f"{count} {way}" for way, count in figures["timed"].items())
            lines.append(f"| measured `ok`, {words} | {share(figures['ok'], figures['rows'])}; {ways} | 95 % |")
    for name, words, asked in (("record_gpu", "recorded on the GPU", 85), ("record", "recorded without a GPU", 80)):
        if name in result:
            figures = result[name]
            lines.append(f"| {words} | {share(figures['recorded'], figures['rows'])} | {asked} % |")
    for name, figures in result.get("agreement", {}).items():
        words = f"median {figures['median']:.1%}, {figures['within_3_percent']} of {figures['rows']} within 3 %"
        lines.append(f"| speedup against `{name}` | {words} | 3 % (median) |")
    if result.get("build_s"):
        lines.append(
            f"| build, median (slowest) | {result['build_s']['median']:.1f} s ({result['build_s']['most']:.1f} s) | |"
        )
    for name, words in (("record_gpu", "on the GPU"), ("record", "without a GPU")):
        reasons = {k: v for k, v in result.get(name, {}).get("reasons", {}).items() if k != "recorded"}
        if reasons:
            lines += ["", f"## Not recorded {words}", "", "| reason | rows |", "| --- | --- |"]
            lines += [f"| {reason} | {count} |" for reason, count in reasons.items()]
            lines += ["", "| row | reason |", "| --- | --- |"]
            lines += [
                f"| {row['id']} | {one_line(row[name])} |"
                for row in result["by_row"]
                if row["mark"] == "unmarked" and row.get(name, "recorded") != "recorded"
            ]
    if result.get("refusals"):
        lines += [
            "",
            "## Not measured `ok`",
            "",
            "| row | plain evaluator | status | reason |",
            "| --- | --- | --- | --- |",
        ]
        for row in result["refusals"]:
            lines.append(f"| {row['id']} | {row['mark']} | {row['status']} | {one_line(row['message'])} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    result = summary(json.loads((folder / "set.json").read_text()), folder)
    if not result.get("agreement") and RESULT.exists():  # no plain timers this time: what they said before is kept
        result["agreement"] = json.loads(RESULT.read_text())["agreement"]
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    PAGE.write_text(page(result))


if __name__ == "__main__":
    main()
