"""Foretell: look before you run."""

__version__ = "0.1.0"
