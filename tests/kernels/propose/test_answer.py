"""Answers of a language model: one block of code, a file or a patch, or a misreading with its kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.propose.answer import MAX_CHARACTERS, Unusable, Written, read

PARENT = "int a = 1;\nint b = 2;\n"
PATCH = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-int a = 1;\n+int a = 3;\n int b = 2;"


@pytest.mark.parametrize(
    ("text", "source", "form"),
    [
        ("```cpp\nint c;\n```", "int c;\n", "file"),
        ("Here it is:\n\n```c++\nint c;\n\nint d;\n```\nIt is fast.", "int c;\n\nint d;\n", "file"),
        ("~~~\nint c;\n~~~", "int c;\n", "file"),
        ("````\n```\nint c;\n````", "```\nint c;\n", "file"),
        ("<think>```cpp\nint no;\n```</think>```cpp\r\nint c;\r\n```", "int c;\n", "file"),
        ("```cpp\nint c;\n```\nAgain:\n```cpp\nint c;\n```", "int c;\n", "file"),
        ("```\n```\n```cpp\nint c;\n```", "int c;\n", "file"),
        (f"```diff\n{PATCH}\n```", "int a = 3;\nint b = 2;\n", "patch"),
        (f"```cpp\n{PATCH}\n```", "int a = 3;\nint b = 2;\n", "patch"),
        ("```patch\n@@\n-int b = 2;\n```", "int a = 1;\n", "patch"),
    ],
)
def test_good_answers(text: str, source: str, form: str) -> None:
    assert read(text, PARENT) == Written(source, form)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "no_code"),
        ("int c;", "no_code"),
        ("```\n\n```", "no_code"),
        ("```cpp\nint c;", "cut_off"),
        ("```cpp\nint c;\n```\n```cpp\nint d;\n```", "two_answers"),
        ("```cpp\nint c\0;\n```", "not_text"),
        ("```cpp\nint c\ud800;\n```", "not_text"),
        ("```diff\n-int c;\n```", "patch_bad_line"),
        (f"```diff\n{PATCH.replace('b = 2', 'b = 3')}\n```", "patch_not_found"),
        ("```diff\n@@\n-int a = 1;\n-int b = 2;\n```", "no_code"),
        ("x" * (MAX_CHARACTERS + 1), "too_long"),
    ],
)
def test_bad_answers(text: str, kind: str) -> None:
    found = read(text, PARENT)
    assert isinstance(found, Unusable)
    assert found.kind == kind
    assert found.message


def test_only_what_was_asked_for() -> None:
    patch, whole = f"```diff\n{PATCH}\n```", "```cpp\nint c;\n```"
    assert isinstance(read(whole, PARENT, "file"), Written)
    assert isinstance(read(patch, PARENT, "patch"), Written)
    for text, form in ((patch, "file"), (whole, "patch")):
        found = read(text, PARENT, form)
        assert isinstance(found, Unusable)
        assert found.kind == "off_form"


@given(st.text("`~ \na@-+c\r\0\ud800", max_size=60) | st.text(st.characters(codec=None)))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = read(text, PARENT)
    if isinstance(found, Written):
        assert found.source.strip()
        found.source.encode()


def test_long_lines_take_no_time() -> None:
    assert isinstance(read("```" + " " * 150_000 + "`", PARENT), Unusable)
    assert isinstance(read("`" * 190_000, PARENT), Unusable)
