"""Settings of the whole suite: no test fails for taking long, where CI is set property tests draw the same examples
every time, and tests of Ctrl-C also hold in the background of a script, where shells have it ignored."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("calm", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "calm")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
