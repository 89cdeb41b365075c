"""Ask and tell: tunes the tiles of a matrix product in C++ on this machine's CPU, in a few seconds.

python examples/tune_ask_tell.py [TRIES]
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from foretell.hooks.study import Study

SIZE = 256
L1_BYTES = 32 * 1024
SOURCE = """
extern "C" void product(const float* a, const float* b, float* c, int n, int ti, int tk, int tj) {
    for (int i = 0; i < n * n; ++i) c[i] = 0.0f;
    for (int i0 = 0; i0 < n; i0 += ti)
        for (int k0 = 0; k0 < n; k0 += tk)
            for (int j0 = 0; j0 < n; j0 += tj)
                for (int i = i0; i < (i0 + ti < n ? i0 + ti : n); ++i)
                    for (int k = k0; k < (k0 + tk < n ? k0 + tk : n); ++k) {
                        const float x = a[i * n + k];
                        for (int j = j0; j < (j0 + tj < n ? j0 + tj : n); ++j) c[i * n + j] += x * b[k * n + j];
                    }
}
"""
TILES = (4, 8, 16, 32, 64, 128, 256)


def build(folder: Path) -> ctypes.CDLL:
    (folder / "product.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "product.cpp", "-o", "product.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "product.so"))


def main() -> None:
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    a, b = np.random.default_rng(0).standard_normal((2, SIZE, SIZE), dtype=np.float32)
    want, got = a @ b, np.empty_like(a)
    study = Study({"i": TILES, "k": TILES, "j": TILES}, allowed=lambda c: 4 * c["k"] * c["j"] <= L1_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))

        def seconds(tiles: dict[str, int]) -> float | None:
            """The best of three runs; None where the result is wrong."""
            times = []
            for _ in range(3):
                started = time.perf_counter()
                library.product(*(x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, got)), SIZE, *tiles.values())
                times.append(time.perf_counter() - started)
            return min(times) if np.allclose(got, want, atol=1e-3) else None

        for _ in range(tries):
            tiles = study.ask()
            study.tell(tiles, seconds(tiles))
    print(f"best of {tries} tried, {len(study)} allowed: {study.best} in {study.best_time * 1e3:.3f} ms")


if __name__ == "__main__":
    main()
