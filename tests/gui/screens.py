"""Small screens drawn by hand, and fakes for whoever reads or judges them."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.words import Box, Word

WIDTH, HEIGHT = 480, 360
FIELD: Box = (60, 100, 300, 48)
BOX: Box = (60, 200, 40, 40)
GREY = 118
LETTER_PX, LINE_PX = 13, 24

Colour = int | tuple[int, int, int]


def blank(width: int = WIDTH, height: int = HEIGHT) -> Pixels:
    return np.full((height, width, 3), 255, dtype=np.uint8)


def fill(image: Pixels, box: Box, colour: Colour = 0) -> Pixels:
    """A copy with a box of one colour on it."""
    x, y, width, height = box
    copy = image.copy()
    copy[y : y + height, x : x + width] = colour
    return copy


def frame(image: Pixels, box: Box, thick: int, colour: Colour) -> Pixels:
    """A copy with an outline along the inside of a box."""
    x, y, width, height = box
    for side in (
        (x, y, width, thick),
        (x, y + height - thick, width, thick),
        (x, y, thick, height),
        (x + width - thick, y, thick, height),
    ):
        image = fill(image, side, colour)
    return image


def form() -> Pixels:
    """A text field and a checkbox, both empty."""
    return frame(frame(blank(), FIELD, 3, GREY), BOX, 3, GREY)


def written(image: Pixels, text: str, at: tuple[int, int]) -> Pixels:
    """A copy with a text on it."""
    picture = Image.fromarray(image)
    ImageDraw.Draw(picture).text(at, text, fill=(0, 0, 0), font=ImageFont.load_default(size=LINE_PX))
    return np.asarray(picture)


def dotted(image: Pixels, count: int, at: tuple[int, int]) -> Pixels:
    """A copy with the dots of a hidden text on it."""
    picture = Image.fromarray(image)
    draw = ImageDraw.Draw(picture)
    for number in range(count):
        x, y = at[0] + 16 * number, at[1]
        draw.ellipse((x, y, x + 10, y + 10), fill=(0, 0, 0))
    return np.asarray(picture)


def word(text: str, at: tuple[int, int], confidence: float = 0.99) -> Word:
    return Word(text, (*at, LETTER_PX * len(text), LINE_PX), confidence)


class FakeReader:
    """Knows the words of some screens; of any other there are none. Keeps what it was asked to read."""

    def __init__(self, *known: tuple[Pixels, list[Word]]) -> None:
        self._known = known
        self.boxes: list[Box] = []

    @property
    def largest_read(self) -> int:
        """The pixels of the largest part that was read."""
        return max((width * height for _, _, width, height in self.boxes), default=0)

    def read(self, image: Pixels, box: Box | None = None) -> list[Word]:
        left, top, width, height = box or (0, 0, image.shape[1], image.shape[0])
        self.boxes.append((left, top, width, height))
        words = next((words for screen, words in self._known if np.array_equal(screen, image)), [])
        return [
            one
            for one in words
            if left <= one.box[0] + one.box[2] / 2 < left + width and top <= one.box[1] + one.box[3] / 2 < top + height
        ]


class FakeCritic:
    """Gives its answers one after the other, the last again and again; an error is raised. Keeps what it was shown."""

    name = "fake"

    def __init__(self, *answers: float | Exception, explanation: str = "The point lies beside the field.") -> None:
        self._answers, self._explanation = list(answers), explanation
        self.seen: list[tuple[Proposal, History]] = []

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        self.seen.append((proposal, history))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        marked = fill(observation.image, (0, 0, 9, 9), (230, 0, 0))
        return Judgement(answer, ErrorClass.GROUNDING, self._explanation, {"gap_px": 9.0}, {"marked": marked})
