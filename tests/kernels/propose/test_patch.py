"""Patches: whatever a diff tool writes is applied exactly, whatever does not fit is refused with its kind."""

from __future__ import annotations

import difflib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.propose.patch import Misfit, Unapplied, apply_patch, is_patch

SOURCE = "a\nb\nc\n\nb\nc\nd\n"

few_lines = st.lists(
    st.text(" ab+-@\\", max_size=3) | st.sampled_from(["--- x", "+++ y", "@@ -1 +1 @@", ""]), max_size=9
)


def diff_of(old: list[str], new: list[str], context: int) -> str:
    return "\n".join(difflib.unified_diff(old, new, "a", "b", n=context, lineterm=""))


def closed(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@given(few_lines, few_lines, st.integers(0, 3))
def test_what_a_diff_tool_writes_is_applied(old: list[str], new: list[str], context: int) -> None:
    if old == new:
        return
    assert apply_patch(closed(old), diff_of(old, new, context)) == closed(new)


@given(few_lines, few_lines, st.integers(1, 3))
def test_numbers_may_be_wrong_where_the_text_fits_one_place_only(old: list[str], new: list[str], context: int) -> None:
    old, new = [f"{i} {line}" for i, line in enumerate(old)], [f"{i} {line}" for i, line in enumerate(new)]
    if old == new or not old:
        return
    diff = re.sub(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@$", "@@ -77,7 +99,1 @@", diff_of(old, new, context), flags=re.M)
    assert apply_patch(closed(old), diff) == closed(new)
    assert apply_patch(closed(old), diff.replace("@@ -77,7 +99,1 @@", "@@")) == closed(new)


@given(st.text(), st.text() | few_lines.map("\n".join))
def test_any_text_is_applied_or_refused(source: str, patch: str) -> None:
    found = apply_patch(source, patch)
    assert isinstance(found, str) or (found.message and found.kind in Misfit)


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        ("", Misfit.NO_HUNK),
        ("--- a\n+++ b", Misfit.NO_HUNK),
        ("change b to x", Misfit.BAD_LINE),
        ("@@ -1 +1 @@\n-a\nb\n", Misfit.BAD_LINE),
        ("@@ -1,2 +1,2 @@\n a\n-x\n+y", Misfit.NOT_FOUND),
        ("@@ -2 +2 @@\n-b \n+x", Misfit.NOT_FOUND),
        ("@@ -9,2 +9,2 @@\n b\n-c\n+x", Misfit.AMBIGUOUS),
        ("@@\n-b\n+x", Misfit.AMBIGUOUS),
        ("@@ -1 +1 @@\n+x", Misfit.AMBIGUOUS),
        ("@@ -99,0 +99 @@\n+x", Misfit.AMBIGUOUS),
        ("@@ -7 +7 @@\n-d\n+x\n@@ -1 +1 @@\n-a\n+x", Misfit.NOT_FOUND),
        ("@@ -1 +1 @@\n-a\n+a", Misfit.NO_CHANGE),
    ],
)
def test_what_does_not_fit_changes_nothing(patch: str, kind: Misfit) -> None:
    found = apply_patch(SOURCE, patch)
    assert isinstance(found, Unapplied)
    assert found.kind is kind
    assert found.message


@pytest.mark.parametrize(
    ("patch", "wanted"),
    [
        ("@@ -5,2 +5,2 @@\n b\n-c\n+x", "a\nb\nc\n\nb\nx\nd\n"),
        ("@@ -3,3 +3,3 @@\n c\n\n-b\n+x", "a\nb\nc\n\nx\nc\nd\n"),
        ("diff --git a/k b/k\n--- a/k\n+++ b/k\n@@ -1 +1 @@ void f()\n-a\n+x\n\\ No newline at end of file", None),
        ("\r\n--- a\r\n+++ b\r\n@@ -1 +1 @@\r\n-a\r\n+x\r\n", None),
        ("@@ -2,0 +3 @@\n+x", "a\nb\nx\nc\n\nb\nc\nd\n"),
    ],
)
def test_what_fits(patch: str, wanted: str | None) -> None:
    wanted = wanted or SOURCE.replace("a", "x")
    assert apply_patch(SOURCE, patch) == wanted
    assert apply_patch(SOURCE.replace("\n", "\r\n"), patch) == wanted
    assert is_patch(patch)


def test_programs_are_no_patches() -> None:
    for text in ("#include <cstdint>\n", "import torch\n@triton.jit\n", "-- lua", "", "@@ what"):
        assert not is_patch(text)
