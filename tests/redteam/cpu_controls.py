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
    Attack("names_a_thread_of_its_own", """
    std::thread other([=] { honest(x, out, rows / 2, cols); });
    pthread_setname_np(other.native_handle(), "softmax-worker");
    honest(x + rows / 2 * cols, out + rows / 2 * cols, rows - rows / 2, cols);
    other.join();
    """, "#include <pthread.h>"),
    Attack("lists_a_folder_and_asks_for_flags_of_descriptors", """
    static int entries = 0;
    std::error_code error;
    if (!entries) for (auto& each : std::filesystem::directory_iterator("/sys/devices/system/cpu", error)) {
        (void)each; ++entries; }
    const int copy = fcntl(0, F_DUPFD_CLOEXEC, 3);
    if (copy < 0 || fcntl(copy, F_GETFD) != FD_CLOEXEC || fcntl(copy, F_GETFL) < 0 || close(copy) != 0) return;
    honest(x, out, rows, cols);
    """, "#include <filesystem>"),
    Attack("pauses_by_select", """
    timeval pause{0, 10};
    if (select(0, nullptr, nullptr, nullptr, &pause) != 0) return;
    timespec brief{0, 10000};
    if (pselect(0, nullptr, nullptr, nullptr, &brief, nullptr) != 0) return;
    honest(x, out, rows, cols);
    """, "#include <sys/select.h>"),
    Attack("asks_for_its_memory_to_be_kept_and_calls_off_an_alarm",
           "mlockall(MCL_CURRENT); munlockall(); struct rlimit limit; getrlimit(RLIMIT_STACK, &limit);"
           "static char table[4096]; mlock2(table, 4096, 0); signal(SIGALRM, SIG_IGN); alarm(0);"
           "honest(x, out, rows, cols);", "#include <sys/resource.h>"),
    Attack("grows_large_blocks_and_advises_on_them", """
    static float* kept = nullptr; static size_t held = 0;
    const size_t bytes = (size_t)rows * cols * 4 + (8u << 20);
    if (held < bytes) {
        kept = (float*)realloc(kept, 4 << 20); kept[7] = 5;
        char* block = (char*)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        block[9] = 3;
        char* moved = (char*)mremap(block, 1 << 20, 64 << 20, MREMAP_MAYMOVE);
        if (moved == MAP_FAILED || moved[9] != 3 || madvise(moved, 64 << 20, MADV_HUGEPAGE) != 0) return;
        munmap(moved, 64 << 20);
        kept = (float*)realloc(kept, bytes);
        if (kept[7] != 5 || madvise((void*)(((uintptr_t)kept + 4095) & ~4095ul), 4 << 20, MADV_DONTNEED) != 0) return;
        held = bytes;
    }
    honest(x, kept, rows, cols);
    memcpy(out, kept, rows * cols * 4);
    """),
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
