"""The dry run against counts that can be made by hand."""

from __future__ import annotations

import math
import random

import pytest

from foretell.kernels.languages.dry import Launch, NotPtx, dry_features, observe, run_launch
from foretell.kernels.record import tracing

A, B = 1 << 42, 1 << 43

SCALE = """
.version 8.7
.target sm_90a
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .u64 .ptr .global .align 1 scale_param_1,
	.param .f32 scale_param_2,
	.param .u32 scale_param_3
)
.reqntid 128
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<11>;
	.loc	1 27 0
	ld.param.u64 	%rd3, [scale_param_0];
	ld.param.u64 	%rd4, [scale_param_1];
	ld.param.u32 	%r6, [scale_param_3];
	mov.u32 	%r1, %ntid.x;
	mov.u32 	%r7, %ctaid.x;
	mov.u32 	%r8, %tid.x;
	mad.lo.s32 	%r10, %r7, %r1, %r8;
	setp.ge.s32 	%p1, %r10, %r6;
	@%p1 bra 	$L__BB0_3;
	mov.u32 	%r9, %nctaid.x;
	mul.lo.s32 	%r3, %r9, %r1;
$L__BB0_2:   // the loop
	mul.wide.s32 	%rd5, %r10, STRIDE;
	add.s64 	%rd6, %rd3, %rd5;
	ld.global.f32 	%f2, [%rd6];
	mul.f32 	%f3, %f2, %f1;
	add.s64 	%rd7, %rd4, %rd5;
	st.global.f32 	[%rd7], %f3;
	add.s32 	%r10, %r10, %r3;
	setp.lt.s32 	%p2, %r10, %r6;
	@%p2 bra 	$L__BB0_2;
$L__BB0_3:
	ret;
}
"""


def _scale(stride: int, count: int, blocks: int) -> Launch:
    return Launch("scale", (blocks, 1, 1), (128, 1, 1), SCALE.replace("STRIDE", str(stride)), (A, B, None, count))


@pytest.mark.parametrize("stride, sectors_of_32_bytes", [(4, 4), (8, 8), (32, 32), (128, 32)])
def test_counts_every_byte_of_a_grid_stride_loop(stride: int, sectors_of_32_bytes: int) -> None:
    count = 128 * 40
    found = dry_features([_scale(stride, count, blocks=4)])  # ten rounds of the loop for each warp
    requests = count / 32
    assert 2 ** found["dry_load_log2"] - 1 == pytest.approx(requests)
    assert 2 ** found["dry_load_cost_log2"] - 1 == pytest.approx(requests * sectors_of_32_bytes * 32)
    assert 2 ** found["dry_store_bytes_log2"] - 1 == pytest.approx(requests * sectors_of_32_bytes * 32)
    assert found["dry_load_use"] == pytest.approx(4 / sectors_of_32_bytes)
    assert found["dry_load_lane_bytes"] == 4.0 and found["dry_active"] == 1.0
    assert found["dry_cut"] == 0.0 and found["dry_followed"] == 1.0


def test_a_ragged_end_is_done_by_fewer_lanes() -> None:
    found = dry_features([_scale(4, 20, blocks=1)])  # 20 of 128 threads have work
    assert 2 ** found["dry_load_log2"] - 1 == pytest.approx(1.0) and found["dry_load_lanes"] == pytest.approx(20 / 32)
    assert 0.3 < found["dry_active"] < 1.0


def test_a_loop_too_long_to_follow_is_cut_and_says_so() -> None:
    assert dry_features([_scale(4, 10**9, blocks=1)])["dry_cut"] == 1.0


def _kernel(body: str, shared: str = "") -> str:
    return f".visible .entry k(\n.param .u64 k_param_0\n)\n{{\n{shared}\n{body}\nret;\n}}\n"


@pytest.mark.parametrize("stride, passes", [(4, 1), (8, 2), (128, 32), (132, 1), (0, 1)])
def test_conflicts_between_banks(stride: int, passes: int) -> None:
    body = f"mov.u32 %r1, %tid.x; mad.lo.s32 %r2, %r1, {stride}, 0; ld.shared.b32 %r3, [ %r2 + 0 ];"
    found = dry_features([Launch("k", (1, 1, 1), (32, 1, 1), _kernel(body), (A,))])
    assert 2 ** found["dry_shared_load_cost_log2"] - 1 == pytest.approx(passes)


def test_wide_accesses_go_by_quarters_of_a_warp() -> None:
    body = "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; @%p9 st.shared.v4.b32 [%r2], {%r3, %r4, %r5, %r6};"
    found = dry_features([Launch("k", (1, 1, 1), (32, 1, 1), _kernel(body), (A,))])
    assert 2 ** found["dry_shared_store_cost_log2"] - 1 == pytest.approx(4.0) and found["dry_shared_store_use"] == 1.0


def test_what_comes_from_memory_is_not_known_and_ends_no_loop() -> None:
    body = """
    ld.param.u64 %rd1, [k_param_0];
    again: ld.global.b32 %r1, [%rd1];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra again;
    mul.wide.s32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.b32 %r2, [%rd3];
    """
    found = dry_features([Launch("k", (1, 1, 1), (32, 1, 1), _kernel(body), (A,))])
    assert (
        2 ** found["dry_load_log2"] - 1 == pytest.approx(2.0)
        and found["dry_load_unknown"] == 0.5
        and found["dry_cut"] == 0.0
    )


def test_labels_in_inner_braces_may_repeat() -> None:
    wait = "{ .reg .pred done; wait: mbarrier.try_wait.parity.shared.b64 done, [%r1], 0; @!done bra.uni wait; }"
    body = f"mov.b32 %r1, 0; {wait} mma.sync.aligned.m16n8k16.row.col.f32 {{%f1}}, {{%r2}}, {{%r3}}, {{%f1}}; {wait}"
    block, warp = run_launch(Launch("k", (1, 1, 1), (64, 1, 1), _kernel(body), (A,)))
    assert warp.classes["barrier"] == 2 and block.tensor_flops == 2 * 2 * 16 * 8 * 16


def test_bytes_that_come_in_bulk_are_counted_once_a_block() -> None:
    body = """
    mov.u32 %r1, %tid.x; setp.eq.b32 %p1, %r1, 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 24576;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r3, %r4}], [%r2];
    """
    found = dry_features([Launch("k", (10, 1, 1), (256, 1, 1), _kernel(body), (A,))])
    assert 2 ** found["dry_load_cost_log2"] - 1 == pytest.approx(10 * 24576)


def test_blocks_without_work_count_as_such() -> None:
    """Half of the grid's second axis lies beyond the end."""
    body = """
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %ctaid.y; setp.ge.s32 %p1, %r1, 4;
    @%p1 bra done;
    ld.global.b32 %r2, [%rd1];
    done:
    """
    found = dry_features([Launch("k", (1, 8, 1), (32, 1, 1), _kernel(body), (A,))])
    assert 2 ** found["dry_load_log2"] - 1 == pytest.approx(8 / 2)


def test_launches_add_up_and_unreadable_ones_are_left_out() -> None:
    one, two = dry_features([_scale(4, 5120, 4)]), dry_features([_scale(4, 5120, 4)] * 2)
    assert two["dry_issued_log2"] == pytest.approx(math.log2(2 * 2 ** one["dry_issued_log2"] - 1))
    broken = Launch("other", (1, 1, 1), (32, 1, 1), SCALE, ())
    assert dry_features([broken]) == {} and dry_features([_scale(4, 5120, 4), broken])["dry_followed"] == 0.5
    with pytest.raises(NotPtx):
        run_launch(Launch("scale", (1, 1, 1), (32, 1, 1), SCALE, (1,) * 9))


def test_the_code_of_each_launch_is_read_once_for_the_wanted_device(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[object, ...]] = []

    def code(*asked: object) -> dict[str, float]:
        read.append(asked)
        return {"instructions": 10.0 * len(read), "registers": float(len(read))}

    monkeypatch.setattr(tracing, "read_cubin", code)
    ptx, arguments = SCALE.replace("STRIDE", "4"), (A, B, None, 5120)
    launches = [
        tracing.Launched("scale", (blocks, 1, 1), (128, 1, 1), ptx, arguments, 64, b"code") for blocks in (4, 12, 4)
    ]
    found = tracing.launch_features(launches, 80)
    assert read == [(b"code", 128, 64, "scale", 80)] * 3
    assert found["registers"] == 2.0 and found["blocks_log2"] == math.log2(12)
    assert found["main_share"] == pytest.approx(12 * 20 / (4 * 10 + 12 * 20 + 4 * 30))
    assert found["others_instructions"] == 40.0 and found["fewest_threads_log2"] == 9.0
    assert found["dry_followed"] == 1.0 and found["launches"] == 3.0


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.full) for seed in (4, 5))])
def test_mangled_text_never_raises(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        text = list(SCALE.replace("STRIDE", "4"))
        for _ in range(rng.randrange(1, 12)):
            at = rng.randrange(len(text))
            text[at : at + rng.randrange(4)] = rng.choice(
                ["", ";", "{", "}", "%r1", ",", "[", "@", "bra x;", "\0", "9"]
            )
        for value in dry_features([Launch("scale", (4, 1, 1), (64, 1, 1), "".join(text), (A, B, None, 64))]).values():
            assert math.isfinite(value)


def test_tiles_of_tensor_cores_and_copies_of_a_computed_size_are_traffic() -> None:
    body = """
    mov.u32 %r1, 4096; mov.u32 %r9, %tid.x; setp.eq.b32 %p1, %r9, 0;
    wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r2, %r3}, [%rd1], %r4;
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1}, {%r2}, {%r3}, {%f1};
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], %r1;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r5], %r1;
    """
    found = dry_features([Launch("k", (10, 1, 1), (32, 1, 1), _kernel(body), (A,))])
    assert 2 ** found["dry_load_cost_log2"] - 1 == pytest.approx(10 * (16 * 16 * 2 + 4096))
    assert 2 ** found["dry_store_cost_log2"] - 1 == pytest.approx(10 * 4096)
    assert 2 ** found["dry_tensor_flops_log2"] - 1 == pytest.approx(10 * 2 * 16**3) and found["dry_load_unknown"] == 0.0


def _parameters(name: str, offset: int, width: int) -> int | None:
    return {"scale_param_0": A, "scale_param_1": B, "scale_param_3": 4096}.get(name)


def test_the_size_of_a_warp_is_known() -> None:
    by_warps = SCALE.replace("mov.u32 	%r9, %nctaid.x;", "mov.u32 	%r9, WARP_SZ;").replace("STRIDE", "4")
    found = observe(Launch("scale", (1, 1, 1), (128, 1, 1), by_warps, ()), _parameters, 3)
    assert not found.usual.cut and found.usual.trips == 1  # 32 x 128 threads further on is the end


@pytest.mark.parametrize(("blocks", "busy"), [(32, 1.0), (512, 1 / 16)])
def test_the_share_of_blocks_with_work_is_seen(blocks: int, busy: float) -> None:
    found = observe(Launch("scale", (blocks, 1, 1), (128, 1, 1), SCALE.replace("STRIDE", "4"), ()), _parameters, 3)
    assert found.busy == busy and found.usual.traffic["load"].requests == 4 * busy
