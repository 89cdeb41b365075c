"""Attempts to break out of the sandbox, made inside it by trusted code.

Each probe is a function of a `Target`; it returns True if the wall did not hold. What the system refuses it with is a
wall that held. `foretell doctor` and the tests run all of them in each sandbox.
"""
