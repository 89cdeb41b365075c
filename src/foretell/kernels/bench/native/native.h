// What the keeper and its children share: one page that the keeper writes and the children read, and the children's
// parts. Nothing that a child writes is believed; its answer is that it has stopped.
#pragma once
#include <cstddef>
#include <cstdint>

// Orders to a child, written while it is stopped.
struct Control {
    int64_t arguments[24];  // of the kernel: addresses, which are the same in the children, then sizes
    char command;           // ARRANGE or CALL
    char text[3839];        // arguments of ARRANGE: "n off len writable ... m size ..."
};

enum : char { ARRANGE = 'A', CALL = 'R' };

// Threads of a child besides its main one: none, those that it starts, or OpenMP's pool as well.
enum Threads : int { NONE = 0, OWN = 1, POOL = 2 };

// What a child is made of. `object` is the candidate's shared object, null for the child that does nothing when called.
struct Setting {
    const char* object;
    const Control* control;
    char* memory;
    size_t memory_bytes;
    size_t address_bytes;
    int report;
    Threads threads;
};

// Body of a child; never returns. It stops when it is ready, and again after each order.
[[noreturn]] void run_child(const Setting& setting);

// A kernel, whatever its signature: pointers and 64-bit integers are passed alike and the caller cleans up.
using Entry = void (*)();

// Calls a kernel with 16 arguments, more than any has; 0 if it left what belongs to its caller changed (`calling.cpp`).
extern "C" int call_kernel(const int64_t* arguments, Entry entry);

// Where the one instruction ends by which a child stops itself: no other may (see `close_calls`).
extern "C" const char stopped_here[];

// Landlock: reading only from the system's libraries and the folder of the object, writing nowhere. For this thread
// and those it starts.
void close_files(const char* object);

// The judge's memory starts at a multiple of this many bytes, with nothing else of a child within one on either side, so
// that the upper halves of addresses tell the filter of system calls what is in it.
constexpr uint64_t GATE = 1ULL << 32;

// Seccomp, for all threads of this process: memory, clocks and threads (none more if `serial`). A kernel cannot stop the
// process itself, so that every call ends on the runner's way back, as the empty one does, and cannot change how `memory`
// is mapped but for its protection. False if there is none.
bool close_calls(bool serial, const char* memory, size_t memory_bytes);
