"""The GPU bench: builders on the CPU's cores, one warm worker per GPU, and a judge in a process of its own."""
