"""Kernels executed without a GPU: a numpy interpreter of PTX for all lanes of a launch, and Programs run with it.

Meant for small sizes. Races are not shown (the last lane to write wins), asynchronous copies are done at once, and
approximate functions are as precise as numpy's.
"""
