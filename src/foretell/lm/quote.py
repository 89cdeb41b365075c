"""Foreign text in a prompt: between marks that it cannot forge, short enough, and without the marks of chat formats."""

from __future__ import annotations

import hashlib
import re

# What chat formats mark their turns with: a server that does not guard against them in quoted text would be led astray.
_TURN_MARKS = re.compile(r"<(?=\|)|<(?=/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])")


def fenced(name: str, text: str, max_characters: int) -> str:
    """Foreign text between marks that it does not contain; the middle of a very long one is left out.

    The mark is a hash of the text, so a text would have to contain its own hash to end its fence; should one, another
    mark is taken. What chat formats use to mark turns is spelled with a blank.
    """
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be sent
    text = without_turns(shortened(text, max_characters))
    mark, salt = "", 0
    while not mark or mark in text:
        mark = hashlib.sha256(f"{salt}\0{text}".encode()).hexdigest()[:12]
        salt += 1
    return f"<<<{name} {mark}>>>\n{text}\n<<<end {name} {mark}>>>"


def shortened(text: str, max_characters: int) -> str:
    """The text, with the middle left out where it is longer."""
    if len(text) <= max_characters:
        return text
    half = max(1, max_characters // 2)
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def without_turns(text: str) -> str:
    """The text with a blank inside whatever chat formats use to mark turns."""
    return _TURN_MARKS.sub(lambda match: f"{match.group()} ", text)
