"""Templates render what they rendered when the golden file was written, and every CUDA template compiles."""

from __future__ import annotations

import shutil

import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import nvrtc
from foretell.kernels.measurement import Status
from foretell.kernels.propose.cuda import templates as cuda_templates
from tests.kernels.propose.golden import fingerprint, recorded, template_names
from tests.kernels.representatives import per_family, representatives

NAMES = template_names()
QUICK = {
    f"{language}/{task}"
    for language, kind in (("cpp", "cpu"), ("cuda", "gpu"), ("triton", "gpu"))
    for task in representatives((n.split("/")[1] for n in NAMES if n.startswith(f"{language}/")), kind)
}
H200 = 90


def test_the_golden_file_knows_every_template() -> None:
    assert sorted(recorded()) == NAMES
    assert sum(int(entry["sources"]) for entry in recorded().values()) > 70_000


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.full, id=n) for n in NAMES])
def test_sources_are_as_recorded(name: str) -> None:
    """If this change is intended: `python -m tests.kernels.propose.golden`."""
    assert fingerprint(name) == recorded()[name]


@pytest.mark.skipif(nvrtc.toolchain() is None and shutil.which("nvcc") is None, reason="neither NVRTC nor nvcc is here")
@pytest.mark.parametrize("name", per_family(cuda_templates(), "gpu"))
def test_plainest_cuda_source_compiles(name: str) -> None:
    pytest.importorskip("torch")
    from foretell.kernels.bench.gpu.builders import build_here
    from foretell.kernels.library import get

    template = cuda_templates()[name]
    candidate = Candidate(name, "cuda", template.render(template.settings()[0]))
    [build] = build_here([(get(name, "gpu"), candidate)], H200)
    assert build.status is Status.OK and not build.message, build.message
