"""Searches over recorded measurements: nothing is built, nothing runs, every answer was paid for before."""
