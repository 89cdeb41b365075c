"""Tuning: finding the fastest of many configurations of one kernel with few measurements."""
