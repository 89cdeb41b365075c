"""Fingerprints of every source that the templates render: `python -m tests.kernels.propose.golden` writes them anew.

A changed fingerprint means that candidates with the same knobs are now different programs: recorded measurements and
the trained forecaster refer to the old ones. Regenerate the file only if that is intended.
"""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path

from foretell.kernels.propose.template import Template

GOLDEN = Path(__file__).with_name("templates.json")
LANGUAGES = ("cpp", "cuda", "triton")

Fingerprint = dict[str, int | str]


def template_names() -> list[str]:
    """Every template as `language/task`, in a fixed order."""
    return sorted(f"{language}/{task}" for language in LANGUAGES for task in _templates(language))


def fingerprint(name: str) -> Fingerprint:
    """The number of sources of a template and one hash over all of them, in the order of its settings."""
    language, task = name.split("/")
    template = _templates(language)[task]
    digest = hashlib.sha256()
    settings = template.settings()
    for knobs in settings:
        digest.update(template.render(knobs).encode() + b"\0")
    return {"sources": len(settings), "sha256": digest.hexdigest()}


def recorded() -> dict[str, Fingerprint]:
    found: dict[str, Fingerprint] = json.loads(GOLDEN.read_text())
    return found


def _templates(language: str) -> dict[str, Template]:
    found: dict[str, Template] = import_module(f"foretell.kernels.propose.{language}").templates()
    return found


def main() -> None:
    names = template_names()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        prints = dict(zip(names, pool.map(fingerprint, names, chunksize=4), strict=True))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(prints[name])}" for name in names)
    GOLDEN.write_text(f"{{\n{lines}\n}}\n")
    print(f"{sum(int(p['sources']) for p in prints.values())} sources of {len(names)} templates: {GOLDEN.name}")


if __name__ == "__main__":
    main()
