"""The one wall around everything foreign: compilers, builders and recorders, and the code of problem files.

`run` is for commands, `ForkServer` for Python work. What the walls are made of, and what they do not cover, is in
`docs/threat_model.md`.
"""

from foretell.kernels.limits import Limits
from foretell.kernels.sandbox.command import Finished, run
from foretell.kernels.sandbox.forkserver import ForkServer
from foretell.kernels.sandbox.jobs import Conversation, Ending, Job, JobFailed, Result
from foretell.kernels.sandbox.kinds import Kind, NoSandbox, available, required, unsafe
from foretell.kernels.sandbox.specification import bubblewrapped, scrubbed_environment

__all__ = [
    "Conversation",
    "Ending",
    "Finished",
    "ForkServer",
    "Job",
    "JobFailed",
    "Kind",
    "Limits",
    "NoSandbox",
    "Result",
    "available",
    "bubblewrapped",
    "required",
    "run",
    "scrubbed_environment",
    "unsafe",
]
