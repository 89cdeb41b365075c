// The walls around a candidate's process, put up by itself before it loads anything foreign.
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

void close_files(const char* object) {
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

// A kernel computes: it needs memory, threads and clocks. Everything else traps, and the handler ends the process.
bool close_calls(bool serial, const char* memory, size_t memory_bytes) {
#ifdef OUR_ARCH
    static const int allowed[] = {
        SYS_read, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_pread64, SYS_fstat, SYS_newfstatat, SYS_getdents64,
        SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_get_mempolicy, SYS_set_mempolicy, SYS_membarrier, SYS_futex, SYS_set_robust_list, SYS_get_robust_list,
        SYS_set_tid_address, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
        SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler,
        SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getpriority, SYS_pipe2, SYS_eventfd2,
        SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getrusage,
        SYS_times, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_getgid, SYS_geteuid, SYS_getegid, SYS_uname,
        SYS_sysinfo, SYS_getrandom, SYS_exit, SYS_exit_group, SYS_restart_syscall, SYS_getcpu, SYS_faccessat,
        SYS_readlinkat, SYS_statx, SYS_getcwd, SYS_ppoll, SYS_pselect6,
#if defined(__x86_64__)
        SYS_arch_prctl, SYS_access, SYS_stat, SYS_lstat, SYS_readlink, SYS_time, SYS_poll, SYS_pipe, SYS_select,
#endif
    };
    enum { MOST = 512, RSEQ_UNREGISTER = 1 };
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
    // What the runtime libraries ask without needing an answer. Which pages of a file are in memory would be a way to
    // pass words on to the next process.
    const int harmless[] = {SYS_mincore, SYS_ioctl, SYS_prctl, SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setparam,
                            SYS_mlockall, SYS_munlockall};
    for (int number : harmless) {
        add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
        add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    // A call that is judged by one argument, which the filter loads; what follows returns, whichever way it turns out.
    auto by_argument = [&](int number, int argument, unsigned short test, unsigned value, unsigned yes, unsigned no) {
        add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 4));
        add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(argument)));
        add(BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K), value, 0, 1));
        add(BPF_STMT(BPF_RET | BPF_K, yes));
        add(BPF_STMT(BPF_RET | BPF_K, no));
    };
    const unsigned allow = SECCOMP_RET_ALLOW, trap = SECCOMP_RET_TRAP, ignore = SECCOMP_RET_ERRNO;
#ifdef SYS_alarm
    by_argument(SYS_alarm, 0, BPF_JEQ, 0, allow, trap);  // an alarm may be called off, not set
#endif
    // A thread that waits for one it has vforked cannot be stopped, and with it the process never is.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(0)));
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VFORK, 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, trap));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number_at));
    by_argument(SYS_clone, 0, BPF_JSET, CLONE_THREAD, serial ? trap : allow, trap);  // threads, not processes
    // What the kernel does for a thread that comes back to a core is not to be got rid of either.
    by_argument(SYS_rseq, 2, BPF_JSET, RSEQ_UNREGISTER, trap, allow);
    // Signals to itself (abort needs it), but it stops by one instruction of the runner alone, and never goes on by itself.
    const unsigned address_at = offsetof(struct seccomp_data, instruction_pointer);
    const uint64_t stop = (uint64_t)(uintptr_t)stopped_here;
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 14));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(0)));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 0, 10));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(2)));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGCONT, 8, 0));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGTSTP, 7, 0));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGTTIN, 6, 0));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGTTOU, 5, 0));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGSTOP, 0, 5));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address_at));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)stop, 0, 2));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, address_at + 4));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(stop >> 32), 1, 0));
    add(BPF_STMT(BPF_RET | BPF_K, trap));
    add(BPF_STMT(BPF_RET | BPF_K, allow));
    // A call that is judged by several words of its arguments: every way through the lines between the two returns.
    auto begins = [&](int number) {
        add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 1, 0));
        add(BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0));  // over all of it, once its length is known
        return n - 1;
    };
    auto ends = [&](unsigned start) { code[start].k = n - start - 1; };
    auto load = [&](int argument, int word) {
        add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(argument) + 4 * (unsigned)word));
    };
    auto returns_if = [&](unsigned short test, unsigned value, unsigned result) {
        add(BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K), value, 0, 1));
        add(BPF_STMT(BPF_RET | BPF_K, result));
    };
    auto returns_unless = [&](unsigned short test, unsigned value, unsigned result) {
        add(BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K), value, 1, 0));
        add(BPF_STMT(BPF_RET | BPF_K, result));
    };
    const unsigned denied = SECCOMP_RET_ERRNO | EACCES, refused = SECCOMP_RET_ERRNO | EPERM;
    const unsigned unknown = SECCOMP_RET_ERRNO | EINVAL;
    // Its own limits may be read. A pointer has two words, and either may be nothing.
    unsigned call = begins(SYS_prlimit64);
    for (int word : {0, 1}) {
        load(2, word);
        returns_unless(BPF_JEQ, 0, trap);
    }
    load(0, 0);
    returns_if(BPF_JEQ, 0, allow);
    returns_unless(BPF_JEQ, (unsigned)getpid(), trap);
    add(BPF_STMT(BPF_RET | BPF_K, allow));
    ends(call);
    // No file is made or emptied. One that is there, such as the name of a thread, cannot be opened for writing.
    call = begins(SYS_openat);
    load(2, 0);
    returns_if(BPF_JSET, O_CREAT | O_TRUNC | O_APPEND, trap);
    returns_if(BPF_JSET, O_WRONLY | O_RDWR, denied);
    add(BPF_STMT(BPF_RET | BPF_K, allow));
    ends(call);
    call = begins(SYS_fcntl);
    load(1, 0);
    for (int command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL})
        returns_if(BPF_JEQ, (unsigned)command, allow);
    add(BPF_STMT(BPF_RET | BPF_K, refused));
    ends(call);
    // The judge's memory stays where it is, in pages as it is given: larger ones, a second mapping, or another node are
    // conditions that a caller's memory does not have. It lies by itself in whole GATEs, with one before it.
    const uint64_t start = (uint64_t)(uintptr_t)memory, from = start / GATE - 1, to = (start + memory_bytes) / GATE;
    auto elsewhere = [&]() {
        load(1, 1);  // no range from before the gate reaches it
        returns_unless(BPF_JEQ, 0, refused);
        load(0, 1);
        add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)from, 0, 2));
        returns_unless(BPF_JGT, (unsigned)to, refused);
    };
    call = begins(SYS_madvise);
    elsewhere();
    load(2, 0);
    for (int advice : {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, 8 /* MADV_FREE */,
                       MADV_DONTFORK, MADV_DOFORK, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP,
                       22 /* MADV_POPULATE_READ */, 23 /* MADV_POPULATE_WRITE */, 25 /* MADV_COLLAPSE */})
        returns_if(BPF_JEQ, (unsigned)advice, allow);
    add(BPF_STMT(BPF_RET | BPF_K, unknown));
    ends(call);
    call = begins(SYS_mbind);
    elsewhere();
    add(BPF_STMT(BPF_RET | BPF_K, allow));
    ends(call);
    // As realloc does it: old bytes of 0, or the flag to keep the old mapping, would give one of two.
    call = begins(SYS_mremap);
    elsewhere();
    load(1, 0);
    returns_if(BPF_JEQ, 0, refused);
    load(3, 0);
    returns_unless(BPF_JGT, MREMAP_MAYMOVE, allow);
    add(BPF_STMT(BPF_RET | BPF_K, refused));
    ends(call);
    // No thread is bound to a core, so that none keeps another of its own waiting for one: the call does nothing, for
    // the C library takes a refusal for a thread that could not be started.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, ignore));
    // The handler that reports a forbidden call stays, and what follows when the process goes on is the runner's.
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 6));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(0)));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGCONT, 2, 0));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGSYS, 0, 2));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    add(BPF_STMT(BPF_RET | BPF_K, trap));
    add(BPF_STMT(BPF_RET | BPF_K, allow));
    add(BPF_STMT(BPF_RET | BPF_K, trap));
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#else
    (void)serial, (void)memory, (void)memory_bytes;
    return false;
#endif
}
