"""The corpus: plans of what to measure, collecting it in short leases of a device, and the table it becomes."""
