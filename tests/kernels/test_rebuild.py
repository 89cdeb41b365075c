"""Building recorded candidates again: only with the toolchain they were measured with, resumably."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from foretell.kernels.corpus import rebuild
from foretell.kernels.propose.triton import templates


def _row(index: int, toolchain: str) -> dict[str, Any]:
    template = templates()["softmax"]
    candidate = template.candidate(template.settings()[index])
    return {
        "id": candidate.id, "task": "softmax", "kind": "gpu", "language": "triton", "source": candidate.source,
        "toolchain": toolchain, "features": [("registers", 1.0)], "speedup": 2.0,
    }  # fmt: skip


def test_features_are_read_anew_and_put_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path / "cache"))
    here = f"sm_90, torch 2, {rebuild.installed()}"
    rows = [_row(0, here), _row(1, here), {**_row(2, here), "features": []}]
    into = tmp_path / "features.jsonl"
    assert rebuild.rebuild(rebuild.wanting(rows, set())[:1], into, processes=1) == 1
    with into.open("a") as file:
        file.write('{"torn')
    known = dict(rebuild.told(into))
    assert len(known) == 1 and len(rebuild.wanting(rows, set(known))) == 1
    [name] = known
    assert known[name]["registers"] > 8 and "loop_depth" in known[name]
    fresh = {r["id"]: dict(r["features"]) for r in rebuild.applied(rows, known)}
    assert fresh[name] == known[name] and sum(f == {"registers": 1.0} for f in fresh.values()) == 1


def test_a_build_that_failed_this_time_is_wanted_again(tmp_path: Path) -> None:
    here = f"sm_90, torch 2, {rebuild.installed()}"
    row, into = _row(0, here), tmp_path / "features.jsonl"
    into.write_text(json.dumps({"id": row["id"], "features": {}, "status": "infrastructure"}) + "\n")
    assert dict(rebuild.told(into)) == {} and rebuild.wanting([row], set(dict(rebuild.told(into)))) == [row]


def test_another_toolchain_is_refused() -> None:
    with pytest.raises(rebuild.OtherToolchain, match=r"triton 1\.0"):
        rebuild.wanting([_row(0, "sm_90, torch 2, triton 1.0, nvrtc 13.0")], set())
