"""Commands in processes that are forked from one that has imported the command line, and other modules if wanted.

What a command does there is what it does in a process of its own; only the start of the interpreter is paid once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

_SERVER = """
import functools, gc, importlib.util, json, os, sys, traceback
import foretell.cli.app
import typer.main, typer.rich_utils

if importlib.util.find_spec("typer._adapters"):  # where Typer has it, the first parameter that is read imports it
    import typer._adapters
typer.main.get_command = functools.cache(typer.main.get_command)  # the tree of commands is built once, not by each
typer.main.get_command(foretell.cli.app.app)
preload, told = map(json.loads, sys.argv[1:])
for name in preload:
    importlib.import_module(name)
gc.freeze()
for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    code = 1
    try:
        for descriptor, path in enumerate(request["files"]):
            opened = os.open(path, os.O_RDWR | os.O_NOCTTY)
            os.dup2(opened, descriptor)
            os.close(opened)
        os.chdir(request["folder"])
        os.environ.update(request["variables"])
        sys.argv = ["foretell", *request["arguments"]]
        foretell.cli.main()
        code = 0
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        print(*(name for name in told if name in sys.modules), file=sys.stderr, end="")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
"""


class Forked:
    """A process that runs commands by forking. `variables` is its environment."""

    def __init__(
        self, variables: Mapping[str, str], preload: Sequence[str] = (), say_if_imported: Sequence[str] = ()
    ) -> None:
        """The process imports `preload` before it forks. What a command has imported in the end of `say_if_imported`
        is named among its errors."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER, json.dumps(preload), json.dumps(say_if_imported)],
            env=dict(variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, folder: Path, terminal: str | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `foretell` with these arguments in a folder; on a terminal if one is named, and then without output."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
            files = [terminal] * 3 if terminal else [os.devnull, output.name, errors.name]
            request = {"arguments": arguments, "folder": str(folder), "files": files, "variables": variables}
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            answer = stdout.readline()
            assert answer, "the process that forks is gone"
            return subprocess.CompletedProcess(arguments, int(answer), output.read(), errors.read())

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
