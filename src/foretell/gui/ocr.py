"""Reading text off a screen with the recognition weights that the package rapidocr carries. Nothing is downloaded.

Lines are found by `elements.look`, which costs little; the recognition network is run once for each line that it has
not read before, so a screen that changed a little costs a little. Results are remembered by the digest of the pixels.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.extras import EXTRAS, MissingPackage, require
from foretell.gui.elements import look
from foretell.gui.observation import Pixels
from foretell.gui.words import Box, Word

_HEIGHT = 48  # pixels: what the network takes
_STRETCH = 0.75  # lines are narrowed by this much: a third less work, and the same words
_STEP = 16  # widths are rounded up to this many pixels
_LEAST = 48  # pixels: the narrowest strip given to the network
_REMEMBERED_LINES, _REMEMBERED_SCREENS = 4096, 64
_SURE = 0.5  # what is read with less confidence is no text


class OcrError(RuntimeError):
    """The recognition weights are missing or unusable; the message says how to get them."""


def weights() -> Path:
    """The recognition weights inside the installed package.

    Raises MissingPackage if rapidocr is not installed, OcrError if it has no weights.
    """
    spec = importlib.util.find_spec("rapidocr")
    if spec is None or spec.origin is None:
        raise MissingPackage("rapidocr", EXTRAS["gui"])
    models = Path(spec.origin).parent / "models"
    found = sorted(models.glob("*rec*.onnx"))
    if not found:
        raise OcrError(f"no recognition weights (*rec*.onnx) in {models}: reinstall rapidocr from its wheel")
    return found[-1]


class Ocr:
    """A `Reader`. Safe to share between threads; the network is loaded at the first read."""

    def __init__(self, model: Path | None = None, threads: int = 2) -> None:
        self._path, self._threads = model, max(1, threads)
        self._lock = threading.Lock()
        self._session: Any = None
        self._alphabet: list[str] = []
        self._pool: ThreadPoolExecutor | None = None
        self._lines: OrderedDict[bytes, tuple[str, float]] = OrderedDict()
        self._screens: OrderedDict[bytes, list[Word]] = OrderedDict()

    def read(self, image: Pixels, box: Box | None = None) -> list[Word]:
        """The lines of text on a picture, or in a box of it, top to bottom; boxes are those of the whole picture."""
        left, top, width, height = _clipped(box, image)
        if width < 4 or height < 4:
            return []
        part = np.ascontiguousarray(image[top : top + height, left : left + width])
        key = _digest(part)
        with self._lock:
            known = self._screens.get(key)
        if known is None:
            known = self.read_lines(part, look(part).lines)
            with self._lock:
                _remember(self._screens, key, known, _REMEMBERED_SCREENS)
        return [Word(w.text, (w.box[0] + left, w.box[1] + top, w.box[2], w.box[3]), w.confidence) for w in known]

    def forget(self) -> None:
        """Forget what was read so far; the network stays loaded."""
        with self._lock:
            self._lines.clear()
            self._screens.clear()

    def read_lines(self, image: Pixels, lines: tuple[Box, ...]) -> list[Word]:
        """Read what stands in these boxes; boxes in which no text is recognised are left out."""
        strips = [_strip(image, line) for line in lines]
        keys = [_digest(strip) for strip in strips]
        with self._lock:
            self._load()
            known = {key: self._lines[key] for key in keys if key in self._lines}
        new = {key: strip for key, strip in zip(keys, strips, strict=True) if key not in known}
        # the longest first, so that no thread is left alone with it at the end
        order = sorted(new, key=lambda key: -new[key].shape[1])
        run = map if self._pool is None or len(order) < 2 else self._pool.map
        known |= zip(order, run(self._recognise, [new[key] for key in order]), strict=True)
        with self._lock:
            for key in keys:
                _remember(self._lines, key, known[key], _REMEMBERED_LINES)
        found = [(*known[key], line) for key, line in zip(keys, lines, strict=True)]
        return [Word(text.strip(), line, sure) for text, sure, line in found if text.strip() and sure >= _SURE]

    def _load(self) -> None:
        if self._session is not None:
            return
        path = self._path or weights()
        onnxruntime: Any = require("onnxruntime", "gui")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            characters = session.get_modelmeta().custom_metadata_map["character"].splitlines()
        except Exception as error:  # onnxruntime raises its own undeclared kinds for a broken or missing file
            raise OcrError(f"the recognition weights {path} cannot be used: {error}") from error
        self._session, self._alphabet = session, ["", *characters, " "]
        if self._threads > 1:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="ocr")

    def _recognise(self, strip: Pixels) -> tuple[str, float]:
        """The text of one strip and the mean certainty of its characters."""
        values = strip.astype(np.float32).transpose(2, 0, 1)[None] / 127.5 - 1.0
        name = self._session.get_inputs()[0].name
        scores: NDArray[np.float32] = self._session.run(None, {name: values})[0][0]
        best = scores.argmax(axis=1)
        kept = np.flatnonzero((best > 0) & np.concatenate(([True], best[1:] != best[:-1])))
        if not kept.size:
            return "", 0.0
        text = "".join(self._alphabet[i] if i < len(self._alphabet) else "" for i in best[kept])
        return text, float(scores[kept, best[kept]].mean())


def strip_width(line: Box) -> int:
    """How wide the network's input for a line is, in pixels: what reading it costs."""
    _, _, w, h = line
    around = 2 * max(2, round(0.12 * h))
    width = max(8, math.ceil((w + around) * _HEIGHT / (h + around) * _STRETCH))
    return max(_LEAST, -(-width // _STEP) * _STEP)


def _strip(image: Pixels, line: Box) -> Pixels:
    """A line as the network wants it: some ground around it, 48 pixels high, filled up with its own ground."""
    import cv2

    x, y, w, h = line
    around = max(2, round(0.12 * h))
    left, top = max(0, x - around), max(0, y - around)
    part = image[top : y + h + around, left : x + w + around]
    width = max(8, math.ceil(part.shape[1] * _HEIGHT / part.shape[0] * _STRETCH))
    method = cv2.INTER_AREA if part.shape[0] > _HEIGHT else cv2.INTER_LINEAR
    small = cv2.resize(part, (width, _HEIGHT), interpolation=method)
    room = max(_LEAST, -(-width // _STEP) * _STEP) - width
    return np.asarray(cv2.copyMakeBorder(small, 0, 0, 0, room, cv2.BORDER_REPLICATE), dtype=np.uint8)


def _clipped(box: Box | None, image: Pixels) -> Box:
    height, width = image.shape[:2]
    if box is None:
        return 0, 0, width, height
    left, top = max(0, box[0]), max(0, box[1])
    return left, top, max(0, min(width, box[0] + box[2]) - left), max(0, min(height, box[1] + box[3]) - top)


def _digest(pixels: Pixels) -> bytes:
    found = hashlib.blake2b(repr(pixels.shape).encode(), digest_size=16)
    found.update(np.ascontiguousarray(pixels).data)
    return found.digest()


def _remember(memory: OrderedDict[bytes, Any], key: bytes, value: Any, most: int) -> None:
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > most:
        memory.popitem(last=False)
