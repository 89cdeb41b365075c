from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.measurement import Status
from foretell.kernels.replay import spaces
from foretell.kernels.replay.spaces import BadSpace, Space
from tests.kernels.replay import world


def same(a: Space, b: Space) -> bool:
    tables = np.array_equal(a.codes, b.codes) and np.array_equal(a.time_ms, b.time_ms, equal_nan=True)
    return tables and (a.kernel, a.device, a.parameters, a.status) == (b.kernel, b.device, b.parameters, b.status)


def test_a_table_is_read_whole_with_its_failures(tmp_path: Path) -> None:
    space = spaces.read(world.write_table(tmp_path))
    assert (space.name, space.kernel, space.device) == ("tiny__gpu", "tiny", "Some GPU")
    assert space.restrictions == (world.RESTRICTION,)
    assert space.parameters["block"] == (16, 32, 64, 128, 256)
    assert len(space) == len(world.rows()) == 28
    failed = [i for i in range(len(space)) if space.status[i] is not Status.OK]
    assert [space.status[i] for i in failed] == [Status.COMPILE_ERROR] * 2
    assert all(space.config(i)["block"] == 16 and space.config(i)["tile"] == 4 for i in failed)
    assert np.isnan(space.time_ms[failed]).all()
    best = space.config(int(np.nanargmin(space.time_ms)))
    assert best == {"block": 64, "tile": 4, "mode": 1, "fixed": 7}
    assert space.best_ms == 1.0


def test_a_cache_file_gives_the_same_space_without_what_broke_a_restriction(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json.gz"
    path.write_bytes(gzip.compress(json.dumps(world.cache()).encode()))
    assert same(spaces.read(path), spaces.read(world.write_table(tmp_path)))


def test_a_cache_file_that_was_left_open_is_read(tmp_path: Path) -> None:
    text = json.dumps(world.cache())
    assert text.endswith("}}")
    path = tmp_path / "tiny.json"
    path.write_text(text[:-2] + ",\n")
    assert len(spaces.read(path)) == 28


def test_an_early_cache_file_marks_failures_by_a_huge_time(tmp_path: Path) -> None:
    cache = world.cache()
    cache["cache"]["16,4,0,7"]["time"] = 1e20
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(cache))
    space = spaces.read(path)
    row = next(i for i in range(len(space)) if tuple(space.config(i).values()) == (16, 4, 0, 7))
    assert space.status[row] is Status.LAUNCH_ERROR and np.isnan(space.time_ms[row])


def test_rows_are_found_again_in_another_order_of_parameters(tmp_path: Path) -> None:
    here = spaces.read(world.write_table(tmp_path))
    cache = world.cache()
    cache["tune_params_keys"] = ["mode", "tile", "block"]  # and without the one that does not vary
    del cache["cache"]["32,2,1,7"]
    path = tmp_path / "other.json"
    path.write_text(json.dumps(cache))
    there = spaces.read(path)
    rows = here.rows_in(there)
    assert (rows < 0).sum() == 1
    for i, j in enumerate(rows):
        if j >= 0:
            assert all(here.config(i)[name] == value for name, value in there.config(int(j)).items())
        else:
            assert here.config(i)["block"] == 32


def test_a_parameter_that_varies_on_one_side_only_is_refused(tmp_path: Path) -> None:
    here = spaces.read(world.write_table(tmp_path))
    cache = world.cache()
    cache["tune_params_keys"] = ["tile", "block"]
    cache["cache"] = {key: record for key, record in cache["cache"].items() if record["mode"] == 0}
    path = tmp_path / "other.json"
    path.write_text(json.dumps(cache))
    with pytest.raises(BadSpace, match="varies mode"):
        here.rows_in(spaces.read(path))


@pytest.mark.parametrize("text", ["not json", "[]", "{}", '{"cache": {}}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BadSpace):
        spaces.read(path)


def test_a_value_outside_its_parameter_is_refused(tmp_path: Path) -> None:
    cache = world.cache()
    cache["cache"]["32,2,1,7"]["block"] = 33
    path = tmp_path / "x.json"
    path.write_text(json.dumps(cache))
    with pytest.raises(BadSpace, match="33"):
        spaces.read(path)


def test_a_card_may_have_no_restrictions(tmp_path: Path) -> None:
    path = world.write_table(tmp_path)
    card = json.loads(path.with_suffix(".json").read_text())
    card["restrictions_upstream"] = None
    path.with_suffix(".json").write_text(json.dumps(card))
    assert spaces.read(path).restrictions == ()
