// The process a C++ candidate runs in. It maps the judge's memory, shuts every door it does not need, loads the
// candidate's shared object and then obeys one-line commands; it never judges anything itself.
//
//   runner OBJECT COMMAND_FD REPLY_FD MEMORY_FD MEMORY_BYTES ADDRESS_LIMIT_BYTES
//
//   L n off len writable ... m size ...   arguments of the next calls: n buffers, then m sizes  -> "l"
//   F                                     push every line of every buffer out of all caches     -> "f"
//   R                                     call the kernel once       -> "r NANOSECONDS CPU_NANOSECONDS PREEMPTIONS"
//
// On a fault it says why in one line before it dies: "s NUMBER NAME" (forbidden system call; NAME is empty if unknown),
// "g OFFSET" (touched judge memory it may not), "v ADDRESS SIGNAL" (any other bad access), "e TEXT" (could not load).
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static int g_reply;
static char* g_memory;
static size_t g_memory_bytes;

static void say(const char* text, size_t n) {
    while (n > 0) {
        ssize_t done = write(g_reply, text, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) _exit(3);
        text += done;
        n -= (size_t)done;
    }
}

static void say_line(const char* kind, long long a, long long b) {
    char line[96];
    int n = snprintf(line, sizeof line, "%s %lld %lld\n", kind, a, b);
    say(line, (size_t)n);
}

#ifdef __linux__
struct SystemCall {
    int number;
    const char* name;
};

// Names for the system calls that a hostile or careless kernel is likely to try. The numbers come from this machine's
// headers, because they differ between architectures; newer architectures lack the older calls.
static const SystemCall g_named_calls[] = {
#ifdef SYS_open
    {SYS_open, "open for writing"}, {SYS_creat, "creat"}, {SYS_mkdir, "mkdir"}, {SYS_rmdir, "rmdir"},
    {SYS_rename, "rename"}, {SYS_link, "link"}, {SYS_symlink, "symlink"}, {SYS_unlink, "unlink"},
    {SYS_chmod, "chmod"}, {SYS_fork, "fork"}, {SYS_vfork, "vfork"},
#endif
#ifdef SYS_renameat
    {SYS_renameat, "renameat"},
#endif
#ifdef SYS_setrlimit
    {SYS_setrlimit, "setrlimit"},
#endif
    {SYS_openat, "openat for writing"}, {SYS_mkdirat, "mkdirat"}, {SYS_renameat2, "renameat2"},
    {SYS_linkat, "linkat"}, {SYS_symlinkat, "symlinkat"}, {SYS_unlinkat, "unlinkat"}, {SYS_fchmodat, "fchmodat"},
    {SYS_mount, "mount"}, {SYS_unshare, "unshare"}, {SYS_memfd_create, "memfd_create"},
    {SYS_clone, "clone (a new process)"}, {SYS_execve, "execve"}, {SYS_kill, "kill"}, {SYS_tkill, "tkill"},
    {SYS_tgkill, "tgkill (another process)"}, {SYS_ptrace, "ptrace"}, {SYS_setsid, "setsid"},
    {SYS_setpgid, "setpgid"}, {SYS_prlimit64, "prlimit64 (to set)"}, {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"}, {SYS_socket, "socket"}, {SYS_socketpair, "socketpair"},
    {SYS_connect, "connect"}, {SYS_bind, "bind"}, {SYS_listen, "listen"}, {SYS_sendto, "sendto"},
    {SYS_io_uring_setup, "io_uring_setup"},
};

static const char* call_name(int number) {
    for (const SystemCall& call : g_named_calls)
        if (call.number == number) return call.name;
    return "";
}
#endif

static void on_fault(int number, siginfo_t* info, void*) {
    char* address = (char*)info->si_addr;
#ifdef __linux__
    if (number == SIGSYS) {
        char line[96];
        int n = snprintf(line, sizeof line, "s %d %s\n", info->si_syscall, call_name(info->si_syscall));
        say(line, (size_t)n);
        _exit(4);
    }
#endif
    if (address >= g_memory && address < g_memory + g_memory_bytes)
        say_line("g", address - g_memory, number);
    else
        say_line("v", (long long)(intptr_t)address, number);
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

#ifdef __linux__
// Reading is allowed only from the system's libraries and the folder of the object; nothing may be written anywhere.
static void close_files(const char* object) {
#if __has_include(<linux/landlock.h>)
    struct landlock_ruleset_attr attributes = {};
    attributes.handled_access_fs = (1ULL << 13) - 1;  // every file right of the first Landlock version
    int ruleset = (int)syscall(444, &attributes, sizeof attributes, 0);
    if (ruleset < 0) return;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", object);
    if (char* slash = strrchr(folder, '/')) *slash = 0;
    const char* readable[] = {"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/sys/devices/system/cpu", folder};
    for (const char* path : readable) {
        int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0) continue;
        bool is_file = strcmp(path, "/etc/ld.so.cache") == 0;
        struct landlock_path_beneath_attr rule = {};
        rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
        if (!is_file) rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
        rule.parent_fd = fd;
        syscall(445, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
        close(fd);
    }
    syscall(446, ruleset, 0);
    close(ruleset);
#else
    (void)object;
#endif
}

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

// A kernel computes: it needs memory, threads, clocks and the descriptors it was given. Everything else traps.
static bool close_calls() {
#ifdef OUR_ARCH
    static const int allowed[] = {
        SYS_read, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_pread64, SYS_fstat, SYS_newfstatat, SYS_getdents64,
        SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_mlock, SYS_munlock, SYS_mbind,
        SYS_get_mempolicy, SYS_set_mempolicy, SYS_membarrier, SYS_futex, SYS_set_robust_list, SYS_get_robust_list,
        SYS_set_tid_address, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigreturn, SYS_sigaltstack, SYS_rseq,
        SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_getscheduler,
        SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getrusage,
        SYS_times, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_getgid, SYS_geteuid, SYS_getegid, SYS_uname,
        SYS_sysinfo, SYS_getrandom, SYS_exit, SYS_exit_group, SYS_restart_syscall, SYS_getcpu, SYS_faccessat,
        SYS_readlinkat, SYS_statx, SYS_getcwd, SYS_ppoll,
#if defined(__x86_64__)
        SYS_arch_prctl, SYS_access, SYS_stat, SYS_lstat, SYS_readlink, SYS_time, SYS_poll,
#endif
    };
    enum { MOST = 256 };
    static struct sock_filter code[MOST];
    unsigned n = 0;
    auto add = [&](struct sock_filter line) { code[n++] = line; };
    const unsigned number_at = offsetof(struct seccomp_data, nr);
    auto argument_at = [](int i) { return (unsigned)(offsetof(struct seccomp_data, args) + 8 * (unsigned)i); };
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number_at));
    for (int number : allowed) {
        add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
        add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    // The C library tries the newer call first and falls back to the one whose flags can be read here.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
    // What the runtime libraries ask without needing an answer.
    const int harmless[] = {SYS_ioctl, SYS_prctl, SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setparam};
    for (int number : harmless) {
        add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
        add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    // Limits may be read, not set.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 4));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(2)));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    // Threads, not processes.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(0)));
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x00010000, 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    // Signals to itself only (abort needs it).
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(0)));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    // Files may be opened for reading.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(2)));
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 1, 0));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return false;
#endif
}
#endif

struct Buffer {
    char* start;
    size_t bytes;
};

static Buffer g_buffers[16];
static int g_buffer_count;
static int64_t g_arguments[24];

static void set_arguments(char* text) {
    char* at = text + 1;
    auto next = [&]() { return strtoll(at, &at, 10); };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    mprotect(g_memory, g_memory_bytes, PROT_NONE);
    g_buffer_count = (int)next();
    int used = 0;
    for (int i = 0; i < g_buffer_count; ++i) {
        size_t offset = (size_t)next(), bytes = (size_t)next();
        int writable = (int)next();
        size_t whole = (bytes + page - 1) / page * page;
        g_buffers[i] = {g_memory + offset, bytes};
        mprotect(g_memory + offset, whole, writable ? PROT_READ | PROT_WRITE : PROT_READ);
        g_arguments[used++] = (int64_t)(intptr_t)(g_memory + offset);
    }
    int sizes = (int)next();
    for (int i = 0; i < sizes; ++i) g_arguments[used++] = next();
}

#if defined(__x86_64__)
static bool has_clflushopt() {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 23 & 1);
}
#endif

static void flush_caches() {
#if defined(__x86_64__)
    static const bool weakly_ordered = has_clflushopt();  // several times as fast, where the CPU has it
    for (int i = 0; i < g_buffer_count; ++i) {
        char* start = g_buffers[i].start;
        const long long bytes = (long long)g_buffers[i].bytes;
#pragma omp parallel for schedule(static)
        for (long long at = 0; at < bytes; at += 64) {
            if (weakly_ordered)
                asm volatile(".byte 0x66; clflush %0" : "+m"(start[at]));
            else
                _mm_clflush(start + at);
        }
    }
    _mm_mfence();
#elif defined(__aarch64__)
    for (int i = 0; i < g_buffer_count; ++i)
        for (size_t at = 0; at < g_buffers[i].bytes; at += 64)
            asm volatile("dc civac, %0" ::"r"(g_buffers[i].start + at) : "memory");
    asm volatile("dsb ish" ::: "memory");
#endif
}

static long long clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long now_ns() { return clock_ns(CLOCK_MONOTONIC); }

// Bring every thread of the pool onto its core before the clock starts: a sleeping virtual core takes milliseconds to
// come back, and would be counted against whoever uses threads. Where other processes want the cores too, a thread that
// waits for the rest may lose its own: only an empty region that ends at once shows that all of them run now.
static void wake_threads() {
    long long until = now_ns() + 200000, give_up = now_ns() + 50000000;
#pragma omp parallel
    {
        while (now_ns() < until) {
        }
    }
    for (;;) {
        long long start = now_ns();
#pragma omp parallel
        { asm volatile("" ::: "memory"); }
        long long end = now_ns();
        if (end - start < 50000 || end > give_up) return;
    }
}

// How often a thread of this process was taken off its core while it wanted to go on.
static long preemptions() {
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? use.ru_nivcsw : 0;
}

using Entry = void (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

// Pointers and 64-bit integers are passed alike and the caller cleans up, so one call serves every signature.
static void call(Entry entry) {
    const int64_t* a = g_arguments;
    wake_threads();
    long before = preemptions();
    long long cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), start = now_ns();
    entry(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
    long long taken = now_ns() - start;
    cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    char line[96];
    say(line, (size_t)snprintf(line, sizeof line, "r %lld %lld %ld\n", taken, cpu, preemptions() - before));
}

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    const char* object = argv[1];
    int commands = atoi(argv[2]);
    g_reply = atoi(argv[3]);
    int memory = atoi(argv[4]);
    g_memory_bytes = (size_t)atoll(argv[5]);
    g_memory = (char*)mmap(nullptr, g_memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (g_memory == MAP_FAILED) return 2;
    close(memory);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 64);
    limit(RLIMIT_AS, (rlim_t)atoll(argv[6]));
    catch_faults();
    FILE* in = fdopen(commands, "r");
    static char line[4096];
    static char buffer[8192];
    setvbuf(in, buffer, _IOFBF, sizeof buffer);
    const char* confined = "none";
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    close_files(object);
    if (close_calls()) confined = "seccomp";
#endif
    // After the doors are shut, because the filter holds for this thread and those it starts.
#pragma omp parallel
    { (void)omp_get_thread_num(); }
    void* library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    Entry entry = library ? (Entry)dlsym(library, "kernel") : nullptr;
    if (entry == nullptr) {
        const char* why = dlerror();
        char text[512];
        int n = snprintf(text, sizeof text, "e %.480s\n", why ? why : "no entry point");
        say(text, (size_t)n);
        return 5;
    }
    char ready[64];
    say(ready, (size_t)snprintf(ready, sizeof ready, "o %s\n", confined));
    while (fgets(line, sizeof line, in) != nullptr) {
        if (line[0] == 'L') {
            set_arguments(line);
            say("l\n", 2);
        } else if (line[0] == 'F') {
            flush_caches();
            say("f\n", 2);
        } else if (line[0] == 'R') {
            call(entry);
        }
    }
    return 0;
}
