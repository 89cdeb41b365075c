"""Virtual measurements per second when the driver of a search is replayed over a recorded tuning space, on one core.

python -m benchmarks.replay_speed FOLDER/SPACE.parquet     # to benchmarks/results/replay_speed.json
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.machine import describe
from foretell.kernels.policy import POLICIES, make_policy
from foretell.kernels.profiles import THOROUGH, Budgets
from foretell.kernels.replay import spaces
from foretell.kernels.replay.bench import FrozenForecasts, PoolProposer, ReplayBench
from foretell.kernels.replay.search import replay_search
from foretell.kernels.replay.space_pool import LANGUAGE, space_pool
from foretell.kernels.search import SearchConfig, make_strategy

RESULTS = Path("benchmarks/results/replay_speed.json")
BUDGETS = (200, 2000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("space", type=Path)
    pool = space_pool(spaces.read(parser.parse_args().space))
    bench, proposer, forecaster = ReplayBench(pool), PoolProposer(pool), FrozenForecasts.flat(pool)
    rows = []
    for name in POLICIES:
        for budget in BUDGETS:
            profile = replace(THOROUGH, budgets=Budgets(budget, 1e9, 100_000))
            parts = (forecaster, make_strategy("puct", profile), make_policy(name, profile))
            config = SearchConfig(LANGUAGE, 0, profile)
            started = time.process_time()
            state = replay_search(pool, *parts, config, bench=bench, proposer=proposer).run()
            seconds = time.process_time() - started
            row = {"policy": name, "measured": state.measured, "considered": state.considered}
            rows.append(row | {"measured_per_s": round(state.measured / seconds)})
            print(rows[-1])
    RESULTS.write_text(json.dumps({"machine": describe(), "space": pool.name, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
