"""Correlation of a signal with a short filter: an operation of one's own for the CPU, checked by numpy."""

import numpy as np

workloads = [{"n": 1 << 18, "taps": 16}, {"n": 100_000, "taps": 101}]
extra = [{"n": 37, "taps": 5}]
tolerance = (1e-4, 1e-4)
cpp = """
#include <cstdint>

extern "C" void kernel(const float* x, const float* filter, float* out, int64_t n, int64_t taps) {
    for (int64_t i = 0; i + taps <= n; ++i) {
        out[i] = 0.0f;
        for (int64_t k = 0; k < taps; ++k) out[i] += x[i + k] * filter[k];
    }
}
"""


def inputs(seed, n, taps):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n, dtype="float32"), rng.standard_normal(taps, dtype="float32")


def reference(x, filter):
    return np.correlate(x, filter, mode="valid")
