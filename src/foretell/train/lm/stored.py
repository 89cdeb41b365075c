"""Examples in a file: drawn once where the corpus is, learnt from where the GPU is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

from foretell.lm import Message
from foretell.train.lm.errors import TrainingTrouble
from foretell.train.lm.world import Example, World


def write(path: Path, world: World, examples: Sequence[Example]) -> None:
    """One line a head, then one an example, compressed."""
    head = {"world": world.name, "style": world.style, "choices": list(world.choices)}
    with gzip.open(path, "wt", compresslevel=6) as file:
        file.write(json.dumps(head) + "\n")
        for e in examples:
            turns = [[m.role, m.content] for m in e.messages]
            target = [round(p, 5) for p in e.target]
            file.write(json.dumps({"messages": turns, "form": e.form, "target": target, "group": e.group}) + "\n")


class Stored:
    """A world whose training examples come from a file, in its order; all else is that of another world."""

    def __init__(self, path: Path, world: World) -> None:
        self.name, self.style, self.mark, self.choices = world.name, world.style, world.mark, world.choices
        self._path, self._world = path, world
        self.check, self.answer, self.read = world.check, world.answer, world.read

    def train(self, count: int, seed: int) -> list[Example]:
        """The first `count`; the seed that they were drawn with was chosen when they were written."""
        with gzip.open(self._path, "rt") as file:
            head = json.loads(file.readline())
            if (head["style"], tuple(head["choices"])) != (self.style, self.choices):
                raise TrainingTrouble(
                    f"{self._path} holds questions of another style ({head['style']}): draw them anew"
                )
            found: list[Example] = []
            for line in file:
                if len(found) == count:
                    break
                data = json.loads(line)
                turns = tuple(Message(role, content) for role, content in data["messages"])
                found.append(Example(turns, data["form"], tuple(data["target"]), data["group"]))
        return found
