// The trusted parent of the process that a C++ candidate runs in. It obeys the judge, holds the clock and empties the
// caches; the candidate's process is stopped, with all its threads, except between an order and its answer, and its
// answer is that it stops.
//
//   keeper OBJECT COMMAND_FD REPLY_FD REPORT_FD MEMORY_FD MEMORY_BYTES ADDRESS_LIMIT_BYTES THREADS GROUP_FD ...
//
//   A n off len writable ... m size ...   arguments of the next calls: n buffers, then m sizes  -> "a"
//   C                                     call the kernel once                                   -> "c"
//   T                                     the same, timed, after every line of the buffers was pushed out of all caches
//                                         -> "t NANOSECONDS ON_CORE EMPTY EMPTY_ON_CORE ALONE ALONE_ON_CORE"
//   E                                     the empty calls             -> "e EMPTY EMPTY_ON_CORE ALONE ALONE_ON_CORE"
//
// "o" comes first, once the candidate is loaded. "x CODE" or "k SIGNAL" say that its process has ended, and are the
// last. Times are from the order until all threads have stopped: by the clock, and on a core. EMPTY is the same path in
// a process that does nothing when called, taken right before; ALONE in one without OpenMP's pool, the same if none has it.
#include "native.h"

#include <fcntl.h>
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static int g_replies;
static char* g_memory;

struct Child {
    pid_t pid;
    Control* control;
};

struct Times {
    long long wall, on_core;
};

static void reply(const char* text) {
    size_t n = strlen(text);
    if (write(g_replies, text, n) != (ssize_t)n) _exit(3);
}

static long long now_ns(clockid_t clock) {
    struct timespec t = {};
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// Time on a core of all threads of another process, exact while it is stopped.
static long long on_core_ns(pid_t pid) { return now_ns((clockid_t)(~(unsigned)pid << 3 | 2)); }

// Returns once all threads have stopped; if the process ends instead, says how, and ends too.
static void await_stop(pid_t pid) {
    siginfo_t info = {};
    while (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED) != 0) {
    }
    if (info.si_code == CLD_STOPPED) return;
    char line[64];
    snprintf(line, sizeof line, "%c %d\n", info.si_code == CLD_EXITED ? 'x' : 'k', info.si_status);
    reply(line);
    _exit(0);
}

static Times order(const Child& child, char command) {
    child.control->command = command;
    const long long on_core = on_core_ns(child.pid), start = now_ns(CLOCK_MONOTONIC);
    kill(child.pid, SIGCONT);
    await_stop(child.pid);
    const long long end = now_ns(CLOCK_MONOTONIC);
    return {end - start, on_core_ns(child.pid) - on_core};
}

// Closes all descriptors from 3 on but one, however many there are.
static void close_others(int kept) {
    const bool done = syscall(436 /* close_range */, 3, kept - 1, 0) == 0 || kept == 3;
    if (done && syscall(436, kept + 1, ~0U, 0) == 0) return;
    for (long fd = 3, end = sysconf(_SC_OPEN_MAX); fd < end; ++fd)  // a kernel before 5.9
        if (fd != kept) close((int)fd);
}

// The page that the keeper writes and a child may only read: whatever the child does, it holds no writable mapping of
// it, and cannot make one.
static Control* control_page(int* reading) {
    const int file = (int)syscall(SYS_memfd_create, "control", MFD_CLOEXEC);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    if (file < 0 || ftruncate(file, sizeof(Control)) != 0 || (*reading = open(name, O_RDONLY | O_CLOEXEC)) < 0) _exit(2);
    void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) _exit(2);
    close(file);
    return (Control*)page;
}

// `others` are the pages of the children before, which this one has no part in.
static Child start(Setting setting, std::initializer_list<Control*> others) {
    int reading;
    Control* page = control_page(&reading);
    const pid_t keeper = getpid(), pid = fork();
    if (pid < 0) _exit(2);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != keeper) _exit(2);
        if (mmap(page, sizeof(Control), PROT_READ, MAP_SHARED | MAP_FIXED, reading, 0) != (void*)page) _exit(2);
        for (Control* other : others) munmap(other, sizeof(Control));
        close_others(setting.report);  // of all channels it keeps the one on which it may say why it dies
        setting.control = page;
        run_child(setting);
    }
    close(reading);
    await_stop(pid);
    return {pid, page};
}

// The judge's memory, mapped far from everything else (see GATE), at a place that differs from process to process.
static char* map_memory(int file, size_t bytes) {
    enum { FIRST = 16, PLACES = 32, APART = 2 };  // in GATEs: below 512 GiB, which every system maps
    const unsigned drawn = (unsigned)(now_ns(CLOCK_MONOTONIC) / 1000);
    for (unsigned k = 0; k < PLACES; ++k) {
        void* place = (void*)(uintptr_t)((FIRST + APART * ((drawn + k) % PLACES)) * GATE);
        void* memory = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
        if (memory == place) return (char*)memory;
        if (memory != MAP_FAILED) munmap(memory, bytes);  // a kernel before 4.17 takes the place for a hint
    }
    return nullptr;
}

struct Buffer {
    char* start;
    size_t bytes;
};

static Buffer g_buffers[16];
static int g_buffer_count;

static void note_buffers(const char* text, int64_t* arguments) {
    char* at = (char*)text;
    auto next = [&]() { return strtoll(at, &at, 10); };
    g_buffer_count = (int)next();
    for (int i = 0; i < g_buffer_count; ++i) {
        const size_t offset = (size_t)next(), bytes = (size_t)next();
        next();
        g_buffers[i] = {g_memory + offset, bytes};
        *arguments++ = (int64_t)(intptr_t)g_buffers[i].start;
    }
    for (int sizes = (int)next(); sizes > 0; --sizes) *arguments++ = next();
}

#if defined(__x86_64__)
static bool has_clflushopt() {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 23 & 1);
}
#endif

// By physical address, so that it holds for every process that maps the memory.
static void flush_caches() {
#if defined(__x86_64__)
    static const bool weakly_ordered = has_clflushopt();  // several times as fast, where the CPU has it
    for (int i = 0; i < g_buffer_count; ++i)
        for (size_t at = 0; at < g_buffers[i].bytes; at += 64) {
            if (weakly_ordered)
                asm volatile(".byte 0x66; clflush %0" : "+m"(g_buffers[i].start[at]));
            else
                _mm_clflush(g_buffers[i].start + at);
        }
    _mm_mfence();
#elif defined(__aarch64__)
    for (int i = 0; i < g_buffer_count; ++i)
        for (size_t at = 0; at < g_buffers[i].bytes; at += 64)
            asm volatile("dc civac, %0" ::"r"(g_buffers[i].start + at) : "memory");
    asm volatile("dsb ish" ::: "memory");
#endif
}

int main(int argc, char** argv) {
    if (argc < 9) return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int commands = atoi(argv[2]), report = atoi(argv[4]), memory = atoi(argv[5]);
    g_replies = atoi(argv[3]);
    for (int k = 9; k < argc; ++k) {  // control groups, which bound the number of threads where there are any
        const ssize_t entered = write(atoi(argv[k]), "0", 1);
        (void)entered;
        close(atoi(argv[k]));
    }
    const size_t bytes = (size_t)atoll(argv[6]);
    g_memory = map_memory(memory, bytes);
    if (g_memory == nullptr) return 2;
    close(memory);
    const Setting empty = {nullptr, nullptr, g_memory, bytes, (size_t)atoll(argv[7]), report, (Threads)atoi(argv[8])};
    Setting loaded = empty;
    loaded.object = argv[1];
    Setting bare = empty;
    bare.threads = OWN;
    const bool pool = empty.threads == POOL;
    const Child idle = start(empty, {});
    const Child alone = pool ? start(bare, {idle.control}) : idle;
    const Child candidate = pool ? start(loaded, {idle.control, alone.control}) : start(loaded, {idle.control});
    close(report);
    struct Empty {
        Times alone, idle;
    };
    auto empty_calls = [&]() {
        if (!pool) {
            const Times nothing = order(idle, CALL);
            return Empty{nothing, nothing};
        }
        order(alone, CALL);
        const Times bare_call = order(alone, CALL);
        return Empty{bare_call, order(idle, CALL)};
    };
    reply("o\n");
    FILE* in = fdopen(commands, "r");
    static char line[sizeof(Control::text)];
    while (in != nullptr && fgets(line, sizeof line, in) != nullptr) {
        if (line[0] == 'A') {
            note_buffers(line + 1, candidate.control->arguments);
            snprintf(candidate.control->text, sizeof candidate.control->text, "%s", line + 1);
            order(candidate, ARRANGE);
            reply("a\n");
        } else if (line[0] == 'C') {
            order(candidate, CALL);
            reply("c\n");
        } else if (line[0] == 'T') {
            flush_caches();
            order(idle, CALL);  // the first finds the kernel's own code out of the caches
            const Empty nothing = empty_calls();
            const Times taken = order(candidate, CALL);
            char text[160];
            snprintf(text, sizeof text, "t %lld %lld %lld %lld %lld %lld\n", taken.wall, taken.on_core,
                     nothing.idle.wall, nothing.idle.on_core, nothing.alone.wall, nothing.alone.on_core);
            reply(text);
        } else if (line[0] == 'E') {
            const Empty nothing = empty_calls();
            char text[128];
            snprintf(text, sizeof text, "e %lld %lld %lld %lld\n", nothing.idle.wall, nothing.idle.on_core,
                     nothing.alone.wall, nothing.alone.on_core);
            reply(text);
        }
    }
    return 0;
}
