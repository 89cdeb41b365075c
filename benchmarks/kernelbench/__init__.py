"""Candidates in KernelBench's form for some of its level-1 problems, written here by a language model."""
