"""The tunable constants of a given kernel: where they are, what else they may be, and who changes them."""

from foretell.kernels.propose.knobs.find import NoKnobs, find_space
from foretell.kernels.propose.knobs.space import AS_WRITTEN, Knob, Space

__all__ = ["AS_WRITTEN", "Knob", "NoKnobs", "Space", "find_space"]
