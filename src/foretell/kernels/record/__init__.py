"""Recording what a reference or candidate does as a Program, without a GPU (docs/recording.md)."""

from foretell.kernels.record.job import record
from foretell.kernels.record.refusal import Reason, Recording, Refusal, Refused

__all__ = ["Reason", "Recording", "Refusal", "Refused", "record"]
