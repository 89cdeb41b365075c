// Attempts of a C++ kernel to reach out of the process that it runs in, one for each number of rows; `foretell doctor`
// runs them in the bench's own worker. SECRET_FILE, DECOY_PID and TCP_PORT are put in front as macros. An attempt that
// got through writes 1 to its output; being stopped, or refused, is a wall that held.
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static bool reads(const char* path) {
    int fd = open(path, O_RDONLY);
    char byte;
    return fd >= 0 && read(fd, &byte, 1) == 1;
}

static bool connects() {
    int channel = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(TCP_PORT);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return channel >= 0 && connect(channel, (sockaddr*)&address, sizeof address) == 0;
}

static bool attempt(int64_t number) {
    char path[128];
    switch (number) {
        case 1: return reads(SECRET_FILE);
        case 2: return reads("/etc/passwd");
        case 3: snprintf(path, sizeof path, "/proc/%d/environ", getppid()); return reads(path);
        case 4: snprintf(path, sizeof path, "/proc/%d/environ", DECOY_PID); return reads(path);
        case 5: return open(SECRET_FILE, O_WRONLY | O_APPEND) >= 0;
        case 6: return open(SECRET_FILE ".new", O_WRONLY | O_CREAT, 0600) >= 0;
        case 7: return unlink(SECRET_FILE) == 0;
        case 8: return chmod(SECRET_FILE, 0777) == 0;
        case 9: return connects();
        case 10: return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
        case 11: return fork() >= 0;
        case 12: execl("/bin/sh", "sh", "-c", "true", (char*)nullptr); return false;
        case 13: return kill(DECOY_PID, 0) == 0;
        case 14: return ptrace(PTRACE_ATTACH, DECOY_PID, nullptr, nullptr) == 0;
        case 15: return syscall(SYS_memfd_create, "x", 0) >= 0;
        case 16: return syscall(SYS_unshare, 0x10000000) == 0;
        case 17: return shmget(0x464f52, 4096, IPC_CREAT | 0600) >= 0;
        case 18: { struct rlimit wide = {RLIM_INFINITY, RLIM_INFINITY}; return setrlimit(RLIMIT_AS, &wide) == 0; }
        case 19: return syscall(SYS_io_uring_setup, 4, path) >= 0;
        case 20: return getenv("SECRET") != nullptr || getenv("HOME") == nullptr || strcmp(getenv("HOME"), "/nonexistent") != 0;
    }
    return false;
}

extern "C" void kernel(const float*, float* out, int64_t rows, int64_t) {
    out[0] = 0.0f;
    if (attempt(rows)) out[0] = 1.0f;
}
