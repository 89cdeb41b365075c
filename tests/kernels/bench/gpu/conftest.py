"""Workers in the tests' own process leave torch's settings as they found them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _settings_restored() -> Iterator[None]:
    """A session sets what suits its task for the whole process, which would be its own on a GPU."""
    pytest.importorskip("torch")
    from foretell.kernels.bench.gpu import settings

    with settings.under(settings.current()):
        yield
