"""What a compiler said, cut down to what is the candidate's: nothing foreign stays, and it still tells what is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.languages.cpp import find_compiler
from foretell.kernels.languages.diagnostics import (
    MESSAGE_CHARACTERS,
    MOST_LOG_CHARACTERS,
    REDACTED,
    diagnostics,
    plain,
)

SECRETS = ("TOKEN_a91f33ce", "hunter2swordfish", "correct battery staple horse", "4929 1180 0032 7719 884")
SOURCE = """#include <cmath>
extern "C" void kernel(const float* x, float* out, long long n) {
    for (long long i = 0; i < n; ++i) out[i] = std::expp(x[i]);
    int unused = missing_name;
}
"""


def log_of(source: str, folder: Path) -> str:
    """What this machine's compiler says, with no sandbox around it: the filter alone must do."""
    (folder / "kernel.cpp").write_text(source)
    command = [find_compiler().path, "-std=c++20", "-fsyntax-only", "kernel.cpp"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


def test_an_honest_error_is_still_told(tmp_path: Path) -> None:
    shown = diagnostics(log_of(SOURCE, tmp_path), SOURCE)
    assert "kernel.cpp:3" in shown and "kernel.cpp:4" in shown
    assert "expp" in shown and "missing_name" in shown and "error" in shown and "not declared in this scope" in shown
    assert "out[i] = std::expp(x[i]);" in shown


def test_no_more_of_a_log_is_read_than_stated() -> None:
    line = "kernel.cpp:3: error: missing_name was not declared\n"
    foreign = "/usr/include/c++/vector:12: error: expected a type\n"
    before = foreign * ((MOST_LOG_CHARACTERS - len(line)) // len(foreign))
    assert "missing_name" in diagnostics(before + line, SOURCE)
    assert "missing_name" not in diagnostics(before + foreign + line, SOURCE)
    assert diagnostics(line * 100_000, SOURCE) == (line * 100)[:MESSAGE_CHARACTERS]


TRICKS = {
    "included": '#include "{file}"\n',
    "a name": 'int\n#include "{file}"\n;\n',
    "an assertion": '#define T(...) #__VA_ARGS__\n#define S(...) static_assert(false, T(__VA_ARGS__))\nS(\n#include "{file}"\n);\n',
    "a warning": '#define T(...) #__VA_ARGS__\n#pragma message(T(\n#include "{file}"\n))\nint x = y;\n',
    "a string of a wrong type": "#define T(...) #__VA_ARGS__\n#define S(...) T(__VA_ARGS__)\nint x = S(\n#include \"{file}\"\n);\n",
    "a line number": '#line 7 "{file}"\nint x = y;\n',
    "an argument": "template <class A, class B> void f(A, B);\nvoid g() {{ f(\n#include \"{file}\"\n); }}\n",
}  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("secret", SECRETS)
def test_the_words_of_other_files_are_not(trick: str, secret: str, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "notes.txt").write_text(secret + "\n")
    source = TRICKS[trick].format(file=private / "notes.txt")
    log = log_of(source, tmp_path)
    shown = diagnostics(log, source)
    common = {"correct"}  # a word of compilers too
    for word in secret.split():
        if word in common:
            continue
        assert word not in shown, shown
    assert shown


def test_a_foreign_file_of_the_same_name_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "kernel.cpp").write_text("TOKEN_a91f33ce is here\n")
    source = f'#include "{tmp_path}/private/kernel.cpp"\n'
    assert "TOKEN" not in diagnostics(log_of(source, tmp_path), source)


def test_cuda_and_triton_errors_are_still_told() -> None:
    source = "__global__ void f(int n) { missing(n); }\n"
    log = f'kernel.cu(1): error: identifier "missing" is undefined\n  {source}     ^\n\n1 error detected in the compilation of "kernel.cu".\n'
    assert diagnostics(log, source).startswith('kernel.cu(1): error: identifier "missing" is undefined')
    log = "ptxas error   : Entry function 'f' uses too much shared data (0x1c000 bytes, 0xc000 max)"
    assert diagnostics(log, source) == log
    source = "@triton.jit\ndef body(x):\n    tl.store(x, missing)\n"
    log = "at 3:16:\ndef body(x):\n    tl.store(x, missing)\n                ^\nNameError('missing is not defined')"
    assert diagnostics(log, source) == log


@given(st.text(max_size=300), st.text(max_size=100))
def test_any_log_is_cut_down_without_a_fault(log: str, source: str) -> None:
    shown = diagnostics(log, source)
    assert shown and all(character in "\n\t" or character.isprintable() for character in shown)


@given(st.from_regex(r"[g-z]{9,14}", fullmatch=True))
def test_a_word_of_neither_side_never_stays(word: str) -> None:
    from foretell.kernels.languages.diagnostics import vocabulary

    if word not in vocabulary():
        for log in (f"kernel.cpp:1:1: error: '{word}' was not declared", f"error: {word}", f"1 | int {word};", word):
            assert word not in diagnostics(log, "int a;")


def test_control_characters_go() -> None:
    text = "a\x1b[31mred\x1b[0m \x1b]0;title\x07b\x00\x08\x9b1mc\u202ed\u200be\r\nf\tg"
    assert plain(text) == "ared b1mcde\nf\tg"
    assert plain("x" * 50, 10) == "x" * 10


def test_redactions_are_marked() -> None:
    assert REDACTED in diagnostics("kernel.cpp:1:1: error: 'abracadabra' was not declared in this scope", "int a;")
