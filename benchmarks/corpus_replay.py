"""Policies over the recorded measurements of operations that no training saw: how soon each has a kernel near the best.

    python -m benchmarks.corpus_replay --seeds 20 --jobs 2

Figures go to benchmarks/results/corpus_replay.json; `python -m benchmarks.search_page` makes the page. It is what
`foretell replay` does, for all held-out operations and families of `data/`. In *stream* candidates come 16 at a time in
random order, as from a proposer; in *whole* all are there from the start, which nobody has but a tuner of a listed
space; in *unlimited* as many may be measured as there are; else four are considered for each that may be measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from foretell.kernels.replay.compare import CONSIDERED, NEAR, Contender, Effort, compare
from foretell.kernels.replay.grounds import read
from foretell.kernels.replay.standing import standings

RESULTS = Path("benchmarks/results/corpus_replay.json")
PLACES = (1, 2, 3, 5, 8, 12, 20, 30, 50)  # measurements after which the best so far is told
STRATEGY = "puct"
EVERYTHING = 10_000
NAMED: Mapping[str, Contender] = {
    "random": Contender("random", STRATEGY),
    "top, frozen": Contender("top", STRATEGY, "features"),
    "selective, learning": Contender("selective", STRATEGY, "online"),
    "value, frozen": Contender("value", STRATEGY, "features"),
    "value, learning": Contender("value", STRATEGY, "online"),
}
MODES: Mapping[str, tuple[Effort, Mapping[str, Contender]]] = {
    "stream": (Effort(), NAMED),
    "whole": (Effort(batch=EVERYTHING), {name: NAMED[name] for name in ("random", "top, frozen", "value, learning")}),
    "unlimited": (Effort(measurements=EVERYTHING), {"random order": Contender("all", STRATEGY)}),
}


def run(seeds: int, jobs: int) -> None:
    grounds = read([Path("data")]).grounds()
    names = [ground.name for ground in grounds]
    rows: list[dict[str, Any]] = []
    for mode, (effort, named) in MODES.items():
        done = [run for runs in compare(grounds, list(named.values()), seeds, effort, jobs) for run in runs]
        for one in standings(sorted(done, key=lambda run: (run.ground, run.seed))):
            name = next(name for name, contender in named.items() if contender == one.contender)
            told = one.to_dict(names)
            del told["curve"]
            after = [round(one.mean[min(k, len(one.mean)) - 1], 4) for k in PLACES]
            rows.append({"mode": mode, "contender": name, "after": after} | told)
            print(mode, name, one.until, [one.until_low, one.until_high], round(one.reached, 3), after, flush=True)
    about = {"seeds": seeds, "operations": len(grounds), "places": PLACES, "near": NEAR, "considered": CONSIDERED}
    RESULTS.write_text(json.dumps({"machine": describe(), **about, "rows": rows}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    run(chosen.seeds, chosen.jobs)


if __name__ == "__main__":
    main()
