"""What an agent thinks aloud: no call in it is meant, and nothing of it is said to anybody."""

from __future__ import annotations

import re

_TAG = r"(?:think|thinking|thought)"
_THOUGHTS = re.compile(rf"<{_TAG}>.*?(?:</{_TAG}>|\Z)", re.DOTALL | re.IGNORECASE)
_END = re.compile(rf"</{_TAG}>", re.IGNORECASE)


def without_thoughts(text: str) -> str:
    """The text less its thoughts. One that is not closed goes on to the end; one only closed began at the start."""
    return _END.split(_THOUGHTS.sub("", text))[-1]
