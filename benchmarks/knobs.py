"""In how many kernels of other people the proposer `knobs` finds something to tune, and whether its edits hold.

    python -m benchmarks.knobs TABLE.parquet --builds 4     # benchmarks/results/knobs.json; the table is not committed

Texts: the Triton kernels of `benchmarks/acceptance/triton` and a seeded sample of the CUDA kernels in a table of
kernels by language models (columns candidate_code, language, status, dataset). Every variation in one knob has to
parse, to differ from the source, and the setting of the source has to give it back byte for byte; of some bare CUDA
files the source and two variations are compiled by nvcc, without a GPU.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

TRITON = Path(__file__).parent / "acceptance" / "triton"
RESULT = Path(__file__).parent / "results" / "knobs.json"
SAMPLE = 400
SEED = 22
VARIATIONS = 2  # of each text that is compiled


def looked_at(source: str, language: str) -> dict[str, Any]:
    """What is found in a text: its knobs, and whether variations in one knob keep its syntax."""
    from foretell.kernels.propose.knobs import NoKnobs, find_space

    began = time.perf_counter()
    try:
        space = find_space(source, language)
    except NoKnobs:
        return {"knobs": 0, "seconds": time.perf_counter() - began}
    seconds = time.perf_counter() - began
    variations = [space.render(setting) for setting in space.near(space.base, 1)]
    is_python = parses(source)
    broken = sum(text == source or (is_python and not parses(text)) for text in variations)
    changed = space.holds_source and space.render(space.base) != source
    kinds = sorted({knob.kind.value for knob in space.knobs})
    return {"knobs": len(space.knobs), "kinds": kinds, "variations": len(variations), "broken": broken + changed,
            "seconds": seconds}  # fmt: skip


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares and counts over texts."""
    found = [row for row in rows if row["knobs"]]
    kinds = Counter(kind for row in found for kind in row["kinds"])
    return {
        "texts": len(rows),
        "with_knobs": len(found),
        "variations": sum(row["variations"] for row in found),
        "broken": sum(row["broken"] for row in found),
        "knobs_per_text": round(sum(row["knobs"] for row in found) / max(1, len(found)), 2),
        "kinds": dict(kinds.most_common()),
        "slowest_s": round(max(row["seconds"] for row in rows), 2),
    }


def compiled(sources: list[str], count: int) -> dict[str, int]:
    """How many variations of bare CUDA files compile, of files that do so as they are."""
    from foretell.kernels.languages import extension
    from foretell.kernels.languages.extension.errors import ExtensionError
    from foretell.kernels.propose.knobs import find_space

    draw = random.Random(SEED)
    found: Counter[str] = Counter(files=0, variations=0, compile=0)
    for source in sources:
        if found["files"] == count:
            break
        space = find_space(source, "torch")
        settings = list(space.near(space.base, 1))
        try:
            extension.build(extension.bare_sources(source), "sm_90")
        except ExtensionError:
            continue
        found["files"] += 1
        for setting in draw.sample(settings, min(VARIATIONS, len(settings))):
            found["variations"] += 1
            try:
                extension.build(extension.bare_sources(space.render(setting)), "sm_90")
                found["compile"] += 1
            except ExtensionError as error:
                print({name: value for name, value in setting.items() if value != space.base[name]}, str(error)[-300:])
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--builds", type=int, default=4)
    arguments = parser.parse_args()
    import pyarrow.parquet as pq

    from foretell.kernels.languages import extension
    from foretell.kernels.languages.python_source import language_of

    triton = [looked_at(path.read_text(), "triton") for path in sorted(TRITON.glob("*.kernel.py"))]
    columns = ["candidate_code", "language", "status", "dataset"]
    table = pq.read_table(arguments.table, columns=columns).to_pylist()
    texts = sorted(
        {
            (row["dataset"], row["candidate_code"])
            for row in table
            if row["language"] == "cuda" and row["status"] == "ok" and row["candidate_code"]
        }
    )
    drawn = random.Random(SEED).sample(texts, min(SAMPLE, len(texts)))
    rows = [(dataset, text, looked_at(text, language_of(text))) for dataset, text in drawn]
    bare = [text for _, text, row in rows if row["knobs"] and extension.is_bare(text) and "torch" in text]
    result = {
        "triton": summary(triton),
        "cuda": summary([row for _, _, row in rows]),
        "cuda_by_dataset": {
            name: summary([row for dataset, _, row in rows if dataset == name])
            for name in sorted({d for d, _, _ in rows})
        },
        "compiled": compiled(bare, arguments.builds),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
