// The process a C++ candidate runs in: it shuts every door it does not need, loads the candidate's shared object and
// obeys its keeper. It judges nothing and times nothing; its answer to an order is that it stops.
//
// If it has to die it says why, in one line: "s NUMBER" (forbidden system call),
// "g OFFSET SIGNAL" (touched judge memory it may not), "v ADDRESS SIGNAL" (any other bad access), "e TEXT" (could not
// load).
#include "native.h"

#include <dlfcn.h>
#include <errno.h>
#include <omp.h>
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
    else if (address >= g_setting.memory && address < g_setting.memory + g_setting.memory_bytes)
        n = snprintf(line, sizeof line, "g %lld %d\n", (long long)(address - g_setting.memory), number);
    else
        n = snprintf(line, sizeof line, "v %lld %d\n", (long long)(intptr_t)address, number);
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

static int64_t g_arguments[24];

static void set_arguments(const char* text) {
    char* at = (char*)text;
    auto next = [&]() { return strtoll(at, &at, 10); };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    mprotect(g_setting.memory, g_setting.memory_bytes, PROT_NONE);
    const int buffers = (int)next();
    int used = 0;
    for (int i = 0; i < buffers; ++i) {
        const size_t offset = (size_t)next(), bytes = (size_t)next();
        const bool writable = next() != 0;
        const size_t whole = (bytes + page - 1) / page * page;
        char* start = g_setting.memory + offset;
        mprotect(start, whole, writable ? PROT_READ | PROT_WRITE : PROT_READ);
        g_arguments[used++] = (int64_t)(intptr_t)start;
    }
    const int sizes = (int)next();
    for (int i = 0; i < sizes; ++i) g_arguments[used++] = next();
}

using Entry = void (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

static void nothing(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                    int64_t, int64_t, int64_t, int64_t, int64_t) {}

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

[[noreturn]] void run_child(const Setting& setting) {
    g_setting = setting;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 64);
    limit(RLIMIT_AS, (rlim_t)setting.address_bytes);
    catch_faults();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (setting.object != nullptr) close_files(setting.object);
    if (!setting.serial) {
        // Threads wait for work before anything foreign runs, each bound to its core.
#pragma omp parallel
        { (void)omp_get_thread_num(); }
    }
    if (!close_calls(setting.serial)) give_up("this system has no seccomp");
    const Entry entry = load(setting.object);
    const int64_t* a = g_arguments;
    const int pid = getpid();
    for (;;) {
        syscall(SYS_tgkill, pid, pid, SIGSTOP);
        if (setting.control->command == ARRANGE)
            set_arguments(setting.control->text);
        else  // pointers and 64-bit integers are passed alike and the caller cleans up: one call for every signature
            entry(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
    }
}
