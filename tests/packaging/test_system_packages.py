"""`.ci/system-packages` with stand-ins for apt-get and id: what it installs depends on what is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "system-packages"
BASH = shutil.which("bash")


@pytest.mark.parametrize(
    ("present", "options", "installed"),
    [
        ([], [], "chromium"),
        ([], ["--bubblewrap"], "chromium bubblewrap"),
        (["google-chrome"], ["--bubblewrap"], "bubblewrap"),
        (["chromium", "bwrap"], ["--bubblewrap"], None),
    ],
)
def test_what_is_missing_is_installed(
    tmp_path: Path, present: list[str], options: list[str], installed: str | None
) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    asked = tmp_path / "asked"
    stand_ins = {"apt-get": f'echo "$@" >>{asked}', "id": "echo 0"} | dict.fromkeys(present, "true")
    for name, body in stand_ins.items():
        (commands / name).write_text(f"#!{BASH}\n{body}\n")
        (commands / name).chmod(0o755)
    assert BASH is not None
    subprocess.run([BASH, str(SCRIPT), *options], env={"PATH": str(commands)}, check=True)
    words = asked.read_text().splitlines()[-1] if asked.exists() else None
    assert words == (installed and f"install -y -qq --no-install-recommends {installed}")
