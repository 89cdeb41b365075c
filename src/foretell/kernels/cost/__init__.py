"""What Programs cost: operations and bytes, read off their steps."""

from foretell.kernels.cost.work import Work, work_of

__all__ = ["Work", "work_of"]
