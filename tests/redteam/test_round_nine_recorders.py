"""Recordings that left work out, a verdict said of other work, texts that took minutes: refused or bounded."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from token import STRING
from tokenize import TokenInfo

import pytest

torch = pytest.importorskip("torch")

from foretell.cli import record as shown
from foretell.kernels.candidate import Candidate, _changed, strip_comments
from foretell.kernels.forecast.recorded import Finding, verdict
from foretell.kernels.languages import built, cpp, nvrtc
from foretell.kernels.languages.dry.ptx import NotPtx, read_ptx
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.program import Allocate, Buffer, Fill, Launch, LibraryCall, Program, Role, View, Weight
from foretell.kernels.record.parameters import parameters_of
from foretell.kernels.record.recorder import record_host
from foretell.kernels.record.refusal import Reason, Recording
from foretell.kernels.record.stores import stored_parameters
from tests.kernels.record.sources import H200, HEAD, host, recorded

needs_cuda_compiler = pytest.mark.skipif(
    nvrtc.toolchain() is None and shutil.which("nvcc") is None, reason="neither NVRTC nor nvcc is here"
)
MATRIX = [((8, 16), "float32")]

EVENTS = """\
from foretell.kernels.languages import extension
from foretell.kernels.languages.extension.events import Copied, CopyKind, Filled, Launched
from foretell.kernels.languages.extension.images import Image

PTX = ".visible .entry mark(.param .u64 a, .param .u64 b) { ret; }"


def address(tensor):
    return extension.address_of(tensor)


def launch(*words):
    block = b"".join(word.to_bytes(8, "little") for word in words)
    image, shape = Image(b"", PTX, "sm_90a"), ((1, 1, 1), (32, 1, 1), 0)
    extension.recorder(Launched(image, "mark", *shape, 0, block, ((0, 8), (8, 8)), False, 0))


"""
WRITES = {
    "a kernel": "launch(address(flag), address(x))",
    "a kernel through an address within": "launch(address(flag.view(-1)[2:]), 0)",
    "a fill": "extension.recorder(Filled(address(flag), 1, 16, 0))",
    "a copy": "extension.recorder(Copied(CopyKind.DEVICE_TO_DEVICE, address(flag), address(x), 16, None, 0))",
    "a copy by torch": "flag.copy_(x[0, :4])",
}


def extension_host(body: str) -> Recording:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"{HEAD}{EVENTS}def kernel(x):\n{lines}"
    return record_host(replace(host(source, MATRIX), extension=True), H200)


class TestKnownValues:
    @pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
    def test_what_was_written_is_not_known(self, write: str) -> None:
        body = (
            f"flag = torch.zeros(4, device=x.device)\n{write}\nif flag[0].item():\n    x = torch.sin(x)\nreturn x + 1"
        )
        recording = extension_host(body)
        assert recording.refusal is not None and recording.refusal.reason is Reason.DEPENDS_ON_DATA
        assert "reads a value" in recording.refusal.sentence

    def test_setting_it_again_does_not_make_it_known(self) -> None:
        body = "flag = torch.zeros(4, device=x.device)\nlaunch(address(flag), 0)\nflag.zero_()\n"
        recording = extension_host(f"{body}return x + flag[0].item()")
        assert recording.refusal is not None and recording.refusal.reason is Reason.DEPENDS_ON_DATA

    def test_a_write_beside_a_constant_leaves_it_known(self) -> None:
        body = (
            "rates = torch.linspace(0, 1, 4, device=x.device)\nother = torch.zeros(4, device=x.device)\n"
            "launch(address(other), address(x))\nextension.recorder(Filled(address(other), 1, 16, 0))\n"
            "return x * rates[3].item()"
        )
        recording = extension_host(body)
        assert recording.program is not None, recording.refusal
        assert [type(step) for step in recording.program.run].count(Launch) == 1
        assert any(isinstance(step, Fill) for step in recording.program.run)

    def test_what_the_host_keeps_is_known_when_its_copy_was_written(self) -> None:
        source = (
            HEAD
            + EVENTS
            + (
                "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.rates = torch.linspace(0, 1, 4)\n        self.there = self.rates.to('cuda')\n\n"
                "    def forward(self, x):\n        launch(address(self.there), address(x))\n"
                "        return x * self.rates[3].item()\n"
            )
        )
        recording = record_host(replace(host(source, MATRIX), extension=True), H200)
        assert recording.program is not None, recording.refusal

    @pytest.mark.parametrize("given", ["flag", "flag.data_ptr()"])
    def test_a_triton_kernel_may_be_given_a_tensor_or_its_address(self, given: str) -> None:
        pytest.importorskip("triton")
        source = HEAD + (
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef mark(flag):\n"
            "    tl.store(flag.to(tl.pointer_type(tl.float32)), 1.0)\n\n\n"
            "def kernel(x):\n    flag = torch.zeros(1, device=x.device)\n"
            f"    mark[(1,)]({given})\n    y = x + 1\n"
            "    if flag.item() != 0.0:\n        for _ in range(50): y = torch.sin(y)\n    return y\n"
        )  # fmt: skip
        recording = recorded(source, MATRIX, language="triton")
        assert recording.refusal is not None and recording.refusal.reason is Reason.DEPENDS_ON_DATA


def ptx(body: str, before: str = "", after: str = "") -> str:
    head = ".visible .entry keep(\n    .param .u64 keep_a, // the first\n    .param .u64 keep_b\n)\n"
    loads = "ld.param.u64 %rd1, [keep_a];\n    ld.param.u64 %rd2, [keep_b];\n    cvta.to.global.u64 %rd3, %rd2;"
    return f".version 8.0\n{before}\n{head}{{\n    .reg .b64 %rd<9>;\n    {loads}\n{body}\n    ret;\n}}\n{after}\n"


FUNCTION = ".func helper(.param .b64 p)\n{\n    ld.param.u64 %rd1, [p];\n    STORE;\n    ret;\n}\n"
CALL = "{ .param .b64 p0; st.param.b64 [p0], %rd3; call.uni helper, (p0); }"


class TestStores:
    @pytest.mark.parametrize(
        "line",
        [
            "    st.global.f32 [%rd3], %f1;",
            "    { .reg .f32 t; mul.f32 t, %f1, 0f40000000; st.global.f32 [%rd3], t; }",
            "    mov.u32 %r1, 0; st.global.u32 [%rd3+4], %r1;",
            "$L__BB0_1: st.global.f32 [%rd3], %f1;",
            "    @!%p1 st.global.f32\n    [%rd3],\n    %f1;",
            "    /* a remark */ st.global.f32 [%rd3], %f1;",
            '    .pragma "/*"; st.global.f32 [%rd3], %f1; .pragma "*/";',
            "    { atom.global.add.u32 %r1, [%rd3], %r2; }",
            "    {red.global.add.f32 [%rd3], %f1;}",
            "    wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd3], {%f1, %f2}, %r1;",
            "    cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r1], 64;",
            "    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd3, {%r1, %r2}], [%r3];",
            "    { .reg .b64 t; add.s64 t, %rd3, 16; st.global.f32 [t], %f1; }",
        ],
    )
    def test_are_seen_wherever_they_stand(self, line: str) -> None:
        assert stored_parameters(ptx(line), "keep") == {1}

    @pytest.mark.parametrize(
        "line",
        [
            "    ld.global.f32 %f1, [%rd3];",
            "    st.shared.f32 [%r1], %f1; st.local.f32 [%rd9], %f1; st.param.b32 [p0], %r1;",
            "    cp.async.ca.shared.global [%r1], [%rd3], 16; cp.async.commit_group; cp.async.wait_group 0;",
            "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd3], 64, [%r2];",
            "    mbarrier.init.shared.b64 [%r1], 1; bar.red.popc.u32 %r1, 0, %p1; prefetch.global.L2 [%rd3];",
            "    .loc 1 2 3\n    // st.global.f32 [%rd3], %f1;",
            "    wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2}, [%rd3], %r3;",
            "    { .param .b64 p0; st.param.b64 [p0], %rd3; call.uni (r0), vprintf, (p0, p0); }",
        ],
    )
    def test_are_not_seen_where_there_are_none(self, line: str) -> None:
        extern = ".extern .func (.param .b32 func_retval0) vprintf\n(\n.param .b64 a,\n.param .b64 b\n)\n;"
        assert stored_parameters(ptx(line, extern), "keep") == frozenset()

    @pytest.mark.parametrize(
        ("line", "before"),
        [
            (
                "    { .loc 1 2 3\n st.global.f32 [%rd3], %f1; }".replace("\n", " "),
                "",
            ),  # behind what needs no semicolon
            ("    st.global.f32 [%rd8], %f1;", ""),  # an address from nowhere
            ("    st.global.f32 [somewhere], %f1;", ""),
            (f"    {CALL}", FUNCTION.replace("STORE", "st.global.f32 [%rd1], %f1")),
            (f"    {CALL.replace('helper', '%rd5')}", FUNCTION.replace("STORE", "st.global.f32 [%rd1], %f1")),
            (f"    {CALL}", ".extern .func helper\n(\n.param .b64 a\n)\n;"),  # written by the linker
        ],
    )
    def test_cannot_be_told_of_what_is_not_understood(self, line: str, before: str) -> None:
        assert stored_parameters(ptx(line, before), "keep") is None

    def test_may_stand_in_functions_that_are_not_called_or_keep_to_themselves(self) -> None:
        stores, keeps = (FUNCTION.replace("STORE", f"{op} [%rd1], %f1") for op in ("st.global.f32", "st.local.f32"))
        assert stored_parameters(ptx("    st.global.f32 [%rd3], %f1;", stores), "keep") == {1}
        assert stored_parameters(ptx(f"    {CALL}", keeps), "keep") == frozenset()
        assert stored_parameters(ptx(f"    {CALL}", keeps + stores.replace("helper", "other")), "keep") == frozenset()
        through = FUNCTION.replace("STORE", "call.uni other, (p0)") + stores.replace("helper", "other")
        assert stored_parameters(ptx(f"    {CALL}", through), "keep") is None
        other = ptx("    st.global.f32 [%rd1], %f1;").replace("keep", "keep2")
        assert stored_parameters(ptx(f"    {CALL}", keeps, other), "keep") == frozenset()

    def test_are_those_of_the_entry_of_that_name(self) -> None:
        remark = "/* .visible .entry keep(.param .u64 keep_b, .param .u64 keep_a) { ret; } */"
        longer = ptx("    st.global.f32 [%rd1], %f1;").replace("keep(", "keep2(")
        text = ptx("    st.global.f32 [%rd3], %f1;", remark + longer)
        assert stored_parameters(text, "keep") == {1} and stored_parameters(text, "keep2") == {0}
        assert [one.name for one in parameters_of(text, "keep")] == ["keep_a", "keep_b"]
        assert read_ptx(text, "keep").blocks[0].instructions[-1].operands[0] == "[%rd3]"
        with pytest.raises(NotPtx, match="no entry"):
            read_ptx(text, "kee")

    @needs_cuda_compiler
    @pytest.mark.parametrize(
        "store", ["out[i] = 2 * w[i];",
                  'asm volatile("{ .reg .f32 t; mul.f32 t, %1, 0f40000000; st.global.f32 [%0], t; }"'
                  ' :: "l"(out + i), "f"(w[i]) : "memory");'],
    )  # fmt: skip
    def test_of_launches_are_part_of_the_setup(self, store: str) -> None:
        prepare = (
            'from foretell.cuda import compile\n\nprogram = compile(r"""\n'
            'extern "C" __global__ void prepare(const float* w, float* out, int n) {\n'
            f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {store}\n}}\n"
            '""")\n\n\n'
        )
        model = (
            "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.scale = nn.Parameter(torch.rand(16))\n        self.prepared = None\n\n"
            "    def forward(self, x):\n        if self.prepared is None:\n"
            "            self.prepared = torch.zeros_like(self.scale)\n"
            "            program.prepare((1,), (32,), (self.scale, self.prepared, 16))\n"
            "        return x * self.prepared\n"
        )
        recording = recorded(HEAD + prepare + model, MATRIX, language="cuda")
        assert recording.program is not None, recording.refusal
        assert [type(step) for step in recording.program.setup][-1] is Launch
        keeps = (
            "kept = []\n\n\ndef kernel(x):\n    if not kept:\n        out = torch.zeros_like(x)\n"
            "        program.prepare((1,), (128,), (x, out, x.numel()))\n        kept.append(out)\n"
            "    return kept[0] + x\n"
        )
        refusal = recorded(HEAD + prepare + keeps, MATRIX, language="cuda").refusal
        assert refusal is not None and refusal.reason is Reason.KEEPS_RESULTS


def model(forward: str, names: str = "ab", init: str = "") -> Recording:
    made = "".join(f"        self.{name} = nn.Parameter(torch.rand(16, 16))\n" for name in names)
    source = (
        f"{HEAD}class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}{init}\n"
        f"    def forward(self, x):\n        return {forward}\n"
    )
    recording = recorded(source, MATRIX)
    assert recording.program is not None, recording.refusal
    return recording


class TestSame:
    def test_are_weights_of_the_same_names(self) -> None:
        reference = model("(x @ self.a).relu() @ self.b")
        assert verdict(reference, model("((x @ self.a).relu()) @ self.b")).finding is Finding.SAME
        swapped = verdict(reference, model("(x @ self.b).relu() @ self.a"))
        assert swapped.finding is Finding.RUNS and swapped.plain
        assert verdict(reference, model("(x @ self.c).relu() @ self.d", "cd")).finding is Finding.RUNS

    def test_is_state_that_is_made_the_same_way(self) -> None:
        twice, half = (f"        self.register_buffer('s', (self.a.data * {number}).sum(0))\n" for number in (2, 0.5))
        reference = model("x @ self.a + self.s", "a", twice)
        assert verdict(reference, model("x @ self.a + self.s", "a", twice)).finding is Finding.SAME
        assert verdict(reference, model("x @ self.a + self.s", "a", half)).finding is not Finding.SAME

    def test_is_not_said_of_what_cannot_be_compared(self) -> None:
        """Neither Program is made of library calls alone: that is nothing that they have in common."""
        size, view = 512, View(0, 0, "float32", (8, 16), (16, 1))
        result = replace(view, buffer=1)
        buffers = (Buffer(size, Role.INPUT), Buffer(size, Role.TEMPORARY))
        call = LibraryCall("aten::relu.default", (view,), (), (result,), (), ())
        launch = Launch("0" * 64, "k", (1, 1, 1), (32, 1, 1), 0, b"")
        programs = [
            Recording(Program("", {}, buffers, (view,), (), (), run, (result,), (), {}), None, (), 0.0)
            for run in ((Allocate(1), launch), (Allocate(1), launch, launch), (Allocate(1), call))
        ]
        assert verdict(programs[0], programs[1]).finding is Finding.RUNS
        assert verdict(programs[2], programs[0]).finding is Finding.RUNS
        assert verdict(programs[2], programs[2]).finding is Finding.SAME

    def test_needs_weights_of_the_same_shape(self) -> None:
        view = View(0, 0, "float32", (4,), (1,))
        call = LibraryCall("aten::relu.default", (view,), (), (replace(view, buffer=1),), (), ())
        recordings = [
            Recording(
                Program("", {}, (Buffer(size, Role.WEIGHT), Buffer(16, Role.TEMPORARY)), (), (Weight(name, view),), (),
                        (call,), (replace(view, buffer=1),), (), {}), None, (), 0.0)
            for name, size in (("a", 16), ("b", 16), ("a", 32))
        ]  # fmt: skip
        same = [verdict(recordings[0], each).finding is Finding.SAME for each in recordings]
        assert same == [True, False, False]


class TestBounds:
    def test_a_line_of_many_strings_is_stripped_in_one_pass(self) -> None:
        def seconds(count: int) -> float:
            text = '"__global__", '
            line = text * count + "\U0001d538"
            places = range(0, len(text) * count, len(text))
            changes = [(TokenInfo(STRING, text, (1, at), (1, at + 12), line), "'short'") for at in places]
            started = time.process_time()
            assert _changed(line, changes) == "'short', " * count + "\U0001d538"
            return time.process_time() - started

        seconds(100)
        assert seconds(64_000) < 300 * max(seconds(2_000), 0.002)  # 32 times as long, not 1,024 times

    def test_a_line_of_strings_is_stripped(self) -> None:
        source = "x = [" + '"__global__ /* a */", ' * 200 + "]  # \U0001d538\n"
        assert strip_comments(source, "triton") == "x = [" + '"__global__  ", ' * 200 + "]\n"

    def test_what_is_stripped_stays_as_it_was(self) -> None:
        source = (
            '"""A module."""  # with a remark\n\n\ndef f(x):\n    """What it does,\n    in two lines."""   # why\n'
            "    y = '''__global__ void k() { /* hidden */ } // too\n    '''  # and on\n"
            "    return x, '#', \"__global__ //\"\n"
        )
        stripped = (
            "\n\n\ndef f(x):\n\n    y = '''__global__ void k() {   }  \n    '''\n    return x, '#', \"__global__  \"\n"
        )
        assert strip_comments(source, "triton") == stripped
        assert strip_comments("x = '\u2028'  # a\ny = 2  # b\n", "triton") == "x = '\u2028'\ny = 2\n"

    def test_what_is_printed_of_a_forged_program_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shown, "_work", lambda program: (None, "not asked for"))
        wide = View(0, 0, "float32", (0, *[1 << 62] * 31), (0,) * 32)
        name, what = shown._row(LibraryCall("aten::cat.default", (tuple([wide] * 13_000),), (), (), (), ()))
        assert name == "cat" and len(what) < 2 * shown.MOST_CHARACTERS and "12936 more" in what
        facts = {"assumptions": ["x" * (1 << 20)] * 900}
        program = Program("", {}, (), (), (), (), (), (), (), facts)
        lines = shown._findings(program, Recording(program, None, (), 0.0))
        assert len(lines) < 30 and sum(map(len, lines)) < 200_000 and lines[-1] == "... 880 more assumptions"

    def test_what_is_printed_of_an_honest_step_is_whole(self) -> None:
        views = tuple(View(number, 0, "float16", (2, 3), (3, 1)) for number in range(4))
        _, what = shown._row(LibraryCall("aten::cat.default", (views[:3],), (), (views[3],), (), ()))
        assert what == "float16[2 3] #0, float16[2 3] #1, float16[2 3] #2 -> float16[2 3] #3"

    def test_a_problem_and_a_source_are_not_run_together(self, tmp_path: Path) -> None:
        problem = "a" * 64
        assert built.built_dir("text", tmp_path, problem) != built.built_dir(f"{problem}text", tmp_path)
        assert built.built_dir("text", tmp_path, problem) == built.built_dir("text", tmp_path, problem)
        assert built.built_dir("a surrogate \udc80", tmp_path).parent.parent.name == built.FOLDER

    def test_templates_without_end_end_the_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cpp, "BUILD_TIMEOUT_S", 1.0)
        source = (
            "template<int N, int M> struct F {\n"
            "    static const int v = F<N-1, M>::v + F<N-1, M+1>::v * F<N-2, M+2>::v;\n};\n"
            "template<int M> struct F<0, M> { static const int v = M; };\n"
            "template<int M> struct F<1, M> { static const int v = M; };\n"
            f"// {time.time_ns()}\n"
            'extern "C" void kernel(const float* x, float* out, long r, long c) { out[0] = F<800, 0>::v; }\n'
        )
        outcome = cpp.build(get("softmax"), Candidate("softmax", "cpp", source))
        assert outcome.status in (Status.TIMEOUT, Status.COMPILE_ERROR), outcome.message
