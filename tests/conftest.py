"""Settings of the whole suite: no test fails for taking long, and where CI is set, property tests draw the same
examples every time."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("calm", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "calm")
