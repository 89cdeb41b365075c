"""Attacks on the sandbox and on what reads received files, and what came of each (docs/results/sandbox.md)."""
