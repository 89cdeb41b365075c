"""The GPU bench behind the sandbox's walls: what gets out, what still works, and what it costs."""
