"""What strangers wrote (names, messages, facts of recordings) is shown, and no terminal obeys it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from foretell.cli import output
from foretell.cli.record import _findings
from foretell.kernels.program import Buffer, Program, Role, View
from foretell.kernels.record.refusal import Recording
from tests.cli.conftest import Invoke

HOSTILE = "a\x1b]0;title\x07b\x1b[31mc\x9b5md\u202ee\rf"
SHOWN = "a]0;titleb[31mc5mdef"


@pytest.mark.parametrize("text", ["plain", "é ≤ 3\u00a0%", "two\nlines\tand a tab"])
def test_ordinary_text_stays(text: str) -> None:
    assert output.shown(text) == text


def test_consoles_show_and_do_not_obey() -> None:
    for console in (output.people(), output.progress_console()):
        console.file = io.StringIO()
        console.print(output.marked("[bold]{}[/]", HOSTILE), soft_wrap=True)
        assert console.file.getvalue().strip() == SHOWN


def test_a_document_means_the_same_and_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    output.document({"name": HOSTILE, "é": 1})
    written = capsys.readouterr().out
    assert json.loads(written) == {"name": HOSTILE, "é": 1} and output.shown(written) == written


def test_errors_about_a_received_file_are_harmless(tmp_path: Path, invoke: Invoke) -> None:
    tensor = {"shape": ["M"], "dtype": HOSTILE}
    about = {"name": HOSTILE, "axes": {"M": {"type": "const", "value": 8}}, "inputs": {"A": tensor}, "outputs": {},
             "reference": "def run(A):\n    return A\n"}  # fmt: skip
    (tmp_path / "op.json").write_text(json.dumps(about))
    result = invoke("explain", tmp_path / "op.json")
    assert result.exit_code == 2 and SHOWN in result.output and output.shown(result.output) == result.output


@pytest.mark.parametrize("facts", [{}, {"launches": [], "assumptions": 5}, {"assumptions": [HOSTILE, 7]}])
def test_facts_of_a_recording_may_be_anything(facts: dict[str, object]) -> None:
    view = View(0, 0, "float32", (4,), (1,))
    program = Program("w", {}, (Buffer(16, Role.INPUT),), (view,), (), (), (), (view,), (), facts)
    lines = _findings(program, Recording(program))
    assert lines[0].startswith("0 kernel launches and 0 library calls") and all(line.isprintable() for line in lines)
