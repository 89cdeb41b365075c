"""The operations on a GPU, by family: sizes that fill a large one, half precision where usual, torch references."""
