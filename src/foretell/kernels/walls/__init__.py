"""What runs behind the sandbox's walls, or builds them: standard library only, so that it starts in milliseconds.

Commands are started with it, so what every start imports is kept to the least: no dataclasses, no typing, no json.
"""

is_inside = False  # set in a process that is walled in
