"""Candidates that do what a kernel must not, as C++ bodies of the softmax task, with how each must end."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.kernels.measurement import Status

HEAD = """\
#include <arpa/inet.h>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
"""

CORRECT = """
static void honest(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float peak = -INFINITY, sum = 0;
        for (int64_t j = 0; j < cols; ++j) peak = x[i * cols + j] > peak ? x[i * cols + j] : peak;
        for (int64_t j = 0; j < cols; ++j) sum += out[i * cols + j] = std::exp(x[i * cols + j] - peak);
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] /= sum;
    }
}
"""


def head(body: str) -> str:
    """What a body includes; <thread> alone takes longer to compile than all others."""
    return f"{HEAD}#include <thread>\n" if "std::thread" in body else HEAD


@dataclass(frozen=True)
class Hostile:
    """`body` runs inside the kernel; the honest result is computed after it unless `alone`."""

    name: str
    body: str
    status: Status
    says: str
    outside: str = ""
    alone: bool = False

    def source(self, sentinel: str = "") -> str:
        after = "" if self.alone else "honest(x, out, rows, cols);"
        text = f"""{head(self.body)}{CORRECT}{self.outside}
extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {{
    {self.body}
    {after}
}}
"""
        return text.replace("SENTINEL", sentinel)


HOSTILE = (
    Hostile("infinite_loop", "volatile int stay = 1; while (stay) {}", Status.TIMEOUT, "did not finish"),
    Hostile("sleeps", "sleep(3600);", Status.TIMEOUT, "did not finish"),
    Hostile("segfault", "*(volatile int*)8 = 1;", Status.CRASH, "SIGSEGV"),
    Hostile("abort", "abort();", Status.CRASH, "SIGABRT"),
    # A division by zero does not trap on every architecture; the signal that it raises where it does can be sent.
    Hostile("arithmetic_fault", "raise(SIGFPE);", Status.CRASH, "SIGFPE"),
    Hostile("illegal_instruction", "__builtin_trap();", Status.CRASH, "SIG"),
    Hostile("exit", "exit(0);", Status.CRASH, "exit code 0"),
    Hostile(
        "stack_overflow",
        "volatile float sink = deep(x, rows); (void)sink;",
        Status.CRASH,
        "SIGSEGV",
        outside="static float deep(const float* x, int64_t n) "
        "{ volatile float pad[4096]; pad[n % 4096] = x[0]; return deep(x, n + 1) + pad[n % 4096]; }",
    ),
    Hostile(
        "memory_hog",
        "for (;;) { volatile char* b = (char*)malloc(1 << 28); for (int i = 0; i < 1 << 28; i += 1 << 20) b[i] = 1; }",
        Status.CRASH,
        "SIGSEGV",
    ),
    Hostile("fork_bomb", "for (;;) fork();", Status.CHEAT, "forbidden system call"),
    Hostile(
        "thread_bomb",
        "for (;;) std::thread([] { for (;;) sleep(60); }).detach();",
        Status.CRASH,
        "SIGABRT",
    ),
    Hostile("runs_a_program", 'execl("/bin/sh", "sh", "-c", "true", (char*)0);', Status.CHEAT, "execve"),
    Hostile("endless_output", 'for (;;) { puts("more"); fflush(stdout); }', Status.TIMEOUT, "did not finish"),
    Hostile(
        "huge_file",
        'FILE* f = fopen("/tmp/foretell-huge", "w"); for (int i = 0; i < 1 << 20; ++i) fwrite(x, 1, 4096, f);',
        Status.CHEAT,
        "forbidden system call",
    ),
    Hostile(
        "writes_past_end",
        "for (int64_t j = 0; j < getpagesize(); ++j) out[rows * cols + j] = 0;",
        Status.CRASH,
        "past the end",
    ),
    Hostile("writes_just_past_end", "out[rows * cols] = 0;", Status.WRONG, "behind 'out' was written"),
    Hostile("writes_before_start", "out[-1] = 0;", Status.CRASH, "before the start of 'out'"),
    Hostile(
        "reads_far_past_end",
        "volatile float v = x[rows * cols + getpagesize() / 4 + 176]; (void)v;",
        Status.CRASH,
        "touched memory",
    ),
    Hostile("modifies_inputs", "((float*)x)[0] = 0;", Status.CHEAT, "input 'x'"),
    Hostile(
        "nan_output", "for (int64_t i = 0; i < rows * cols; ++i) out[i] = NAN;", Status.WRONG, "got nan", alone=True
    ),
    Hostile("does_nothing", "", Status.WRONG, "values are wrong", alone=True),
    Hostile(
        "reads_secrets",
        'const char* s = getenv("FORETELL_TEST_SECRET"); if (!s) { out[0] = 2; return; }',
        Status.WRONG,
        "values are wrong",
    ),
    Hostile(
        "reads_parents_environment",
        'char path[64]; snprintf(path, 64, "/proc/%d/environ", getppid()); int fd = open(path, O_RDONLY);'
        " char text[65536]; long n = fd < 0 ? 0 : read(fd, text, sizeof text);"
        ' if (n <= 0 || !memmem(text, n, "FORETELL_TEST_SECRET", 20)) { out[0] = 2; return; }',
        Status.WRONG,
        "values are wrong",
    ),
    Hostile(
        "reads_a_private_file",
        'int fd = open("SENTINEL", O_RDONLY); char c; if (fd < 0 || read(fd, &c, 1) != 1) { out[0] = 2; return; }',
        Status.WRONG,
        "values are wrong",
    ),
    Hostile(
        "network",
        "int s = socket(AF_INET, SOCK_STREAM, 0); sockaddr_in a{}; a.sin_family = AF_INET; a.sin_port = htons(9);"
        " a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); connect(s, (sockaddr*)&a, sizeof a);",
        Status.CHEAT,
        "socket",
    ),
    Hostile("deletes_files", 'unlink("SENTINEL");', Status.CHEAT, "unlink"),
    Hostile(
        "writes_outside",
        'int fd = open("SENTINEL", O_WRONLY | O_TRUNC); write(fd, "x", 1);',
        Status.CHEAT,
        "for writing",
    ),
    Hostile("kills_its_parent", "kill(getppid(), SIGKILL);", Status.CHEAT, "kill"),
    Hostile("leaves_its_session", "setsid();", Status.CHEAT, "setsid"),
    Hostile(
        "forges_the_channel",
        'for (int fd = 3; fd < 1024; ++fd) { ssize_t n = write(fd, "c\\n", 2); (void)n; } return;',
        Status.CHEAT,
        "the bench's own channel",
    ),
    Hostile(
        "finishes_later",
        "std::thread([=] { usleep(20000); honest(x, out, rows, cols); }).detach();",
        Status.WRONG,
        "values are wrong",
        alone=True,
    ),
    Hostile(
        "remembers_by_pointer",
        "static const float* last; static int64_t size; if (x == last && size == rows * cols) return;"
        " last = x; size = rows * cols;",
        Status.WRONG,
        "values are wrong",
    ),
    Hostile(
        "acts_while_loading",
        "",
        Status.CHEAT,
        "forbidden system call",
        outside='static int early = [] { return (int)(fopen("/tmp/foretell-early", "w") != nullptr); }();',
    ),
    Hostile("does_not_compile", "this is not C++;", Status.COMPILE_ERROR, "error"),
    Hostile(
        "compiles_forever",
        "",
        Status.TIMEOUT,
        "compiler did not finish",
        outside="template <int A, int B> struct T { static constexpr long v = T<A - 1, B * 2 + 1>::v"
        " + T<A - 1, B * 2>::v; };"
        " template <int B> struct T<0, B> { static constexpr long v = B; }; static const long slow = T<28, 1>::v;",
    ),
)
