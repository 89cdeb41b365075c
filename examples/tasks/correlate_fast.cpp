// A candidate for correlate.py: the sum stays in registers, and eight outputs are worked on at a time.
#include <cstdint>

constexpr int UNROLL = 8;

extern "C" void kernel(const float* x, const float* filter, float* out, int64_t n, int64_t taps) {
    const int64_t count = n - taps + 1;
    int64_t i = 0;
    for (; i + UNROLL <= count; i += UNROLL) {
        float sum[UNROLL] = {};
        for (int64_t k = 0; k < taps; ++k)
            for (int j = 0; j < UNROLL; ++j) sum[j] += x[i + j + k] * filter[k];
        for (int j = 0; j < UNROLL; ++j) out[i + j] = sum[j];
    }
    for (; i < count; ++i) {
        float sum = 0.0f;
        for (int64_t k = 0; k < taps; ++k) sum += x[i + k] * filter[k];
        out[i] = sum;
    }
}
