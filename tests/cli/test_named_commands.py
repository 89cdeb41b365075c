"""Every `foretell` command that an error, a hint or the docs name exists, with the options they name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from foretell.cli.app import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "foretell"
ROOT_COMMAND: Any = typer.main.get_command(app)
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_NAMED = re.compile(r"(?<!import )\bforetell ((?:[a-z]+|--[a-z])[^`\n;|#]*)")
_PROSE_AFTER = re.compile(r" (?:or|and|then|again|writes|lists|tells|may|adds|puts|measures|knows)\b|[,:)\[]| \(")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The string literals of a module, with placeholders filled in, and calls of `command_line` as text."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "command_line":
            words = [str(a.value) if isinstance(a, ast.Constant) else "X" for a in node.args]
            yield node.lineno, " ".join(("foretell", *words))


def positional(command: Any, words: list[str]) -> list[str]:
    """The words that are neither options nor their values; `--help` and `--version` stand for any."""
    flags = {o for p in command.params for o in (*p.opts, *p.secondary_opts) if getattr(p, "is_flag", False)}
    found, value = [], False
    for word in words:
        if word in ("--help", "-h", "--version"):
            return words * 9
        if word.startswith("-"):
            value = word not in flags and "=" not in word
        elif value:
            value = False
        else:
            found.append(word)
    return found


def faults(text: str, strict: bool, complete: bool = True) -> Iterator[str]:
    """What is wrong with the commands in a text.

    Args:
        text: What names them.
        strict: An unknown verb is a fault; without it, the text is prose there.
        complete: A missing argument is a fault; without it, the command may be named in short.
    """
    for match in _NAMED.finditer(text):
        line = _PROSE_AFTER.split(match.group(1))[0].replace("[/]", "")
        words = re.split(r"\s+", line.strip())
        command = ROOT_COMMAND
        while words and hasattr(command, "commands") and not words[0].startswith("-"):
            if words[0] not in command.commands:
                if strict or command is not ROOT_COMMAND:
                    yield f"foretell {line}: there is no {words[0]!r}"
                words = []
                break
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        known |= {"--help", "-h", "--version"}
        needed = sum(p.param_type_name == "argument" and p.required for p in command.params)
        if complete and words and len(positional(command, words)) < needed:
            yield f"foretell {line}: an argument is missing"
        for word in words:
            option = word.partition("=")[0].strip(".'\"")
            if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in known:
                yield f"foretell {line}: there is no option {option}"


def test_commands_in_the_source() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in texts(path)
        for fault in faults(text, strict=False)
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_docs(page: Path) -> None:
    text = page.read_text().replace("\\\n", " ")
    blocks, inline = re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S), re.findall(r"`(foretell [^`]*)`", text)
    wrong = [fault for block in blocks for fault in faults(block, strict=True)]
    wrong += [fault for words in inline for fault in faults(words, strict=True, complete=False)]
    assert wrong == []


def test_faults_are_seen() -> None:
    assert list(faults("run `foretell serach softmax`", strict=True))
    assert list(faults("foretell search softmax --langage triton", strict=False))
    assert list(faults("foretell data imprt FILE", strict=False))
    assert list(faults("foretell measure --size RUN", strict=False))
    assert not list(faults("foretell search softmax --language triton", strict=True))
