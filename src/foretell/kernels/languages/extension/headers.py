"""The include folder of one build: this package's headers, those written for the source, and torch's names for them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from foretell.kernels.languages.extension import toolchain
from foretell.kernels.languages.extension.operators import declarations
from foretell.kernels.languages.extension.prelude import prelude
from foretell.kernels.languages.extension.sources import ExtensionSources

PACKAGE = Path(__file__).parent
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_OF_TORCH = re.compile(r"(?:torch|ATen|c10|caffe2|pybind11|THC)/[\w/.+-]+")
_ALWAYS = ("torch/extension.h", "torch/types.h")
_LIBRARIES = {"cublas_v2.h": "foretell/cublas.h", "cublas.h": "foretell/cublas.h"}
_IF_MISSING = {"curand_kernel.h": "foretell/curand.h", "curand.h": "foretell/curand.h"}  # the toolkit's own is better


@cache
def own_headers() -> Mapping[str, str]:
    """The headers of this package by the name they are included by."""
    folder = PACKAGE / "include"
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.h"))}


@cache
def digest() -> str:
    """Of all headers and native sources: builds made from others are not reused."""
    hashed = hashlib.sha256()
    for path in sorted((*(PACKAGE / "include").rglob("*.h"), *(PACKAGE / "native").iterdir())):
        hashed.update(path.name.encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


def written_headers(sources: ExtensionSources) -> dict[str, str]:
    """The files that are written for one source: its prelude, the operators it calls, and the names it includes by.

    Any header of torch is the same one here, so that a source may include whichever it likes.
    """
    text = sources.text
    operators = declarations(text)
    files = {
        "foretell_prelude.h": prelude(text, bool(sources.cuda)),
        "foretell_methods.inc": operators.methods,
        "foretell_functions.inc": operators.functions,
    }
    names = set(_ALWAYS) | {name for name in _INCLUDE.findall(text) if _OF_TORCH.fullmatch(name) and ".." not in name}
    files |= dict.fromkeys(sorted(names), '#include "foretell/torch.h"\n')
    files |= {name: f'#include "{ours}"\n' for name, ours in _LIBRARIES.items() if name in text}
    for name, ours in _IF_MISSING.items():
        if name in text and not (toolchain.cuda_include() / name).is_file():
            files[name] = f'#include "{ours}"\n'
    return files | {name: content for name, content in sources.headers.items() if name not in files}
