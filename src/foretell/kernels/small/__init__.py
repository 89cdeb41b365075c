"""Candidates run on the CPU at small sizes, in the sandbox: do they compute what the reference computes?"""
