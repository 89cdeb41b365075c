"""An application of the suite: where it comes from, how it is started with demo data, and where walks begin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Source = Literal["pypi", "npm", "debian"]
DEMO = Path(__file__).parent / "demo"


@dataclass(frozen=True)
class Application:
    """One application.

    Commands are lists of words in which `{home}` is the application's folder, `{data}` its fresh data folder, `{demo}`
    the folder of demo projects, `{port}` a free port and `{port2}` another one.

    Attributes:
        title: What a person calls it.
        packages: What the package manager of its source installs.
        start: The command that serves it until it is stopped; for a desktop program, the program.
        seed: Commands that put demo data into `{data}` before it starts.
        filled: Commands that put demo data into the running application.
        paths: Addresses below the root at which walks begin.
        login: (selector, text) of fields that are filled before a walk; Enter in the last one logs in.
    """

    name: str
    title: str
    source: Source
    packages: tuple[str, ...]
    start: tuple[str, ...] = ()
    seed: tuple[tuple[str, ...], ...] = ()
    filled: tuple[tuple[str, ...], ...] = ()
    paths: tuple[str, ...] = ("/",)
    login: tuple[tuple[str, str], ...] = ()
    desktop: bool = False

    def words(self, command: tuple[str, ...], home: Path, port: int = 0, port2: int = 0) -> list[str]:
        """A command with its places filled in."""
        names = {"home": home, "data": home / "data", "demo": DEMO, "port": port, "port2": port2}
        return [word.format(**names) for word in command]
