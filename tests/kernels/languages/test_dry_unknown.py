"""The dry run where values come from memory: gathers, loops that data ends, waiting, and atomics in shared memory."""

from __future__ import annotations

import pytest

from foretell.kernels.languages.dry import Launch, Observation, observe
from foretell.kernels.languages.dry.numbers import BUFFER_BITS

INDEX, TABLE = 1 << BUFFER_BITS, 2 << BUFFER_BITS
_HEAD = """
.version 8.7
.target sm_90a
.visible .entry one(.param .u64 one_param_0, .param .u64 one_param_1)
{
	ld.param.u64 	%rd1, [one_param_0];
	ld.param.u64 	%rd2, [one_param_1];
	mov.u32 	%r1, %tid.x;
"""


def _seen(body: str, threads: int = 32, tile_bytes: int = 0) -> Observation:
    launch = Launch("one", (1, 1, 1), (threads, 1, 1), _HEAD + body + "\tret;\n}\n", ())
    pointers = {"one_param_0": INDEX, "one_param_1": TABLE}
    return observe(launch, lambda name, offset, width: pointers.get(name), 9, tile_bytes)


GATHER = """
	mul.wide.s32 	%rd3, INDEXED, 4;
	add.s64 	%rd4, %rd1, %rd3;
	ld.global.u32 	%r2, [%rd4];
	mad.lo.s32 	%r3, %r2, 1024, OFFSET;
	mul.wide.s32 	%rd5, %r3, 4;
	add.s64 	%rd6, %rd2, %rd5;
	ld.global.f32 	%f1, [%rd6+64];
"""


@pytest.mark.parametrize(
    "indexed, offset, sectors",
    [("%r1", "0", 32), ("0", "%r1", 4), ("%r1", "%r1", 32), ("0", "0", 4)],
    ids=["each lane its own row", "all lanes one row", "each lane its own place", "one place, in order"],
)
def test_lanes_are_apart_if_each_loaded_its_own_index(indexed: str, offset: str, sectors: int) -> None:
    seen = _seen(GATHER.replace("INDEXED", indexed).replace("OFFSET", offset))
    table = seen.usual.buffers["load", TABLE >> BUFFER_BITS]
    assert table.fresh == sectors
    assert table.unknown == 1.0
    assert table.cost == 4.0  # what features of a model are made of stays as it was


def test_what_comes_from_memory_decides_no_branch() -> None:
    branch = "\tld.global.u32 %r2, [%rd1];\n\tsetp.eq.s32 %p1, %r2, 0;\n\t@%p1 bra END;\n"
    seen = _seen(branch + "\tst.global.u32 [%rd2], %r1;\nEND:\n")
    assert not seen.usual.decided
    assert ("store", TABLE >> BUFFER_BITS) in seen.usual.buffers


def test_waiting_at_a_barrier_is_not_followed_round_after_round() -> None:
    wait = "mbarrier.try_wait.parity.shared.b64 p, [%r9], 0;"
    seen = _seen(
        f"{{\n.reg .pred p;\nWAIT:\n{wait}\n@p bra DONE;\nbra WAIT;\nDONE:\n}}\n\tst.global.u32 [%rd2], %r1;\n"
    )
    assert not seen.usual.cut
    assert seen.usual.decided
    assert seen.usual.instructions < 20


def test_a_loop_that_only_data_ends_is_left_after_a_few_rounds() -> None:
    loop = "LOOP:\n\tld.global.u32 %r2, [%rd1];\n\tsetp.eq.s32 %p1, %r2, 0;\n\t@%p1 bra END;\n\tbra LOOP;\nEND:\n"
    seen = _seen(loop + "\tst.global.u32 [%rd2], %r1;\n")
    assert not seen.usual.cut
    assert not seen.usual.decided
    assert 1 < seen.usual.classes["load"] < 100
    assert seen.usual.classes["store"] == 1


def test_where_one_way_is_too_long_the_other_is_taken_and_said_to_be_doubtful() -> None:
    long = "\tmov.u32 %r5, 0;\nLOOP:\n\tadd.s32 %r5, %r5, 1;\n\tsetp.lt.s32 %p2, %r5, 1000000;\n\t@%p2 bra LOOP;\n"
    seen = _seen(f"\tld.global.u32 %r2, [%rd1];\n\tsetp.eq.s32 %p1, %r2, 0;\n\t@%p1 bra END;\n{long}END:\n")
    assert seen.usual.cut
    assert seen.usual.instructions < 100


def test_atomics_of_shared_memory_are_no_traffic() -> None:
    seen = _seen(
        "\tld.global.u32 %r2, [%rd1];\n\tatom.shared.add.u32 %r3, [%r2], 1;\n\tred.global.add.u32 [%rd2], 1;\n"
    )
    assert seen.usual.shared_atomics == 32
    assert [home for kind, home in seen.usual.buffers if kind == "atomic"] == [TABLE >> BUFFER_BITS]


LOADS = "\tld.global.u64 %rd7, [%rd1];\n\tld.global.u32 %r4, [%rd8];\n"


@pytest.mark.parametrize(
    "body, rounds",
    [
        (LOADS.replace("%rd8", "%rd2"), 1.0),
        (LOADS.replace("%rd8", "%rd7"), 2.0),
        (LOADS.replace("%rd8", "%rd2").replace("\n\tld.global.u32", "\n\tbar.sync 0;\n\tld.global.u32"), 2.0),
        ("\tcp.async.cg.shared.global [%r9], [%rd1], 16;\n\tcp.async.wait_group 3;\n", 0.25),
        ("\tcp.async.cg.shared.global [%r9], [%rd1], 16;\n\tcp.async.wait_all;\n", 1.0),
    ],
    ids=["together", "one needs the other", "a barrier between", "four groups on their way", "one group"],
)
def test_rounds_of_waiting_for_memory(body: str, rounds: float) -> None:
    assert _seen(body).busiest.rounds == rounds


def test_tiles_stored_by_tensor_maps_are_traffic() -> None:
    body = "\tcp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd3, {%r1, %r1}], [%r9];\n"
    lead = "\tsetp.eq.s32 %p1, %r1, 0;\n\t@%p1 " + body.strip() + "\n"
    assert _seen(lead, tile_bytes=8192).usual.traffic["store"].bytes == 8192
    assert _seen(lead).usual.traffic["store"].bytes == 0


def test_sectors_touched_again_in_the_same_block_are_not_fresh() -> None:
    body = "\tmul.wide.s32 %rd3, %r1, 16;\n\tadd.s64 %rd4, %rd1, %rd3;\n"
    body += "".join(f"\tld.global.u32 %r{5 + part}, [%rd4+{4 * part}];\n" for part in range(4))
    loads = _seen(body).usual.buffers["load", INDEX >> BUFFER_BITS]
    assert (loads.cost, loads.fresh) == (64.0, 16.0)
