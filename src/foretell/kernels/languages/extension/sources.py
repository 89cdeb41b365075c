"""What an extension is built from, and which of the options that came with it are heeded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from foretell.kernels.languages.extension.errors import ExtensionError, Reason

# Options for nvcc that change what is computed or how fast, each a whole word. Others (paths, libraries, architectures,
# plugins) are left out: the first are read by the compiler with our rights, and we choose the architecture.
_CUDA_OPTIONS = (
    r"-O[0-3]",
    r"--?use_fast_math",
    r"--?(?:ftz|prec-div|prec-sqrt|fmad)=(?:true|false)",
    r"--?(?:maxrregcount)=\d+",
    r"--?(?:restrict|extra-device-vectorization|lineinfo|generate-line-info)",
    r"--(?:expt-relaxed-constexpr|expt-extended-lambda|extended-lambda)",
    r"-expt-(?:relaxed-constexpr|extended-lambda)",
    r"-std=c\+\+(?:17|20)",
    r"-[DU]\w+(?:=[\w.+-]*)?",
    r"(?:-Xptxas=?|--ptxas-options=)(?:-O[0-3]|-dlcm=c[ag]|-allow-expensive-optimizations=(?:true|false))",
)
_HOST_OPTIONS = (r"-O[0-3]", r"-ffast-math", r"-funroll-loops", r"-march=native", r"-std=c\+\+(?:17|20)", r"-fopenmp",
                 r"-[DU]\w+(?:=[\w.+-]*)?")  # fmt: skip
_ALLOWED_CUDA = re.compile("|".join(_CUDA_OPTIONS))
_ALLOWED_HOST = re.compile("|".join(_HOST_OPTIONS))
_TWO_WORDS = ("-Xptxas", "--ptxas-options", "-maxrregcount", "--maxrregcount")
_REMARKS = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_MODULE = re.compile(r"^[ \t]*PYBIND11_MODULE\s*\(", re.MULTILINE)
_QUOTED_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class ExtensionSources:
    """The text of one extension: C++, CUDA, and which functions Python is to see.

    Args:
        name: Of the module that it becomes.
        cpp: C++ sources, each a text.
        cuda: CUDA sources.
        functions: Pairs of a function's name and its documentation, for which bindings are written; empty if the
            sources bind their functions themselves (`PYBIND11_MODULE`).
        cuda_options, host_options: Those options that are heeded.
        headers: Files that the sources include with quotes, by the name they are included by.
    """

    name: str
    cpp: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    functions: tuple[tuple[str, str], ...] = ()
    cuda_options: tuple[str, ...] = ()
    host_options: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w{0,120}", self.name):
            raise ExtensionError(Reason.UNSUPPORTED, f"{self.name[:60]!r} cannot be the name of an extension module")
        for function, _ in self.functions:
            if not re.fullmatch(r"[A-Za-z_][\w:]*", function):
                raise ExtensionError(Reason.UNSUPPORTED, f"{function[:60]!r} cannot be the name of a bound function")

    @property
    def bound_twice(self) -> bool:
        """Whether the sources define the module although `functions` asks for that too: then there are two of it."""
        return bool(self.functions) and any(_MODULE.search(_REMARKS.sub(" ", text)) for text in (*self.cpp, *self.cuda))

    @property
    def text(self) -> str:
        """Everything that is compiled, for looking at."""
        return "\n".join((*self.headers.values(), *self.cpp, *self.cuda))


def texts_of(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Sources as `load_inline` takes them: one text, several or none."""
    return (value,) if isinstance(value, str) else tuple(value or ())


def functions_of(value: str | Iterable[str] | Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Functions as `load_inline` takes them, with their documentation."""
    if isinstance(value, Mapping):
        return tuple(value.items())
    return tuple((name, name) for name in ((value,) if isinstance(value, str) else value or ()))


def cuda_options(words: Iterable[str] | None) -> tuple[str, ...]:
    """Those options for nvcc that are allowed, in order."""
    return _filtered(words, _ALLOWED_CUDA)


def host_options(words: Iterable[str] | None) -> tuple[str, ...]:
    return _filtered(words, _ALLOWED_HOST)


def _filtered(words: Iterable[str] | None, allowed: re.Pattern[str]) -> tuple[str, ...]:
    flat = [word.strip() for word in words or () if word.strip()]
    joined: list[str] = []
    for word in flat:
        if joined and joined[-1] in _TWO_WORDS:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return tuple(word for word in joined if allowed.fullmatch(word))


def from_files(
    name: str, paths: Iterable[str | Path], cuda_options: tuple[str, ...] = (), host_options: tuple[str, ...] = ()
) -> ExtensionSources:
    """What `load` takes: files of C++ and CUDA, with those beside them that they include."""
    cpp: list[str] = []
    cuda: list[str] = []
    headers: dict[str, str] = {}
    for path in map(Path, paths):
        text = _read(path)
        (cuda if path.suffix in (".cu", ".cuh") else cpp).append(text)
        _collect_headers(text, path.parent, headers)
    return ExtensionSources(name, tuple(cpp), tuple(cuda), (), cuda_options, host_options, headers)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExtensionError(Reason.UNSUPPORTED, f"the source {path.name} cannot be read: {error}") from error


def _collect_headers(text: str, folder: Path, headers: dict[str, str]) -> None:
    for name in _QUOTED_INCLUDE.findall(text):
        path = folder / name
        if name not in headers and ".." not in Path(name).parts and not Path(name).is_absolute() and path.is_file():
            headers[name] = _read(path)
            _collect_headers(headers[name], folder, headers)
