"""Processes that keep the processors busy, to test and measure beside them; they end with whoever started them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

SPIN = "", "for _ in range(1 << 18): pass"
COPY = "import numpy as np; a = np.ones(1 << 22); b = a.copy()", "np.copyto(b, a)"
_PROGRAM = "import os, sys\n{prelude}\nwhile os.getppid() == int(sys.argv[1]):\n    {step}\n"


@contextmanager
def others(programs: Sequence[tuple[str, str]]) -> Iterator[list[int]]:
    """Processes that never sleep, one for each of `programs` (what it does first, what it repeats); their ids.

    Each is in a session of its own. They end here, and by themselves if this process is killed.
    """
    own = str(os.getpid())
    texts = [_PROGRAM.format(prelude=prelude, step=step) for prelude, step in programs]
    processes = [subprocess.Popen([sys.executable, "-c", text, own], start_new_session=True) for text in texts]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
