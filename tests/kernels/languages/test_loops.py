"""What is said of innermost loops, on listings written by hand and on a real build."""

from __future__ import annotations

import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import cpp
from foretell.kernels.languages.disassembly import read_features
from foretell.kernels.languages.loops import LoopFacts, loop_facts
from foretell.kernels.library import get

OUT_OF_LINE = """
0000000000000870 <kernel>:
 870:\tldr\tq1, [x0], #16
 874:\tfadd\tv0.4s, v0.4s, v1.4s
 878:\tstr\tq0, [x1], #16
 87c:\tb.ne\t870 <kernel>
 890:\tldr\ts1, [x19, x0, lsl #2]
 894:\tstr\tx1, [sp, #104]
 898:\tbl\t620 <expf@plt>
 89c:\tret
 8a0:\tmov\tx0, #0x0
 8a4:\tb\t890 <kernel+0x20>
"""
CALLING = """
0000000000001100 <kernel>:
    1108:\tvmovups (%rdi,%rax,4),%zmm1
    1110:\tmovss  %xmm0,0x8(%rsp)
    1118:\tcall   1050 <{name}@plt>
    1120:\tadd    $0x10,%rax
    1124:\tjne    1108 <kernel+0x8>
    112b:\tret
"""


def test_code_out_of_line_is_no_loop() -> None:
    assert read_features(OUT_OF_LINE)["inner_call_share"] > 0, "which the spans of jumps alone do not tell"
    assert loop_facts(OUT_OF_LINE) == LoopFacts()
    assert loop_facts(OUT_OF_LINE.replace("ret", "nop")) == LoopFacts(("expf",), 1)


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("expf", LoopFacts(("expf",), 1)),
        ("memcpy", LoopFacts((), 1)),
        ("_ZGVdN8v_expf", LoopFacts((), 1)),
        ("sqrtf", LoopFacts()),
    ],
)
def test_which_calls_count(name: str, facts: LoopFacts) -> None:
    assert loop_facts(CALLING.format(name=name)) == facts


@pytest.mark.parametrize(("function", "calls"), [("std::exp", ("expf",)), ("std::sqrt", ())])
def test_a_real_build(function: str, calls: tuple[str, ...]) -> None:
    head = "#include <cmath>\n#include <cstdint>\n"
    entry = 'extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols)'
    body = f"{{ for (int64_t i = 0; i < rows * cols; ++i) out[i] = {function}(x[i]); }}\n"
    task = get("softmax")
    build = cpp.build(task, Candidate(task.key, "cpp", f"{head}{entry} {body}"))
    assert build.artifact is not None
    text = cpp.listing(build.artifact)
    if not text:
        pytest.skip("there is no objdump")
    assert loop_facts(text).calls == calls
