"""From an extension's sources to a shared object, in one run of the compiler, kept by content."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from foretell.kernels.languages.diagnostics import diagnostics
from foretell.kernels.languages.extension import toolchain
from foretell.kernels.languages.extension.errors import ExtensionError, Reason
from foretell.kernels.languages.extension.headers import digest, own_headers, written_headers
from foretell.kernels.languages.extension.places import kept, scratch
from foretell.kernels.languages.extension.prelude import trimming_options
from foretell.kernels.languages.extension.sources import ExtensionSources
from foretell.kernels.languages.extension.support import support_objects
from foretell.kernels.limits import COMPILER_LIMITS, EXTENSION
from foretell.kernels.sandbox import run
from foretell.received import read_plain

# As torch's own builder has them: sources that rely on them behave the same.
_NVCC = (
    "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr",
)  # fmt: skip
# Nothing of the compilation is of use once it is linked; device code stays uncompressed, for recorders read it.
_QUIET = ("-w", "--no-compress", "-cudart", "none")
_EXPORTING = "--version-script=exports.map"
_TEXTS = ("extension.cpp", "extension.cu", "device.cu", "host.cpp")
_EXPORTS = "{ global: PyInit_*; local: *; };\n"
_CLASHES = re.compile(
    r"redefin|already (?:been )?(?:defined|declared)|ambiguous|duplicate|default argument|previous decl"
)
_LIMITS = replace(
    COMPILER_LIMITS,
    cpu_s=EXTENSION.compile_cpu_s,
    wall_s=10 * EXTENSION.compile_cpu_s,
    memory_bytes=EXTENSION.compile_memory_bytes,
    address_bytes=EXTENSION.compile_memory_bytes,
)
_FOREIGN = re.compile(r"^\s+U (_{0,2}cu[a-zA-Z]\w+)", re.MULTILINE)


def build(sources: ExtensionSources, arch: str) -> Path:
    """The shared object of an extension for GPUs of `arch` (`sm_90a`), from the cache if it was built before.

    Raises:
        ExtensionError: If it cannot be built with the headers of this package.
    """
    if sources.bound_twice:
        raise ExtensionError(Reason.INVALID, "the sources have a PYBIND11_MODULE, and `functions` asks for another")
    written = written_headers(sources)
    place = kept(f"extensions/{_key(sources, written, arch)}/{sources.name}.so")
    if place.exists():
        return place
    objects = support_objects(cuda=bool(sources.cuda))
    with tempfile.TemporaryDirectory(prefix="extension-", dir=scratch()) as name:
        folder = Path(name)
        _write(folder / "include", {**own_headers(), **written})
        _write(folder, {"exports.map": _EXPORTS})
        copies = [Path(shutil.copy(each, folder)) for each in objects]
        made = folder / "made.so"
        _compile(sources, arch, folder, copies, made)
        _refuse_unknown_functions(made, folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_suffix(f".{folder.name}")
        partial.write_bytes(read_plain(made))
        partial.chmod(0o755)
        partial.replace(place)
    return place


def _key(sources: ExtensionSources, written: dict[str, str], arch: str) -> str:
    nvcc, host = (toolchain.nvcc() if sources.cuda else None), toolchain.host_compiler()
    content = {
        "name": sources.name, "cpp": sources.cpp, "cuda": sources.cuda, "functions": sources.functions,
        "options": [sources.cuda_options, sources.host_options], "written": written, "ours": digest(),
        "compilers": [nvcc.version if nvcc else "", host.version if host else ""], "arch": arch if sources.cuda else "",
        "python": toolchain.python_tag(),
    }  # fmt: skip
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def bindings(sources: ExtensionSources) -> str:
    """The module definition that goes with `functions`; empty if the sources have their own."""
    if not sources.functions:
        return ""
    lines = [f"  m.def({json.dumps(name)}, &{name}, {json.dumps(doc)});" for name, doc in sources.functions]
    return "\n".join(("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}", ""))


def _compile(sources: ExtensionSources, arch: str, folder: Path, objects: Sequence[Path], made: Path) -> None:
    """All texts as one translation unit, which is fastest; each by itself if they do not go together."""
    host_text = "\n".join(("#include <torch/extension.h>", *sources.cpp, bindings(sources)))
    if not sources.cuda:
        _write(folder, {"extension.cpp": host_text})
        _run(
            [
                *_host_command(sources),
                "-shared",
                f"-Wl,{_EXPORTING}",
                "extension.cpp",
                *map(str, objects),
                "-o",
                str(made),
            ],
            folder,
        )
        return
    device_text = "\n".join(("#include <torch/types.h>", *sources.cuda))
    _write(
        folder,
        {"extension.cu": "\n".join(("#include <torch/extension.h>", *sources.cpp, *sources.cuda, bindings(sources)))},
    )
    link = ["-shared", f"-Xlinker={_EXPORTING}", *map(str, objects), "-o", str(made)]
    try:
        _run([*_nvcc_command(sources, arch), "extension.cu", *link], folder)
    except ExtensionError as error:
        if len(sources.cpp) + len(sources.cuda) < 2 or not _CLASHES.search(error.log):
            raise
        _write(folder, {"device.cu": device_text, "host.cpp": host_text})
        _run(
            [
                *_host_command(sources),
                "-DFORETELL_CUDA",
                f"-I{toolchain.cuda_include()}",
                "-c",
                "host.cpp",
                "-o",
                "host.o",
            ],
            folder,
        )
        _run([*_nvcc_command(sources, arch), "device.cu", "host.o", *link], folder)


def _host_command(sources: ExtensionSources) -> list[str]:
    return [
        toolchain.needed_host_compiler().path, "-O2", "-std=c++17", "-fPIC", "-w", "-Iinclude",
        f"-DTORCH_EXTENSION_NAME={sources.name}", *trimming_options(sources.text), *sources.host_options,
    ]  # fmt: skip


def _nvcc_command(sources: ExtensionSources, arch: str) -> list[str]:
    """Device code is optimised as always; host code is not, for it only launches."""
    number = arch.removeprefix("sm_")
    standard = [] if any(word.startswith("-std=") for word in sources.cuda_options) else ["-std=c++17"]
    options = [word for word in sources.cuda_options if not re.fullmatch(r"-O[0-3]", word)]
    return [
        toolchain.needed_nvcc().path, *standard, "-Xcompiler=-fPIC", "-Iinclude", "-DFORETELL_CUDA",
        f"-DTORCH_EXTENSION_NAME={sources.name}", f"-gencode=arch=compute_{number},code=[sm_{number},compute_{number}]",
        *_NVCC, *_QUIET, *trimming_options(sources.text), *options,
    ]  # fmt: skip


def _run(command: Sequence[str], folder: Path) -> None:
    text = "\n".join((folder / name).read_text() for name in _TEXTS if (folder / name).exists())
    done = run(command, writable=folder, limits=_LIMITS)
    if done.broken:
        raise ExtensionError(Reason.NO_COMPILER, f"the compiler's sandbox failed: {done.broken}")
    if done.timed_out or done.starved:
        raise ExtensionError(Reason.TOO_SLOW, f"the compiler did not finish within {EXTENSION.compile_cpu_s:g} s")
    if done.returncode != 0:
        log = diagnostics(done.stderr + done.stdout, text, _TEXTS, EXTENSION.log_characters)
        raise ExtensionError(Reason.DOES_NOT_COMPILE, "the extension does not compile", log)


def _refuse_unknown_functions(made: Path, folder: Path) -> None:
    """ExtensionError if the object calls functions of CUDA that our runtime does not have."""
    listed = run(["nm", "-D", "--undefined-only", str(made)], writable=folder, limits=_LIMITS)
    unknown = sorted(set(_FOREIGN.findall(listed.stdout)))
    if unknown:
        raise ExtensionError(Reason.UNSUPPORTED, f"the extension calls {', '.join(unknown)}, which is not offered here")
