// The process a C++ candidate runs in: it shuts every door it does not need, loads the candidate's shared object and
// obeys its keeper. It judges nothing and times nothing; its answer to an order is that it stops.
//
// If it has to die it says why, in one line: "s NUMBER" (forbidden system call),
// "g OFFSET SIGNAL" (touched judge memory it may not), "b" (touched judge memory while it was arranged, between calls),
// "v ADDRESS SIGNAL" (any other bad access), "r" (left registers of its caller changed), "e TEXT" (could not load).
#include "native.h"

#include <dlfcn.h>
#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static Setting g_setting;

static void say(const char* text, int n) {
    ssize_t done = write(g_setting.report, text, (size_t)n);
    (void)done;
}

static void on_fault(int number, siginfo_t* info, void*) {
    char* address = (char*)info->si_addr;
    char line[128];
    int n;
    if (number == SIGSYS)
        n = snprintf(line, sizeof line, "s %d\n", info->si_syscall);
    else if (address < g_setting.memory || address >= g_setting.memory + g_setting.memory_bytes)
        n = snprintf(line, sizeof line, "v %lld %d\n", (long long)(intptr_t)address, number);
    else if (g_setting.control->command == ARRANGE)
        n = snprintf(line, sizeof line, "b\n");
    else
        n = snprintf(line, sizeof line, "g %lld %d\n", (long long)(address - g_setting.memory), number);
    say(line, n);
    _exit(4);
}

static void catch_faults() {
    static char stack[65536];
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    for (int number : faults) sigaction(number, &action, nullptr);
}

static void limit(int what, rlim_t value) {
    struct rlimit bound = {value, value};
    setrlimit(what, &bound);
}

static void open_buffers(const char* text) {
    char* at = (char*)text;
    auto next = [&]() { return strtoll(at, &at, 10); };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    mprotect(g_setting.memory, g_setting.memory_bytes, PROT_NONE);
    const int buffers = (int)next();
    for (int i = 0; i < buffers; ++i) {
        const size_t offset = (size_t)next(), bytes = (size_t)next();
        const bool writable = next() != 0;
        const size_t first = offset / page * page, last = (offset + bytes + page - 1) / page * page;
        mprotect(g_setting.memory + first, last - first, writable ? PROT_READ | PROT_WRITE : PROT_READ);
    }
}

// The main thread, and those that it starts, may run on every core that this process was given: OpenMP's runtime has
// bound it to the first one. From here on nobody's place can be changed (see `close_calls`).
static void unbind() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (int place = 0; place < omp_get_num_places(); ++place) {
        int ids[CPU_SETSIZE];
        const int count = omp_get_place_num_procs(place);
        if (count > CPU_SETSIZE) continue;
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < count; ++i) CPU_SET((size_t)ids[i], &cores);
    }
    if (CPU_COUNT(&cores) > 0) sched_setaffinity(0, sizeof cores, &cores);
}

static void nothing() {}

[[noreturn]] static void give_up(const char* why) {
    char text[512];
    say(text, snprintf(text, sizeof text, "e %.480s\n", why ? why : "no entry point"));
    _exit(5);
}

static Entry load(const char* object) {
    if (object == nullptr) return nothing;
    void* library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    Entry entry = library ? (Entry)dlsym(library, "kernel") : nullptr;
    if (entry == nullptr) give_up(dlerror());
    return entry;
}

// What a call needs, side by side: little that a process finds cold when it goes on.
struct alignas(64) Round {
    char* stack;
    Entry entry;
    const Control* control;
    long pid;
};
extern "C" {
__attribute__((visibility("hidden"))) Round g_round;
// tgkill(pid, pid, SIGSTOP), by an instruction whose address the filter of system calls knows. Whoever called it, `obey`
// follows once the process goes on, on the runner's stack: no kernel gets past the runner's way there and back.
[[noreturn]] void stop_self(long pid, long thread, long signal);
[[noreturn]] __attribute__((visibility("hidden"), used)) void obey();
}
#if defined(__x86_64__)
asm(".text\n.balign 64\n.type stop_self, @function\nstop_self:\n"
    "mov $234, %eax\nsyscall\n"
    ".globl stopped_here\nstopped_here:\n"
    "mov g_round(%rip), %rsp\npushq $0\njmp obey\n"
    ".size stop_self, . - stop_self\n");
#elif defined(__aarch64__)
asm(".text\n.balign 64\n.type stop_self, %function\nstop_self:\n"
    "mov x8, #131\nsvc #0\n"
    ".globl stopped_here\nstopped_here:\n"
    "adrp x9, g_round\nldr x9, [x9, :lo12:g_round]\nmov sp, x9\nmov x29, #0\nmov x30, #0\nb obey\n"
    ".size stop_self, . - stop_self\n");
#endif

void obey() {
    const Control* control = g_round.control;
    if (control->command == ARRANGE)
        open_buffers(control->text);
    else if (!call_kernel(control->arguments, g_round.entry)) {
        say("r\n", 2);
        _exit(6);
    }
    stop_self(g_round.pid, g_round.pid, SIGSTOP);
}

[[noreturn]] void run_child(const Setting& setting) {
    g_setting = setting;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 64);
    limit(RLIMIT_AS, (rlim_t)setting.address_bytes);
    catch_faults();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (setting.object != nullptr) close_files(setting.object);
    if (setting.threads == POOL) {
        // Threads wait for work before anything foreign runs, each bound to its core.
#pragma omp parallel
        { (void)omp_get_thread_num(); }
    }
    if (setting.threads != NONE) unbind();
    if (!close_calls(setting.threads == NONE, setting.memory, setting.memory_bytes)) give_up("this system has no seccomp");
    g_round.entry = load(setting.object);
    g_round.control = setting.control;
    g_round.pid = getpid();
    // Below what this function uses, which never returns.
    g_round.stack = (char*)(((uintptr_t)__builtin_frame_address(0) - 4096) & ~(uintptr_t)63);
    stop_self(g_round.pid, g_round.pid, SIGSTOP);
}
