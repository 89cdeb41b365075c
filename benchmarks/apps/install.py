"""Installs the applications of the suite into a folder: one virtual environment or node_modules each.

    python -m benchmarks.apps.install FOLDER [NAME ...]       # all, or those named; goes on where it stopped

Debian packages are installed into the system with apt-get, which needs root; they are the same for all folders. `uv` is
used for virtual environments if it is on the path.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.apps.application import Application
from benchmarks.apps.desktop import PROGRAMS
from benchmarks.apps.desktop import TOOLS as DESKTOP_TOOLS
from benchmarks.apps.web import APPLICATIONS

MARK = ".installed"


def commands(application: Application, home: Path) -> list[list[str]]:
    """What installs the application into its folder."""
    packages = list(application.packages)
    if application.source == "debian":
        tools = DESKTOP_TOOLS if application.desktop else ()
        return [["apt-get", "install", "-y", "--no-install-recommends", *packages, *tools]]
    if application.source == "npm":
        return [["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(home), *packages]]
    venv = str(home / "venv")
    if shutil.which("uv"):
        python = ["--python", f"{venv}/bin/python"]
        return [
            ["uv", "venv", "-q", "--python", sys.executable, venv],
            ["uv", "pip", "install", "-q", *python, *packages],
        ]
    return [[sys.executable, "-m", "venv", venv], [f"{venv}/bin/pip", "install", "-q", *packages]]


def install(application: Application, folder: Path) -> str:
    """Install one application; the tail of the installer's output if it failed, else an empty text."""
    home = folder / application.name
    if (home / MARK).exists():
        return ""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for command in commands(application, home):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return (done.stdout + done.stderr)[-1500:]
    (home / MARK).touch()
    return ""


def by_name(names: Sequence[str]) -> list[Application]:
    """The applications of these names, all without any. Raises ValueError for an unknown name."""
    known = {one.name: one for one in (*APPLICATIONS, *PROGRAMS)}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(f"no application is called {', '.join(unknown)}: choose from {', '.join(sorted(known))}")
    return [known[name] for name in names] or list(known.values())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    for application in by_name(options.names):
        fault = install(application, options.folder.resolve())
        print(f"{application.name}: {'installed' if not fault else 'FAILED: ' + fault}", flush=True)


if __name__ == "__main__":
    main()
