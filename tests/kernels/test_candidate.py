"""Identity of candidates: comments and spacing do not count, everything else does."""

from __future__ import annotations

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


def test_identity_ignores_comments_and_spacing_only() -> None:
    one = Candidate("softmax", "cpp", "int  a;\n\n// note\n")
    same = Candidate("softmax", "cpp", "int a; // other note", Origin("model"), ("p",))
    assert one.id == same.id
    assert one.id != Candidate("softmax", "cpp", "int b;").id
    assert one.id != Candidate("matmul", "cpp", "int a;").id
    assert one.id != Candidate("softmax", "cuda", "int a;").id


def test_python_indentation_counts() -> None:
    assert normalise("if x:\n    a()\nb()", "triton") != normalise("if x:\n    a()\n    b()", "triton")


@given(st.text(max_size=200))
def test_any_text_has_an_identity_and_survives_the_journal(text: str) -> None:
    for language in ("cpp", "triton"):
        candidate = Candidate("softmax", language, text, Origin("template", {"knobs": {"k": 1}}), ("a", "b"))
        assert Candidate.from_dict(candidate.to_dict()) == candidate
        assert len(candidate.id) == 16


@given(st.text(alphabet="ab/*\"'\\\n ", max_size=60))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text, "cpp")
    assert normalise(once, "cpp") == once or "/" in once


def test_unclosed_comments_take_linear_time() -> None:
    """A quadratic reader would need minutes for this."""
    for piece in ("/* ", '"a', "'"):
        assert len(Candidate("softmax", "cpp", piece * 200_000).id) == 16


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
    assert Candidate("t", "cuda", CUDA).id == Candidate("t", "cuda", CUDA.replace("one thread", "two threads")).id
    assert Candidate("t", "cuda", CUDA).id != Candidate("t", "cuda", CUDA.replace("x[0]", "x[1]")).id


def test_names_that_tell_are_made_plain_and_others_left() -> None:
    shown = stripped(CUDA, "cuda")
    assert "naive" not in shown and shown.count("conv_some") == 2
    assert "x.fast_path" in shown and "__fdividef" in shown
    assert stripped("int broken_sum = 0; // slow", "cpp") == "int some_sum = 0;"
