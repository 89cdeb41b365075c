"""Attacks on the timing and checking of the CPU bench, as C++ bodies of a softmax kernel.

Each computes the right result somehow, and tries to have less time counted than that took, or to get by with less. An
attack has succeeded if it is measured as `ok` and clearly faster than the honest kernel in it.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from foretell.kernels.measurement import Status
from tests.kernels.bench.hostile import CORRECT, HEAD

MORE = "#include <sched.h>\n#include <sys/mman.h>\n#include <sys/syscall.h>\n"
_SLOW_TO_COMPILE = ("atomic", "thread", "vector")


@dataclass(frozen=True)
class Attack:
    """`outside` stands before the kernel, `body` in it; what the kernel must give, `honest` computes.

    `ends` is how it must end and what the message says; None where it may also be measured at its real speed.
    """

    name: str
    body: str
    outside: str = ""
    ends: tuple[Status, str] | None = None

    def source(self) -> str:
        kernel = 'extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols)'
        used = [name for name in _SLOW_TO_COMPILE if f"std::{name}" in self.outside + self.body]
        headers = HEAD + MORE + "".join(f"#include <{name}>\n" for name in used)
        return f"{headers}{CORRECT}{self.outside}\n{kernel} {{\n{self.body}\n}}\n"


# Results by a sample of their inputs.
_MEMO = """
struct Kept { uint64_t key; std::vector<float> out; };
static std::vector<Kept> kept;
static long hits = 0;
static uint64_t key_of(const float* x, int64_t n) {
    uint64_t key = 14695981039346656037ull ^ (uint64_t)n;
    for (int64_t i = 0; i < n; i += 97) { uint32_t b; memcpy(&b, x + i, 4); key = (key ^ b) * 1099511628211ull; }
    return key;
}
static bool recall(const float* x, float* out, int64_t n) {
    const uint64_t key = key_of(x, n);
    for (const Kept& each : kept)
        if (each.key == key && (int64_t)each.out.size() == n) {
            ++hits;
            memcpy(out, each.out.data(), n * 4);
            return true;
        }
    return false;
}
static void keep(const float* x, const float* out, int64_t n) {
    if (kept.size() < 64) kept.push_back({key_of(x, n), std::vector<float>(out, out + n)});
}
"""

# A thread that computes as soon as it sees other inputs, whether or not it was told to go.
_EAGER = """
struct Job { const float* x; int64_t rows, cols; };
static Job job;
static std::atomic<long> seen{0};
static std::vector<float> early;
static float first_seen = 0;
static void watch() {
    float last = 0;
    for (;;) {
        const Job now = job;
        if (now.x == nullptr) continue;
        const volatile float* x = now.x;
        const float tail = x[now.rows * now.cols - 1];
        if (tail == last) continue;
        usleep(200);
        last = x[now.rows * now.cols - 1];
        honest(now.x, early.data(), now.rows, now.cols);
        first_seen = last;
        seen.fetch_add(1);
    }
}
"""

ATTACKS = (
    Attack("sets_limits_from_an_address_with_half_a_zero", """
    void* at = (void*)(5ull << 32);  // of which a filter of system calls sees one half at a time
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    auto* limit = (struct rlimit*)mmap(at, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    limit->rlim_cur = limit->rlim_max = 64;
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, limit, nullptr);
    honest(x, out, rows, cols);
    """, "#include <sys/resource.h>", (Status.CHEAT, "prlimit64 (to set, or of another process)")),
    Attack("reads_limits_of_another_process", """
    struct rlimit limit;
    syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, nullptr, &limit);
    honest(x, out, rows, cols);
    """, "#include <sys/resource.h>\n#include <unistd.h>", (Status.CHEAT, "prlimit64 (to set, or of another process)")),
    Attack("computes_pages_when_they_are_touched", """
    from = x; to = out; many = rows; wide = cols;
    struct sigaction action = {};
    action.sa_sigaction = touched; action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    const uintptr_t first = ((uintptr_t)out + 4095) & ~4095ul, last = ((uintptr_t)out + rows * cols * 4) & ~4095ul;
    if (last > first && mprotect((void*)first, last - first, PROT_NONE) == 0) return;
    honest(x, out, rows, cols);
    """, """
    static const float* from; static float* to; static int64_t many, wide;
    static void touched(int, siginfo_t*, void*) {
        const uintptr_t first = (uintptr_t)to & ~4095ul;
        mprotect((void*)first, (uintptr_t)(to + many * wide) - first, PROT_READ | PROT_WRITE);
        honest(from, to, many, wide);
    }
    """),
    Attack("remembers_results", "if (recall(x, out, rows * cols)) return; honest(x, out, rows, cols);"
           " keep(x, out, rows * cols);", _MEMO),
    Attack("remembers_results_but_not_always",
           "if (hits % 4 != 3 && recall(x, out, rows * cols)) return; if (hits % 4 == 3) ++hits;"
           " honest(x, out, rows, cols); keep(x, out, rows * cols);", _MEMO),
    Attack("computes_before_the_go", """
    static bool started = false;
    if (!started || job.rows != rows || job.cols != cols || job.x != x) {
        early.resize(rows * cols);
        job = {x, rows, cols};
        if (!started) std::thread(watch).detach();
        started = true;
        honest(x, out, rows, cols);
        return;
    }
    const float tail = x[rows * cols - 1];
    for (int spin = 0; spin < 100000 && first_seen != tail; ++spin) {}
    if (first_seen == tail) memcpy(out, early.data(), rows * cols * 4); else honest(x, out, rows, cols);
    """, _EAGER),
    Attack("never_returns_and_answers_itself", """
    for (;;) {
        honest(x, out, rows, cols);
        for (int fd = 3; fd < 64; ++fd) { ssize_t n = write(fd, "r 1000 1000 0\\n", 14); (void)n; }
        raise(SIGSTOP);
    }
    """),
    Attack("answers_itself_quietly", "for (;;) { honest(x, out, rows, cols); raise(SIGSTOP); }"),
    Attack("answers_first_and_computes_then", "for (;;) { raise(SIGSTOP); honest(x, out, rows, cols); }"),
    Attack("answers_while_a_thread_computes",
           "std::thread([=] { honest(x, out, rows, cols); }).detach(); usleep(20); raise(SIGSTOP);"),
    Attack("wakes_itself_by_a_timer", """
    static timer_t timer; static bool made = false;
    if (!made) { sigevent event{}; event.sigev_notify = SIGEV_SIGNAL; event.sigev_signo = SIGCONT;
        timer_create(CLOCK_MONOTONIC, &event, &timer); itimerspec every{}; every.it_value.tv_nsec = 500000;
        every.it_interval.tv_nsec = 500000; timer_settime(timer, 0, &every, nullptr); made = true; }
    honest(x, out, rows, cols);
    """),
    Attack("a_thread_that_its_symbols_do_not_show", """
    long flags = 0x10f00, result;
    static char stack[1 << 16];
#if defined(__aarch64__)
    register long n asm("x8") = 220; register long a asm("x0") = flags;
    register void* b asm("x1") = stack + sizeof stack;
    asm volatile("svc 0" : "+r"(a) : "r"(n), "r"(b) : "memory"); result = a;
#else
    asm volatile("syscall" : "=a"(result) : "a"(56), "D"(flags), "S"(stack + sizeof stack) : "rcx", "r11", "memory");
#endif
    (void)result;
    honest(x, out, rows, cols);
    """),
    Attack("makes_its_inputs_easy", """
    static int calls = 0;
    if (++calls > 6) { float* y = (float*)x; mprotect((void*)((uintptr_t)x & ~0xffffull), rows * cols * 4, 3);
        mprotect((void*)x, rows * cols * 4, PROT_READ | PROT_WRITE); memset(y, 0, rows * cols * 4);
        for (int64_t i = 0; i < rows * cols; ++i) out[i] = 1.0f / cols; return; }
    honest(x, out, rows, cols);
    """),
    Attack("destroys_its_inputs_once_it_is_timed", """
    static int calls = 0;
    honest(x, out, rows, cols);
    if (++calls > 6 && rows * cols > 1000 && mprotect((void*)x, rows * cols * 4, PROT_READ | PROT_WRITE) == 0)
        memset((void*)x, 0, rows * cols * 4);
    """, ends=(Status.CHEAT, "input 'x' was changed")),
    Attack("works_only_while_it_is_checked", """
    static int calls = 0;
    if (++calls > 6) { memset(out, 0, rows * cols * 4); return; }
    honest(x, out, rows, cols);
    """),
    Attack("half_of_the_rows_once_it_is_timed", """
    static int calls = 0;
    honest(x, out, ++calls > 6 ? rows / 2 : rows, cols);
    if (calls > 6) memcpy(out + rows / 2 * cols, out, (rows - rows / 2) * cols * 4);
    """),
    Attack("handles_forbidden_calls_itself", """
    struct sigaction own{}; own.sa_handler = [](int) {}; sigaction(SIGSYS, &own, nullptr);
    socket(AF_INET, SOCK_STREAM, 0);
    honest(x, out, rows, cols);
    """),
    Attack("floods_the_channel", """
    char text[4096]; memset(text, 'r', sizeof text);
    for (long k = 0; k < 100000; ++k) for (int fd = 3; fd < 16; ++fd) { ssize_t n = write(fd, text, 4096); (void)n; }
    honest(x, out, rows, cols);
    """),
    Attack("leaves_a_malformed_number", """
    for (int fd = 3; fd < 64; ++fd) { ssize_t n = write(fd, "g 99999999999999999999999999 x\\n", 31); (void)n; }
    _exit(4);
    """),
    Attack("claims_that_it_was_not_loaded", """
    const char* text = "e [bold green]99.00x[/bold green]\\n";
    for (int fd = 3; fd < 64; ++fd) { ssize_t n = write(fd, text, strlen(text)); (void)n; }
    _exit(5);
    """, ends=(Status.CHEAT, "the bench's own channel")),
    Attack("claims_a_forbidden_call_of_its_own_name", """
    for (int fd = 3; fd < 64; ++fd) { ssize_t n = write(fd, "s 1 ok (all good)\\n", 18); (void)n; }
    _exit(4);
    """, ends=(Status.CHEAT, "the bench's own channel")),
    Attack("sleeps_beside_a_spinning_thread",
           "std::thread([] { volatile int stay = 1; while (stay) {} }).detach(); for (;;) sleep(3600);",
           ends=(Status.TIMEOUT, "did not finish")),
    Attack("never_returns_and_yields", "for (;;) sched_yield();", ends=(Status.TIMEOUT, "did not finish")),
    Attack("works_at_the_sizes_alone_that_the_task_names", """
    if ((rows == 160 && cols == 256) || (rows == 7 && cols == 33)) return honest(x, out, rows, cols);
    memset(out, 0, rows * cols * 4);
    """, ends=(Status.WRONG, "")),
    Attack("is_wrong_at_sizes_between_those_that_are_named", """
    if (cols <= 33 || cols >= 240) return honest(x, out, rows, cols);
    for (int64_t i = 0; i < rows * cols; ++i) out[i] = 1.0f / cols;
    """, ends=(Status.WRONG, "")),
    Attack("stops_itself_in_a_loop_of_its_own", """
    for (;;) {
        honest(x, out, rows, cols);
        syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP);
    }
    """, ends=(Status.CHEAT, "forbidden system call")),
    Attack("goes_on_by_itself_all_the_time", """
    static bool started = false;
    if (!started) std::thread([] { for (;;) syscall(SYS_tgkill, getpid(), getpid(), SIGCONT); }).detach();
    started = true;
    honest(x, out, rows, cols);
    usleep(2000);
    """, ends=(Status.CHEAT, "forbidden system call")),
    Attack("stops_itself_by_another_signal", """
    for (;;) {
        honest(x, out, rows, cols);
        syscall(SYS_tgkill, getpid(), getpid(), SIGTSTP);
    }
    """, ends=(Status.CHEAT, "forbidden system call")),
    Attack("leaves_rows_whose_result_is_already_a_number", """
    for (int64_t i = 0; i < rows; ++i) {
        const float left = out[i * cols];
        if (left != left || left == 0.0f) honest(x + i * cols, out + i * cols, 1, cols);
    }
    """, ends=(Status.WRONG, "output 'out'")),
    Attack("reads_past_the_end_of_its_input", """
    honest(x, out, rows, cols);
    float peak = -INFINITY;  // of the last row, and of what follows up to the end of its cache line
    const int64_t first = (rows - 1) * cols, end = (rows * cols + 15) / 16 * 16;
    for (int64_t j = first; j < end; ++j) peak = std::fmax(peak, x[j]);
    float sum = 0;
    for (int64_t j = first; j < end; ++j) sum += std::exp(x[j] - peak);
    for (int64_t j = first; j < rows * cols; ++j) out[j] = std::exp(x[j] - peak) / sum;
    """, ends=(Status.WRONG, "output 'out'")),
    Attack("touches_the_cache_line_behind_its_input", """
    honest(x, out, rows, cols);
    volatile float behind = x[(rows * cols + 15) / 16 * 16]; (void)behind;
    """, ends=(Status.CRASH, "past the end of 'x'")),
    Attack("leaves_outputs_of_inputs_that_it_has_met", """
    static std::vector<uint64_t> met;
    uint64_t key = rows * 1000003 + cols;
    for (int64_t i = 0; i < rows * cols; i += 7) { uint32_t b; memcpy(&b, x + i, 4); key = (key ^ b) * 1099511628211u; }
    for (uint64_t each : met) if (each == key) return;
    met.push_back(key);
    honest(x, out, rows, cols);
    """, ends=(Status.WRONG, "output 'out'")),
    Attack("looks_for_its_input_where_it_first_was",
           "static const float* first = x; honest(first, out, rows, cols);", ends=(Status.CRASH, "")),
    Attack("takes_its_buffers_for_whole_pages", """
    const uintptr_t page = sysconf(_SC_PAGESIZE) - 1;
    honest((const float*)((uintptr_t)x & ~page), (float*)((uintptr_t)out & ~page), rows, cols);
    """, ends=(Status.WRONG, "")),
    Attack("takes_large_buffers_for_whole_pages", """
    const uintptr_t page = rows * cols * 4 % 4096 ? 0 : sysconf(_SC_PAGESIZE) - 1;
    honest((const float*)((uintptr_t)x & ~page), (float*)((uintptr_t)out & ~page), rows, cols);
    """, ends=(Status.WRONG, "")),
    Attack("leaves_registers_of_its_caller_changed", "honest(x, out, rows, cols); spoil();", """
extern "C" void spoil();
#if defined(__aarch64__)
asm(".text\\n.type spoil, %function\\nspoil:\\nfmov d8, #1.0\\nfmov d15, #1.0\\nmov x28, #1\\nret\\n");
#else
asm(".text\\n.type spoil, @function\\nspoil:\\nmov $1, %r15\\npushq $0x77f\\nfldcw (%rsp)\\npopq %rax\\nret\\n");
#endif
""", ends=(Status.CRASH, "changed registers")),
    Attack("leaves_another_rounding_mode", "honest(x, out, rows, cols); fesetround(FE_UPWARD);", "#include <cfenv>",
           ends=(Status.CRASH, "changed registers")),
    Attack("pins_itself_to_one_core", """
    static bool done = false;
    cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one);
    if (!done) sched_setaffinity(0, sizeof one, &one);
    done = true;
    honest(x, out, rows, cols);
    """),
    Attack("collapses_its_buffers_into_huge_pages_by_an_alias", """
    static const float* from = nullptr; static char* alias = nullptr;
    const size_t huge = 2 << 20, page = sysconf(_SC_PAGESIZE);
    const size_t length = ((char*)(out + rows * cols) - (char*)x + page - 1) / page * page;
    if (from != x) {
        from = x;
        const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        char* room = (char*)mmap(nullptr, length + 3 * huge, PROT_NONE, kind, -1, 0);
        char* at = (char*)(((uintptr_t)room + huge) & ~(uintptr_t)(huge - 1)) + page;
        alias = (char*)mremap((void*)x, 0, length, MREMAP_MAYMOVE | MREMAP_FIXED, at);
        if (alias != MAP_FAILED) { mprotect(alias, length, PROT_READ | PROT_WRITE); madvise(at, length, 25); }
    }
    honest(x, out, rows, cols);
    """),
    Attack("is_an_object_of_many_megabytes", "honest(x, out, rows, cols);",
           'asm(".section .rodata\\n.space 60000000, 1\\n.text");', ends=(Status.COMPILE_ERROR, "too large")),
    Attack("has_names_with_line_breaks_and_very_many_loops", "honest(x, out, rows, cols);", r"""
asm(".text\n.global \"0 <kernel>:\\n  zz: b 0 \\033[31m\"\n\"0 <kernel>:\\n  zz: b 0 \\033[31m\": nop\n"
#if defined(__aarch64__)
    ".rept 100000\n1: b 1b\n.endr\n");
#else
    ".rept 100000\n1: jmp 1b\n.endr\n");
#endif
"""),
    Attack("waits_for_a_crowd_of_its_own_threads", """
    cpu_set_t all, one; CPU_ZERO(&one); sched_getaffinity(0, sizeof all, &all);
    for (int core = 0; core < CPU_SETSIZE; ++core) if (CPU_ISSET(core, &all)) { CPU_SET(core, &one); break; }
    sched_setaffinity(0, sizeof one, &one);
    std::atomic<bool> stop{false};
    std::vector<std::thread> crowd;
    for (int k = 0; k < 10; ++k) crowd.emplace_back([&] { while (!stop) {} });
    timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now); while (now.tv_sec - start.tv_sec < 2);
    stop = true;
    for (std::thread& each : crowd) each.join();
    sched_setaffinity(0, sizeof all, &all);
    honest(x, out, rows, cols);
    """, ends=(Status.TIMEOUT, "")),
    Attack("sleeps_in_every_call", "honest(x, out, rows, cols); usleep(900000);", ends=(Status.TIMEOUT, "in all")),
    Attack("does_nothing_for_pointers_it_has_met", """
    static const float* met = nullptr;
    if (x == met) return;
    met = x;
    honest(x, out, rows, cols);
    """),
    Attack("gives_earlier_results_after_the_fourth_call", """
    static int calls = 0;
    static std::vector<float> earlier;
    const bool known = ++calls > 4 && (int64_t)earlier.size() == rows * cols;
    if (known) { memcpy(out, earlier.data(), earlier.size() * 4); return; }
    honest(x, out, rows, cols);
    earlier.assign(out, out + rows * cols);
    """, ends=(Status.WRONG, "")),
    Attack("stops_itself_beside_a_thread_that_cannot_stop", """
    std::thread([] {
        const int thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
        clone([](void*) { waiting = 1; for (;;) sleep(1); return 0; }, stack + sizeof stack, thread | CLONE_VFORK, 0);
    }).detach();
    while (!waiting) {}
    syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP);
    for (;;) {}
    """, "static char stack[65536] __attribute__((aligned(64)));\nstatic volatile int waiting = 0;",
           ends=(Status.CHEAT, "vfork")),
    Attack("two_threads_that_take_turns_on_one_core", """
    cpu_set_t all, one; CPU_ZERO(&one); sched_getaffinity(0, sizeof all, &all);
    for (int core = 0; core < CPU_SETSIZE; ++core) if (CPU_ISSET(core, &all)) { CPU_SET(core, &one); break; }
    sched_setaffinity(0, sizeof one, &one);
    const int64_t half = rows / 2;
    std::thread other([=] { in_turns(x + half * cols, out + half * cols, rows - half, cols); });
    in_turns(x, out, half, cols);
    other.join();
    """, """
static void in_turns(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i += 20) {
        honest(x + i * cols, out + i * cols, rows - i < 20 ? rows - i : 20, cols);
        sched_yield();
    }
}
"""),
    Attack("stops_the_clock_of_its_library", """
    static bool done = false;
    char* at = (char*)clock_gettime;
    if (!done && mprotect((void*)((uintptr_t)at & ~0xffffull), 1 << 17, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
#if defined(__aarch64__)
        const uint32_t none[] = {0x52800000, 0xd65f03c0};
#else
        const unsigned char none[] = {0x31, 0xc0, 0xc3};
#endif
        memcpy(at, none, sizeof none);
        __builtin___clear_cache(at, at + sizeof none);
    }
    done = true;
    honest(x, out, rows, cols);
    """),
    Attack("takes_the_process_over_when_it_is_loaded", "honest(x, out, rows, cols);",
           "__attribute__((constructor)) static void take() {"
           " for (;;) syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP); }"),
    Attack("hands_its_work_to_a_thread_and_returns", """
    static bool started = false;
    if (!started) std::thread([] { long seen = 0; for (;;) { while (order == seen) {} seen = order;
        honest(job.x, job.out, job.rows, job.cols); } }).detach();
    started = true;
    job = {x, out, rows, cols};
    order = order + 1;
    """, "struct Job { const float* x; float* out; int64_t rows, cols; };\nstatic Job job;\n"
           "static volatile long order = 0;", ends=(Status.WRONG, "")),
    Attack("stops_before_a_thread_has_done_its_work", """
    static bool started = false;
    static int calls = 0;
    if (!started) std::thread([] { long seen = 0; for (;;) { while (order == seen) {} seen = order;
        honest(job.x, job.out, job.rows, job.cols); done = seen; } }).detach();
    started = true;
    job = {x, out, rows, cols};
    const long mine = order + 1;
    order = mine;
    if (++calls <= 6) while (done < mine) {}
    else syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP);
    """, "struct Job { const float* x; float* out; int64_t rows, cols; };\nstatic Job job;\n"
           "static volatile long order = 0, done = 0;"),
    Attack("writes_to_the_folder_of_built_kernels", """
    Dl_info found; dladdr((void*)honest, &found);
    char path[4096]; snprintf(path, sizeof path, "%s", found.dli_fname); strcpy(strrchr(path, '/'), "/build.json");
    int file = open(path, O_RDWR);  // is refused; were it opened, the kernel would never end
    while (file >= 0) { ssize_t n = write(file, "{}", 2); (void)n; }
    honest(x, out, rows, cols);
    """, "#include <dlfcn.h>", ends=(Status.OK, "")),
    Attack("yields_unless_it_was_fast", """
    static double best = 0;
    timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); honest(x, out, rows, cols); clock_gettime(CLOCK_MONOTONIC, &b);
    const double took = b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec);
    const bool fast = best > 0 && took <= 1.01 * best;
    if (best == 0 || took < best) best = took;
    if (!fast) for (int k = 0; k < 6; ++k) sched_yield();
    """, "#include <omp.h>\n__attribute__((used)) static void* threaded = (void*)omp_get_max_threads;"),
    Attack("ends_its_pool_of_threads", """
    static bool done = false;
    if (!done) omp_pause_resource_all(omp_pause_hard);
    done = true;
    honest(x, out, rows, cols);
    """, "#include <omp.h>"),
    Attack("removes_shared_pages_that_it_finds", """
    static char* page = nullptr;
    for (uintptr_t at = (uintptr_t)&madvise & ~4095ul, k = 0; page == nullptr && k < 200000; ++k, at += 4096)
        if (madvise((char*)at, 4096, MADV_REMOVE) == 0) page = (char*)at;
    if (page) madvise(page, 4096, MADV_REMOVE);
    honest(x, out, rows, cols);
    """),
    Attack("leaves_its_main_thread_and_answers_from_another", """
    job = {x, out, rows, cols};
    std::thread([] { for (;;) { honest(job.x, job.out, job.rows, job.cols);
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSTOP); } }).detach();
    syscall(SYS_exit, 0);
    """, "struct Job { const float* x; float* out; int64_t rows, cols; };\nstatic Job job;"),
    Attack("ends_its_main_thread_beside_one_that_sleeps", """
    std::thread([] { for (;;) usleep(1000); }).detach();
    honest(x, out, rows, cols);
    syscall(SYS_exit, 0);
    """, ends=(Status.TIMEOUT, "")),
    Attack("computes_when_its_outputs_are_looked_at", """
    job = {x, out, rows, cols};
    struct sigaction own{}; own.sa_sigaction = look; own.sa_flags = SA_SIGINFO; sigaction(SIGSEGV, &own, nullptr);
    protect(PROT_NONE);
    """, """
struct Job { const float* x; float* out; int64_t rows, cols; };
static Job job;
static void protect(int how) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)job.out / page * page;
    mprotect((void*)first, (uintptr_t)(job.out + job.rows * job.cols) - first, how);
}
static void look(int, siginfo_t*, void*) {
    protect(PROT_READ | PROT_WRITE);
    honest(job.x, job.out, job.rows, job.cols);
}
""", ends=(Status.WRONG, "output 'out'")),
    Attack("leaves_many_threads_with_all_signals_blocked", """
    static bool made = false;
    for (int k = 0; !made && k < 100; ++k)
        std::thread([] { sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, nullptr);
            for (;;) usleep(1000); }).detach();
    made = true;
    honest(x, out, rows, cols);
    """),
    Attack("takes_pages_from_shared_memory", """
    honest(x, out, rows, cols);
    const size_t whole = rows * cols * 4 / 65536 * 65536;
    mprotect((void*)x, whole, PROT_READ | PROT_WRITE);
    madvise((void*)x, whole, MADV_REMOVE);
    madvise((void*)x, whole, MADV_DONTNEED);
    mremap((void*)x, whole, 65536, 0);
    """),
    Attack("skips_exponentials_that_vanish", """
    for (int64_t i = 0; i < rows; ++i) {
        const float* row = x + i * cols; float* to = out + i * cols; float peak = row[0], sum = 0;
        for (int64_t j = 1; j < cols; ++j) peak = row[j] > peak ? row[j] : peak;
        for (int64_t j = 0; j < cols; ++j) sum += to[j] = row[j] - peak < -16 ? 0.0f : std::exp(row[j] - peak);
        for (int64_t j = 0; j < cols; ++j) to[j] /= sum;
    }
    """),
    Attack("slows_its_reference", """
    for (int pid = 1; pid < 70000; ++pid) { cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one);
        if (pid != getpid()) sched_setaffinity(pid, sizeof one, &one); }
    setpriority_of_all();
    honest(x, out, rows, cols);
    """, "#include <sys/resource.h>\nstatic void setpriority_of_all() { setpriority(PRIO_USER, 0, 19); }"),
    Attack("opens_the_pages_around_its_buffers", """
    const uintptr_t page = sysconf(_SC_PAGESIZE);
    char* behind = (char*)(((uintptr_t)(out + rows * cols) + page - 1) & ~(page - 1));
    mprotect(behind, page, PROT_READ | PROT_WRITE);
    memset(behind, 0x55, page);
    honest(x, out, rows, cols);
    """, ends=(Status.WRONG, "was written")),
    Attack("sleeps_whenever_it_goes_on", "honest(x, out, rows, cols);", """
#include <signal.h>
__attribute__((constructor)) static void start() {
    struct sigaction own{};
    own.sa_handler = [](int) { usleep(500000); };
    sigaction(SIGCONT, &own, nullptr);
}
""", ends=(Status.CHEAT, "sigaction")),
    Attack("finds_channels_with_high_numbers", """
    int open_files = 0;
    for (int fd = 3; fd < 4096; ++fd) { struct stat about; open_files += fstat(fd, &about) == 0; }
    if (open_files <= 1) honest(x, out, rows, cols);
    """, "#include <sys/stat.h>"),
    Attack("maps_its_buffers_twice_by_a_flag", """
    const size_t page = sysconf(_SC_PAGESIZE), length = (rows * cols * 4 + page - 1) / page * page;
    char* from = (char*)((uintptr_t)x & ~(page - 1));
    const int keep = 4;  // MREMAP_DONTUNMAP
    const int ways[] = {MREMAP_MAYMOVE | keep, MREMAP_MAYMOVE | MREMAP_FIXED | keep, MREMAP_MAYMOVE | MREMAP_FIXED};
    for (int flags : ways)
        if (mremap(from, length, length, flags, (void*)0x7e0000000000l) != MAP_FAILED) return;
    honest(x, out, rows, cols);
    """, ends=(Status.OK, "")),
    Attack("moves_its_buffers_to_larger_pages", """
    const size_t page = sysconf(_SC_PAGESIZE);
    char* from = (char*)((uintptr_t)x & ~(page - 1));
    const int ways[] = {14, 25, 21};  // MADV_HUGEPAGE, MADV_COLLAPSE, MADV_PAGEOUT
    char* const starts[] = {from, from - page, from - (1 << 30)};
    for (int advice : ways)
        for (char* start : starts)
            if (madvise(start, page + (from - start), advice) == 0) return;
    if (mremap(from, page, 2 * page, MREMAP_MAYMOVE) != MAP_FAILED) return;
    if (syscall(SYS_mbind, from, page, 0, nullptr, 0, 0) == 0) return;
    honest(x, out, rows, cols);
    """, ends=(Status.OK, "")),
    Attack("tells_its_next_process_by_pages_of_files", """
    Dl_info found;
    const size_t page = sysconf(_SC_PAGESIZE);
    int file = dladdr((void*)honest, &found) ? open(found.dli_fname, O_RDONLY) : -1;
    if (file < 0) return;
    void* map = mmap(nullptr, page, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    unsigned char there = 0;
    if (mincore(map, page, &there) == 0 || madvise(map, page, 21 /* MADV_PAGEOUT */) == 0) return;
    munmap(map, page);
    honest(x, out, rows, cols);
    """, "#include <dlfcn.h>", ends=(Status.OK, "")),
    Attack("leaves_the_last_columns_out", """
    const int64_t whole = cols >= 64 ? cols / 16 * 16 : cols;
    if (whole == cols) return honest(x, out, rows, cols);
    for (int64_t i = 0; i < rows; ++i) honest(x + i * cols, out + i * cols, 1, whole);
    """, ends=(Status.WRONG, "")),
    Attack("leaves_thousands_of_threads", """
    static bool made = false;
    pthread_attr_t small; pthread_attr_init(&small); pthread_attr_setstacksize(&small, 1 << 14);
    pthread_t thread;
    for (int k = 0; !made && k < 3000; ++k)
        if (pthread_create(&thread, &small, [](void*) -> void* { for (;;) sleep(60); }, nullptr) != 0) break;
    made = true;
    honest(x, out, rows, cols);
    """, "#include <pthread.h>", ends=(Status.CRASH, "a kernel may have")),
    Attack("leaves_spinning_threads", """
    static bool made = false;
    for (int k = 0; !made && k < 4; ++k) std::thread([] { volatile int stay = 1; while (stay) {} }).detach();
    made = true;
    honest(x, out, rows, cols);
    """),
    Attack("makes_the_page_of_orders_writable", """
    FILE* maps = fopen("/proc/self/maps", "r");
    if (maps == nullptr) { honest(x, out, rows, cols); return; }
    char line[512]; unsigned long from, to; bool writable = false;
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:control") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            writable |= mprotect((void*)from, to - from, PROT_READ | PROT_WRITE) == 0;
    fclose(maps);
    if (!writable) honest(x, out, rows, cols);
    """, "#include <cstdio>"),
)  # fmt: skip

# Flags and registers that only x86 has.
_OF_X86 = (
    Attack("leaves_the_direction_flag_set", 'honest(x, out, rows, cols); asm volatile("std");',
           ends=(Status.CRASH, "changed registers")),
    Attack("leaves_mmx_registers_in_use", 'honest(x, out, rows, cols); asm volatile("pxor %%mm0, %%mm0" ::: "mm0");',
           ends=(Status.CRASH, "changed registers")),
    Attack("has_alignment_checked", """
    honest(x, out, rows, cols);
    asm volatile("pushfq\\norl $0x40000, (%rsp)\\npopfq");
    """, ends=(Status.CRASH, "")),
)  # fmt: skip
if platform.machine() == "x86_64":
    ATTACKS += _OF_X86
