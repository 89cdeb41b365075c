"""Parts of the committed corpus: reading all of it takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "data"


def slice_of(tasks: Iterable[str], folder: Path) -> Path:
    """A corpus in `folder` with the rows of these tasks on a GPU."""
    import pyarrow.parquet as pq

    name = "corpus_gpu.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pq.read_table(CORPUS / name, filters=[("task", "in", sorted(tasks))]), folder / name)
    return folder
