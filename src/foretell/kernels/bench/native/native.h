// What the keeper and its children share: one page that the keeper writes and the children read, and the children's
// parts. Nothing that a child writes is believed; its answer is that it has stopped.
#pragma once
#include <cstddef>
#include <cstdint>

// Orders to a child, written while it is stopped.
struct Control {
    char command;     // ARRANGE or CALL
    char text[4095];  // arguments of ARRANGE: "n off len writable ... m size ..."
};

enum : char { ARRANGE = 'A', CALL = 'R' };

// What a child is made of. `object` is the candidate's shared object, null for the child that does nothing when called.
struct Setting {
    const char* object;
    const Control* control;
    char* memory;
    size_t memory_bytes;
    size_t address_bytes;
    int report;
    bool serial;
};

// Body of a child; never returns. It stops when it is ready, and again after each order.
[[noreturn]] void run_child(const Setting& setting);

// Landlock: reading only from the system's libraries and the folder of the object, writing nowhere. For this thread
// and those it starts.
void close_files(const char* object);

// Seccomp, for all threads of this process: memory, clocks and threads (none more if `serial`). False if there is none.
bool close_calls(bool serial);

// Prints the system calls that a hostile or careless kernel is likely to try, one to a line: "NUMBER NAME".
void print_call_names();
