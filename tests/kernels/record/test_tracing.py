"""Features of builds, held against those that were read before tracing became part of recording."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from foretell.kernels.bench.gpu.builders import build_here
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import nvrtc
from foretell.kernels.library import get
from foretell.kernels.propose.cuda import templates as cuda_templates
from foretell.kernels.propose.triton import templates as triton_templates

GOLDEN = json.loads(Path(__file__).with_name("features.json").read_text())


@pytest.mark.skipif(
    GOLDEN["toolchain"] != [triton.__version__, nvrtc.toolchain()], reason="the compilers are other ones than then"
)
@pytest.mark.parametrize("name", sorted(GOLDEN["features"]))
def test_features_are_what_they_were(name: str) -> None:
    language, task, number = name.split("/")
    template = (triton_templates() if language == "triton" else cuda_templates())[task]
    candidate = Candidate(task, language, template.render(template.settings()[int(number)]))
    [built] = build_here([(get(task, "gpu"), candidate)], 90)
    assert built.features == GOLDEN["features"][name]
