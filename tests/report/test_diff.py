from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foretell.report.diff import compare

LINES = st.lists(st.sampled_from(["a", "b", "  c", "", "<x>"]), max_size=12)


@given(LINES, LINES)
def test_both_sources_can_be_read_back(left: list[str], right: list[str]) -> None:
    diff = compare("\n".join(left), "\n".join(right), "new")
    a, b = "\n".join(left).splitlines(), "\n".join(right).splitlines()
    assert [row.left for row in diff.rows if row.left_no] == a
    assert [row.right for row in diff.rows if row.right_no] == b
    assert [row.text for row in diff.unified if row.left_no] == a
    assert [row.text for row in diff.unified if row.right_no] == b
    assert len(a) - diff.removed == len(b) - diff.added


def test_signs_and_kinds() -> None:
    diff = compare("same\nold\n", "same\nnew\nmore\n", "new")
    assert [(row.sign, row.text) for row in diff.unified] == [(" ", "same"), ("−", "old"), ("+", "new"), ("+", "more")]
    assert (diff.added, diff.removed) == (2, 1)
