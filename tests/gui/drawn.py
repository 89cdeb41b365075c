"""Screens drawn by hand, for tests of what is seen on them."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from foretell.gui.observation import Pixels

SUBMIT = (150, 400, 330, 460)
CANCEL = (150, 500, 330, 560)
FIELD = (150, 300, 440, 350)
TICK = (40, 200, 76, 236)
GOAL = 'Enter "karrie" into the text field and press Submit.'


def form(goal: str = GOAL, typed: str = "") -> Pixels:
    """An instruction on yellow, a ticked-off label, a field with a label, and two buttons."""
    picture = Image.new("RGB", (480, 630), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=24)
    draw.rectangle((0, 0, 480, 150), fill="yellow")
    words, lines = goal.split(), [""]
    for word in words:
        lines[-1:] = [f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < 34 else [lines[-1], word]
    for number, line in enumerate(lines):
        draw.text((8, 8 + 32 * number), line, fill="black", font=font)
    draw.rectangle(TICK, fill="white", outline=(80, 80, 80), width=3)
    draw.text((TICK[2] + 20, TICK[1] + 4), "Remember me", fill="black", font=font)
    draw.text((20, FIELD[1] + 10), "Username", fill="black", font=font)
    draw.rectangle(FIELD, fill="white", outline=(80, 80, 80), width=3)
    draw.text((FIELD[0] + 12, FIELD[1] + 10), typed, fill="black", font=font)
    for box, text in ((SUBMIT, "Submit"), (CANCEL, "Cancel")):
        draw.rectangle(box, fill=(239, 239, 239), outline=(80, 80, 80), width=3)
        draw.text((box[0] + 48, box[1] + 14), text, fill="black", font=font)
    draw.ellipse((380, 180, 440, 240), fill="red")
    return np.asarray(picture)


def middle(box: tuple[int, int, int, int]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
