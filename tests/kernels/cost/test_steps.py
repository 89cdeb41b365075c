"""Times of whole Programs, whose launches can be costed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foretell.kernels.cost.launches import LaunchTimer, NotFollowed, Resources, observed, time_of
from foretell.kernels.cost.settings import LAUNCH_MODEL, PROGRAM_FORECAST
from foretell.kernels.cost.steps import times_of
from foretell.kernels.devices import described
from foretell.kernels.forecast.program import compared_times
from foretell.kernels.languages.sass import Spills
from foretell.kernels.program import (
    Buffer,
    Fill,
    Fork,
    Image,
    Join,
    Launch,
    LibraryCall,
    Pointer,
    Program,
    Region,
    Role,
    TensorMap,
    View,
)

H200, L4 = described("h200"), described("l4")
COUNT = 1 << 26
COPY = """
.version 8.7
.target sm_90a
.visible .entry copy(
	.param .u64 .ptr .global .align 1 copy_param_0,
	.param .align 4 .b8 copy_param_1[8],
	.param .u64 .ptr .global .align 1 copy_param_2
)
{
	ld.param.u64 	%rd1, [copy_param_0];
	ld.param.u32 	%r1, [copy_param_1+4];
	ld.param.u64 	%rd2, [copy_param_2];
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mov.u32 	%r4, %tid.x;
	mad.lo.s32 	%r5, %r2, %r3, %r4;
	setp.ge.s32 	%p1, %r5, %r1;
	@%p1 bra 	$L__BB0_2;
	mul.wide.s32 	%rd3, %r5, STRIDE;
	add.s64 	%rd4, %rd1, %rd3;
	ld.global.f32 	%f1, [%rd4];
	mul.wide.s32 	%rd5, %r5, 4;
	add.s64 	%rd6, %rd2, %rd5;
	st.global.f32 	[%rd6], %f1;
$L__BB0_2:
	ret;
}
"""


def program(stride: int = 4, count: int = COUNT, limit: int | None = None, ptx: str = COPY) -> Program:
    image = Image(None, ptx.replace("STRIDE", str(stride)), "sm_90")
    arguments = (
        bytes(8) + (0).to_bytes(4, "little") + (count if limit is None else limit).to_bytes(4, "little") + bytes(8)
    )
    pointers = (Pointer(0, 0, 0), Pointer(16, 1, 0))
    launch = Launch(image.hash, "copy", (-(-count // 256), 1, 1), (256, 1, 1), 0, arguments, pointers)
    buffers = (Buffer(count * stride, Role.INPUT), Buffer(count * 4, Role.TEMPORARY))
    return Program("w", {}, buffers, (), (), (), (launch,), (), (image,))


def launch_us(made: Program) -> float:
    return time_of(made.launches()[0], made, H200).us


def test_a_copy_is_bound_by_memory():
    found = time_of(program().launches()[0], program(), H200)
    least_us = COUNT * 8 / 4.8e12 * 1e6
    assert found.decided and not found.cut and found.unknown == 0.0
    assert found.parts_us["memory"] == pytest.approx(least_us / LAUNCH_MODEL.memory_efficiency, rel=0.01)
    assert least_us < found.us < 2.0 * least_us


def test_strided_reads_cost_whole_sectors():
    assert launch_us(program(32)) > 3.0 * launch_us(program(4))


def test_loads_and_stores_use_the_network_to_the_cache_at_the_same_time():
    found = time_of(program().launches()[0], program(), H200)
    rate = H200.cores * 24.0 * H200.clock_hz * LAUNCH_MODEL.clock_share
    assert found.parts_us["cache"] == pytest.approx(COUNT * 4 / rate * 1e6, rel=0.01)


def test_a_sector_that_a_store_fills_in_part_is_read_and_written():
    scattered = COPY.replace("%rd5, %r5, 4;", "%rd5, %r5, 32;")
    found = time_of(program(ptx=scattered).launches()[0], program(ptx=scattered), H200)
    rate = H200.cores * 24.0 * H200.clock_hz * LAUNCH_MODEL.clock_share
    assert found.parts_us["cache"] == pytest.approx(COUNT * (32 + 28) / rate * 1e6, rel=0.01)


def test_tiles_of_tensor_maps_come_from_buffers_of_known_size():
    load = "ld.global.f32 \t%f1, [%rd4];"
    assert load in COPY
    unknown = COPY.replace(load, "ld.global.u64 \t%rd7, [%rd4];\n\tld.global.f32 \t%f1, [%rd7];")
    made = program(stride=8, ptx=unknown)
    [launch] = made.launches()
    small = replace(made, buffers=(*made.buffers, Buffer(1 << 20, Role.INPUT)))
    mapped = replace(launch, tensor_maps=(TensorMap(0, 2, 0, 0, (1024,), (), (64,)),))
    bytes_apart = COUNT * 4 - (1 << 20)
    before, after = (time_of(each, small, H200).parts_us["memory"] for each in (launch, mapped))
    assert before - after == pytest.approx(bytes_apart / 4.8e6 / LAUNCH_MODEL.memory_efficiency, rel=0.01)


def test_a_number_in_a_structure_is_read_from_the_arguments():
    nothing, everything = (time_of(made.launches()[0], made, H200) for made in (program(limit=0), program()))
    assert nothing.parts_us["memory"] < everything.parts_us["memory"] / 2.0
    assert nothing.us < everything.us


def test_blocks_without_work_take_the_time_that_they_need_to_start():
    assert COUNT // 256 == 262_144
    assert launch_us(program(limit=0)) == pytest.approx(160.3, rel=0.05)  # measured: results/programs_latencies.json


def test_a_slower_device_takes_longer():
    assert times_of(program(), L4).device_us > 8.0 * times_of(program(), H200).device_us


def test_what_cannot_be_followed_is_estimated_by_its_buffers_with_doubt():
    made = program()
    blank = Image(None, "", "sm_90")
    made = replace(made, run=(replace(made.launches()[0], image=blank.hash),), images=(blank,))
    with pytest.raises(NotFollowed, match="no PTX"):
        time_of(made.launches()[0], made, H200)
    (step,) = times_of(made, H200).steps
    assert step.basis == "roofline" and "no PTX" in step.reason and step.doubt_log2 >= 1.0
    assert step.us > COUNT * 8 / 4.8e12 * 1e6


def test_steps_add_up_and_streams_overlap():
    made = program()
    launch = made.launches()[0]
    twice = replace(made, run=(launch, launch))
    forked = replace(made, run=(Fork(1, 0), launch, replace(launch, stream=1), Join(1, 0)))
    one, two, beside = (times_of(each, H200) for each in (made, twice, forked))
    assert 1.7 * one.device_us < two.device_us <= 2.0 * one.device_us
    assert one.device_us < beside.device_us < two.device_us
    assert all(each.eager_us > each.device_us for each in (one, two, beside))


def test_many_small_steps_are_bound_by_the_host_when_called_eagerly():
    fills = tuple(Fill(Region(1, 0, 64), b"\0") for _ in range(50))
    found = times_of(replace(program(), run=fills), H200)
    assert found.eager_us > 2.0 * found.device_us


def test_a_program_against_itself_is_as_fast_with_little_doubt():
    found = compared_times(times_of(program(), H200), times_of(program(), H200))
    assert found.log2 == 0.0 and found.doubt_log2 == pytest.approx(PROGRAM_FORECAST.least_doubt_log2)


def test_a_strided_candidate_is_slower_with_doubt():
    found = compared_times(times_of(program(4), H200), times_of(program(32), H200))
    assert found.log2 < -1.0 and found.doubt_log2 > 0.5


def _relu(source: int, result: int) -> LibraryCall:
    whole = tuple(View(number, 0, "float32", (COUNT,), (1,)) for number in (source, result))
    return LibraryCall("aten::relu.default", whole[:1], (), whole[1:])


def test_work_that_is_repeated_and_never_read_is_a_rehearsal():
    buffers = (Buffer(COUNT * 4, Role.INPUT), *(Buffer(COUNT * 4, Role.TEMPORARY) for _ in range(3)))
    outputs = (View(3, 0, "float32", (COUNT,), (1,)),)
    made = replace(program(), buffers=buffers, run=(_relu(0, 3),), outputs=outputs)
    once, warmed = (times_of(replace(made, run=run), H200) for run in (made.run, (_relu(0, 1), _relu(0, 2), *made.run)))
    assert warmed.device_us == once.device_us and len(warmed.steps) == 1
    chained = times_of(replace(made, run=(_relu(0, 1), _relu(1, 3))), H200)
    assert len(chained.steps) == 2


def test_calls_cost_the_host_less_when_they_are_many():
    def run(count: int) -> float:
        outputs = (View(1, 0, "float32", (COUNT,), (1,)),)
        return times_of(replace(program(), run=(_relu(0, 1),) * count, outputs=outputs), H200).host_us

    assert run(40) - run(20) < run(8) * 20 / 8 / 2


def test_registers_that_do_not_fit_are_moved_to_memory_and_back():
    made = program()
    launch = made.launches()[0]
    seen = observed(launch, made.image(launch.image))

    def us(frame_bytes: float) -> float:
        spills = Spills(2 * frame_bytes, 0.0, 40, 0)
        return (
            LaunchTimer(launch, made, H200, seen, Resources(LAUNCH_MODEL.usual_registers, 0.0, frame_bytes, spills))
            .time()
            .us
        )

    large = 2 * 4096.0 * COUNT / 4.8e12 * 1e6  # frames of all resident threads are larger than any cache
    assert us(0.0) == launch_us(made)
    assert us(0.0) < us(16.0) < us(0.0) + 2 * 16.0 * COUNT / 4.8e12 * 1e6  # held by the caches
    assert 0.8 * large < us(4096.0) < 1.5 * large
