"""Records the labelled proposals that the GUI critic is trained and measured on, from real pages.

    python -m benchmarks.gui_collect                      # into runs/gui; goes on where it stopped
    python -m benchmarks.gui_collect --count              # only writes results/gui_data.json

Every task page with an oracle, a number of seeds each. The folder is in the form of foretell.gui.dataset.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from foretell.gui.bench.collect import Plan, collect, early_stops, in_order, summary
from foretell.gui.bench.oracles import TASKS
from foretell.gui.bench.pages import Page
from foretell.gui.dataset import read_rows, write_rows
from foretell.gui.history import Historian
from foretell.gui.ocr import Ocr

FOLDER = Path("runs/gui")
RESULTS = Path(__file__).parent / "results" / "gui_data.json"
FIRST_SEED = 100  # other benchmarks use others


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--bad", type=int, default=Plan.bad, help="bad proposals a moment")
    parser.add_argument("--moments", type=int, default=Plan.moments, help="moments an episode")
    parser.add_argument("--early-stops", action="store_true", help="add them to what an older version recorded")
    parser.add_argument("--count", action="store_true", help="record nothing, only count what is there")
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if options.early_stops:
        rows = list(read_rows(options.folder))
        write_rows(options.folder, in_order([*rows, *early_stops(rows)]))
    elif not options.count:
        seeds = range(options.first, options.first + options.seeds)
        with Page() as page:
            plan = Plan(options.moments, options.bad)
            collect(page, Historian(Ocr()), options.folder, options.tasks, seeds, plan, partial(print, flush=True))
    found = summary(list(read_rows(options.folder)))
    options.into.parent.mkdir(parents=True, exist_ok=True)
    options.into.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: found[name] for name in ("proposals", "good_share", "classes")}))


if __name__ == "__main__":
    main()
