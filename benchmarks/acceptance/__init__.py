"""Acceptance of kernels that others wrote: recorded, measured, and compared with plain timers."""
