"""How busy a search keeps its device, from the journals of finished runs: wall-clock, device time, and deciding.

    foretell search OPERATION --language triton --policy value --no-catalogue --measurements 24 --run runs/OPERATION
    python -m benchmarks.utilisation runs/OPERATION ...          # writes results/utilisation.json

What is neither device time nor deciding is proposing and, for the most part, building: a forecast after the build needs
every candidate compiled, measured or not.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "utilisation.json"


def of_run(folder: Path) -> dict[str, Any]:
    """One finished run's seconds; ValueError where its journal has no end."""
    events = [json.loads(line) for line in (folder / "journal.jsonl").read_text("utf-8").splitlines()]
    if not events or events[-1]["event"] != "finished":
        raise ValueError(f"{folder} is not a finished run")
    rounds = [event["payload"] for event in events if event["event"] == "round"]
    config: Mapping[str, Any] = events[0]["payload"]["config"]
    wall_s = events[-1]["t"] - events[0]["t"]
    device_s = events[-1]["payload"]["seconds"]
    decide_s = sum(one["decide_s"] for one in rounds)
    considered = sum(len(one["children"]) for one in rounds)
    return {
        "task": config["task"],
        "policy": config["policy"],
        "considered": considered,
        "measured": sum(event["event"] == "measured" for event in events),
        "wall_s": round(wall_s, 2),
        "device_s": round(device_s, 2),
        "decide_s": round(decide_s, 2),
        "decide_ms_per_candidate": round(1000.0 * decide_s / max(1, considered), 2),
        "busy": round(device_s / wall_s, 4),
        "idle_for_decisions": round(decide_s / wall_s, 4),
    }


def section(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Part of the page of results."""
    yield from ("", "## How busy the device is", "")
    yield (
        "`foretell search OPERATION --language triton --policy value` on the H200, the machine's processors shared "
        "with other work (`python -m benchmarks.utilisation`):"
    )
    yield ""
    yield "| operation | considered | measured | wall s | device s | busy | deciding s | a candidate |"
    yield "| --- |" + " --- |" * 7
    for row in rows:
        yield (
            f"| {row['task']} | {row['considered']} | {row['measured']} | {row['wall_s']:.1f} | "
            f"{row['device_s']:.1f} | {row['busy']:.1%} | {row['decide_s']:.1f} | "
            f"{row['decide_ms_per_candidate']:.1f} ms |"
        )
    yield ""
    waits = max(row["idle_for_decisions"] for row in rows)
    yield (
        f"Decisions keep the device waiting for at most {waits:.1%} of the time. It idles for the compiler: every "
        "candidate is built before it is forecast, and building takes far longer than a measurement. What is saved is "
        "device time, not wall-clock; on a device that several searches share, that is what counts."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    found = [of_run(folder) for folder in options.runs]
    options.into.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in found:
        print(row)


if __name__ == "__main__":
    main()
