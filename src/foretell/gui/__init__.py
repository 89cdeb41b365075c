"""Computer-use agents: a proposed action is judged against the screenshot before it is executed."""
