"""The other side of the probes: decoys outside of the sandbox, limits, the verdict. Attempts are in `walls.probes`."""
