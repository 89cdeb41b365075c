"""Identity of candidates: every character counts; and their likeness, for which comments and spacing do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.candidate import Candidate, Origin, normalise, strip_comments, stripped

SOURCE = 'int a = 1; // one\n/* two\nlines */ const char* s = "// kept /* kept */"; char c = \'"\';\n'


def test_comments_go_and_strings_stay() -> None:
    bare = strip_comments(SOURCE, "cpp")
    assert "one" not in bare and "two" not in bare
    assert '"// kept /* kept */"' in bare and "'\"'" in bare


def test_python_comments_go_and_strings_stay() -> None:
    bare = strip_comments("x = '# kept'  # gone\n# gone too\ny = 2\n", "triton")
    assert bare == "x = '# kept'\n\ny = 2\n"


def test_unparsable_python_is_left_alone() -> None:
    assert strip_comments("def (:\n  '''", "triton") == "def (:\n  '''"


def test_likeness_ignores_comments_and_spacing_only() -> None:
    one = Candidate("softmax", "cpp", "int  a;\n\n// note\n")
    same = Candidate("softmax", "cpp", "int a; // other note", Origin("model"), ("p",))
    assert one.likeness == same.likeness
    assert one.likeness != Candidate("softmax", "cpp", "int b;").likeness
    assert one.likeness != Candidate("matmul", "cpp", "int a;").likeness
    assert one.likeness != Candidate("softmax", "cuda", "int a;").likeness


# Pairs of different programs that had one id while it ignored what looks like a comment or a blank.
DIFFERENT = {
    "behind a raw string": ("cpp", 'auto s = R"(")"; /* */ int a = 1; // "', 'auto s = R"(")"; /* */ int a = 2; // "'),
    "within a raw string": ("cpp", 'auto s = R"(// 1)";', 'auto s = R"(// 2)";'),
    "blanks in a string": ("cpp", 'auto s = "a b";', 'auto s = "a  b";'),
    "behind digit separators": ("cpp", "int a = 1'0; auto s = \"'// 1\";", "int a = 1'0; auto s = \"'// 2\";"),
    "in a header's name": ("cpp", "#include <a//b.h>", "#include <a//c.h>"),
    "a comment that goes on": ("cpp", "// off \\\nint a = 1;", "// on\nint a = 1;"),
    "by its line": ("cpp", "\nint a = __LINE__;", "\n\nint a = __LINE__;"),
    "in a docstring": ("triton", "def f():\n    '1'\nexec(f.__doc__)", "def f():\n    '2'\nexec(f.__doc__)"),
    "in a comment that is read": ("torch", "exec(open(__file__).read()) # a()", "exec(open(__file__).read()) # b()"),
    "in text that is run": ("cuda", "eval('7 // 2 or __global__')", "eval('7 // 3 or __global__')"),
    "behind an escaped newline": ("cuda", "c = '__global__ // \\n a();'", "c = '__global__ // \\n b();'"),
    "in a formatted string": ("cuda", "f'__global__ // {a()}'", "f'__global__ // {b()}'"),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_sources_never_share_an_id(case: str) -> None:
    language, one, other = DIFFERENT[case]
    assert Candidate("t", language, one).id != Candidate("t", language, other).id


@given(st.text(max_size=40), st.text(max_size=40))
def test_an_id_is_of_the_exact_text(one: str, other: str) -> None:
    same = Candidate("t", "cpp", one).id == Candidate("t", "cpp", other).id
    assert same == (one == other)


def test_task_and_source_cannot_be_exchanged_for_each_other() -> None:
    assert Candidate("a\0cpp\0b", "cpp", "c").id != Candidate("a", "cpp", "b\0cpp\0c").id


def test_code_behind_raw_strings_is_not_hidden() -> None:
    assert "evil" in strip_comments('auto s = R"x(")x"; auto t = "//"; evil(); // gone', "cpp")
    assert "gone" not in strip_comments('auto s = R"x(")x"; auto t = "//"; evil(); // gone', "cpp")
    assert "evil" in strip_comments("int a = 1'000; auto s = \"'//\"; evil();", "cpp")
    assert "evil" not in strip_comments("// off \\\nevil();\nint a;", "cpp")
    assert "evil" in strip_comments("c = '__global__ // \\n evil();'", "cuda")
    assert strip_comments('FOOR"(" // gone', "cpp").rstrip() == 'FOOR"("'


def test_python_indentation_counts() -> None:
    assert normalise("if x:\n    a()\nb()", "triton") != normalise("if x:\n    a()\n    b()", "triton")


@given(st.text(max_size=200))
def test_any_text_has_an_identity_and_survives_the_journal(text: str) -> None:
    for language in ("cpp", "triton"):
        candidate = Candidate("softmax", language, text, Origin("template", {"knobs": {"k": 1}}), ("a", "b"))
        assert Candidate.from_dict(candidate.to_dict()) == candidate
        assert len(candidate.id) == 32


@given(st.text(alphabet="ab/*\"'\\\n ", max_size=60))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text, "cpp")
    assert normalise(once, "cpp") == once or "/" in once


def test_unclosed_comments_take_linear_time() -> None:
    """A quadratic reader would need minutes for this."""
    for piece in ("/* ", '"a', "'", 'R"(', "1'a"):
        assert len(Candidate("softmax", "cpp", piece * 200_000).likeness) == 16
    for language in ("cpp", "cuda"):
        assert len(Candidate("softmax", language, '"' + '\\"' * 200_000 + "\\").likeness) == 16


def test_long_lines_of_python_lose_their_comments_too() -> None:
    assert "gone" not in normalise(f"x = {'1 + ' * 1000}1  # gone", "triton")


CUDA = '''"""Why it is quick."""
from foretell.cuda import compile

program = compile(r"""
// one thread per item
extern "C" __global__ void conv_naive(float* x /* in */, int n) {
    const char* kept = "// no comment"; x[0] = __fdividef(n, 2); /* long
    remark */
}
""")


def kernel(x):
    """Launch it."""
    text = "a // b"
    program.conv_naive((1,), (32,), (x, 1))
    return x.fast_path  # done
'''


def test_remarks_go_from_docstrings_and_from_cuda_text_within_python() -> None:
    bare = strip_comments(CUDA, "cuda")
    for gone in ("quick", "one thread", "in */", "remark", "Launch", "done"):
        assert gone not in bare
    assert '"// no comment"' in bare and '"a // b"' in bare
    other = Candidate("t", "cuda", CUDA.replace("one thread", "two threads"))
    assert Candidate("t", "cuda", CUDA).likeness == other.likeness
    assert Candidate("t", "cuda", CUDA).id != Candidate("t", "cuda", CUDA.replace("x[0]", "x[1]")).id


def test_names_that_tell_are_made_plain_and_others_left() -> None:
    shown = stripped(CUDA, "cuda")
    assert "naive" not in shown and shown.count("conv_some") == 2
    assert "x.fast_path" in shown and "__fdividef" in shown
    assert stripped("int broken_sum = 0; // slow", "cpp") == "int some_sum = 0;"


def test_a_bare_cuda_file_keeps_its_preprocessor_lines_and_options_their_names() -> None:
    file = "#include <cuda.h>\n#define N 4 // slow\n/* why */ __global__ void k(float* x) { x[0] = N; }\n"
    assert stripped(file, "cuda").splitlines()[:2] == ["#include <cuda.h>", "#define N 4"]
    assert "why" not in stripped(file, "cuda")
    assert stripped('flags = ["--use_fast_math"]', "cuda") == 'flags = ["--use_fast_math"]'
