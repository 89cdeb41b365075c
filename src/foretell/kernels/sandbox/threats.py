"""The threat model in a few words, as `foretell doctor` prints it; `docs/threat_model.md` has all of it."""

COVERED = (
    "compilers read nothing but the system, their toolkit and the source that they are given",
    "host code of candidates, while they are built, recorded or measured on a GPU, and of problem files: the same, "
    "and no network, no other processes, nothing left behind",
    "C++ candidates that are measured run in a process with no files, no network and no other processes; it is stopped "
    "but for its calls, timed from outside, and never on data that it has seen",
    "operations of the library: results that are wrong, remembered, of lower precision than the task asks for, or "
    "right at some inputs or sizes alone are refused",
    "what compilers print is cut down to the candidate's own words",
    "received runs, weights, traces, tables and plans: no links are followed, no host is asked that you did not name, "
    "sizes and types are checked first",
)
NOT_COVERED = (
    "the GPU: code that is measured there may use its time and memory until it is stopped",
    "speeds on a GPU by FORETELL_GPU_METHOD=worker: host code of a candidate shares a process with the clock and can "
    "forge it; the default, trusted replay, keeps them apart",
    "results for a problem file are as good as the file: its own code says what is right",
    "faults of the kernel, of drivers and of compilers; side channels by time and load",
    "what lies in the system's folders, in toolkits and in this Python's packages can be read",
)
