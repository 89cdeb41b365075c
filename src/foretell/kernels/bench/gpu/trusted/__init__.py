"""Trusted replay: candidates are timed as Programs, by a process that never ran their host code.

`judge` decides; `scene` holds a task's data and expected values; `replayer` carries out Programs over lent memory;
`live` runs what cannot be recorded; `source_job` makes the inputs and weights of problems. See docs/trusted_replay.md.
"""
