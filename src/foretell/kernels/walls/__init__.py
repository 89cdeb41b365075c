"""What runs behind the sandbox's walls, or builds them: standard library only, so that it starts in milliseconds."""

is_inside = False  # set in a process that is walled in
