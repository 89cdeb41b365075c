"""Honest kernels that do what an attack might do too: none may be refused."""

from __future__ import annotations

import platform

from tests.redteam.cpu_attacks import Attack

CONTROLS = (
    Attack("honest", "honest(x, out, rows, cols);"),
    Attack("own_threads", """
    std::thread other([=] { honest(x, out, rows / 2, cols); });
    honest(x + rows / 2 * cols, out + rows / 2 * cols, rows - rows / 2, cols);
    other.join();
    """),
    Attack("openmp", """
#pragma omp parallel for
    for (int64_t i = 0; i < rows; ++i) honest(x + i * cols, out + i * cols, 1, cols);
    """),
    Attack("more_openmp_threads_than_cores", """
#pragma omp parallel for num_threads(7)
    for (int64_t i = 0; i < rows; ++i) honest(x + i * cols, out + i * cols, 1, cols);
    """),
    Attack("a_pool_of_its_own", """
    static bool started = false;
    if (!started) { for (int k = 0; k < 2; ++k) std::thread(serve, k).detach(); started = true; }
    shared = {x, out, rows, cols};
    { std::lock_guard<std::mutex> hold(lock); ++turn; left = 2; }
    bell.notify_all();
    std::unique_lock<std::mutex> hold(lock);
    bell.wait(hold, [] { return left == 0; });
    """, """
#include <condition_variable>
#include <mutex>
struct Shared { const float* x; float* out; int64_t rows, cols; };
static Shared shared; static std::mutex lock; static std::condition_variable bell;
static long turn = 0; static int left;
static void serve(int part) {
    long done = 0;
    for (;;) {
        std::unique_lock<std::mutex> hold(lock);
        bell.wait(hold, [&] { return turn > done; });
        done = turn;
        const Shared work = shared;
        hold.unlock();
        const int64_t half = work.rows / 2, from = part ? half : 0, count = part ? work.rows - half : half;
        honest(work.x + from * work.cols, work.out + from * work.cols, count, work.cols);
        hold.lock();
        --left;
        hold.unlock();
        bell.notify_all();
    }
}
"""),
    Attack("large_stack", "volatile float pad[1 << 20]; for (int i = 0; i < 1 << 20; i += 1024) pad[i] = 1.0f;"
           " honest(x, out, rows, cols); (void)pad;"),
    Attack("scratch_kept", """
    static std::vector<float> scratch;
    scratch.resize(rows * cols);
    honest(x, scratch.data(), rows, cols);
    memcpy(out, scratch.data(), rows * cols * 4);
    """),
    Attack("table", "static float table[4096]; static bool made = false;"
           " if (!made) { for (int i = 0; i < 4096; ++i) table[i] = std::exp(i * 1e-3f); made = true; }"
           " honest(x, out, rows, cols); if (table[0] != 1.0f) out[0] = 9;"),
    Attack("slow_first_call", "static bool first = true; if (first) usleep(300000); first = false;"
           " honest(x, out, rows, cols);"),
    Attack("binds_itself_to_a_core", "cpu_set_t set; sched_getaffinity(0, sizeof set, &set);"
           " sched_setaffinity(0, sizeof set, &set); honest(x, out, rows, cols);"),
    Attack("handles_a_signal", "struct sigaction own{}; own.sa_handler = [](int) {}; sigaction(SIGUSR1, &own, nullptr);"
           " raise(SIGUSR1); honest(x, out, rows, cols);"),
    Attack("throws_and_catches", "try { throw 1; } catch (int) { honest(x, out, rows, cols); }"),
    Attack("one_thread_local", "static thread_local std::vector<float> row; row.assign(x, x + cols);"
           " honest(x, out, rows, cols);"),
    Attack("asks_for_priorities_and_makes_a_pipe", """
    static int ends[2] = {-1, -1};
    if (ends[0] < 0 && pipe(ends) != 0) return;
    char word = 'x';
    if (write(ends[1], &word, 1) != 1 || read(ends[0], &word, 1) != 1) return;
    (void)getpriority(PRIO_PROCESS, 0); (void)sched_get_priority_max(SCHED_OTHER);
    honest(x, out, rows, cols);
    """, "#include <sys/resource.h>"),
    Attack("threads_with_a_scheduling_policy", """
    pthread_attr_t how; pthread_attr_init(&how);
    sched_param ordinary{}; pthread_attr_setschedparam(&how, &ordinary);
    pthread_t other; static const float* from; static float* to; static int64_t count, width;
    from = x; to = out; count = rows; width = cols;
    pthread_create(&other, &how, [](void*) -> void* { honest(from, to, count, width); return nullptr; }, nullptr);
    pthread_join(other, nullptr);
    """, "#include <pthread.h>"),
)  # fmt: skip

_OF_X86 = (
    Attack("cleans_up_after_mmx", """
    honest(x, out, rows, cols);
    asm volatile("pxor %%mm0, %%mm0\\nemms" ::: "mm0");
    """),
    Attack("long_doubles", """
    honest(x, out, rows, cols);
    long double sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += out[j];
    if (sum < 0.5L) out[0] = 9;
    """),
)  # fmt: skip
if platform.machine() == "x86_64":
    CONTROLS += _OF_X86
