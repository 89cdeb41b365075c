"""What a goal or an intent asks for, in words: quoted phrases, names, kinds of control, colours, shapes, directions.

And how alike two pieces of text are when one of them was read off a screen.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import compress

_QUOTED = re.compile(
    r"[\"“”„]([^\"“”„]{1,200})[\"“”]|(?:(?<=\s)|(?<=^)|(?<=\())['‘’]([^'‘’]{1,200})['‘’](?=$|[\s.,;:!?)])|"
    r"「([^」]{1,200})」|『([^』]{1,200})』|«\s?([^»]{1,200}?)\s?»|《([^》]{1,200})》"
)
_READABLE = ("LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "FULLWIDTH", "HALFWIDTH", "GREEK", "DIGIT")
_TOKEN = re.compile(r"[^\W_]+(?:[.@/:'-][^\W_]+)*|[+\-×x=<>#$%&*/]")
_NUMBERS = re.compile(r"\d+")
_CONFUSED = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "5": "s", "8": "b", "’": "'", "‘": "'"})


def word_list(text: str) -> tuple[str, ...]:
    """The words of a constant, written as one text."""
    return tuple(text.split())


_STOP = frozenset(
    word_list(
        "a an the of on in into to and or then with from for it is are be by as at that this there which your you its "
        "please click press select choose pick find enter type put fill check tap hit use using open go set make move "
        "drag scroll button link item items box field text textbox textarea input option one all each every number "
        "value"
    )
)
CONTROLS: dict[str, tuple[str, ...]] = {
    "button": ("button", "buttons"),
    "checkbox": ("checkbox", "checkboxes", "tick", "untick", "check", "uncheck"),
    "radio": ("radio",),
    "field": ("field", "textbox", "textarea", "input", "text box", "text area", "fields", "box for"),
    "link": ("link", "links"),
    "tab": ("tab", "tabs"),
    "icon": ("icon", "star", "trash", "arrow", "x that", "cross", "magnifier", "heart", "image", "handle"),
    "list": ("list", "dropdown", "drop-down", "menu", "combobox", "select box"),
    "slider": ("slider", "thumb"),
    "shape": ("circle", "square", "triangle", "rectangle", "shape", "dot", "point", "line", "polygon", "item"),
}
COLOURS = word_list(
    "red green blue yellow black white grey gray orange purple pink cyan aqua magenta brown violet lime navy teal "
    "olive maroon fuchsia silver"
)
SHAPES = ("circle", "square", "triangle", "rectangle", "dot", "disc")
DIRECTIONS = {"up": (0, -1), "top": (0, -1), "down": (0, 1), "bottom": (0, 1), "left": (-1, 0), "right": (1, 0)}
SUBMITS = frozenset(word_list("submit ok done login search send go next save finish confirm agree apply continue book"))


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Lower case without accents, with single spaces."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return " ".join(plain.split())


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Words and numbers of a text, in lower case."""
    return tuple(_TOKEN.findall(folded(text)))


@lru_cache(maxsize=4096)
def content(text: str) -> tuple[str, ...]:
    """The tokens that can tell one thing on a screen from another."""
    return tuple(token for token in tokens(text) if token not in _STOP)


def is_unspaced(letter: str) -> bool:
    """Whether a letter is of a script without blanks between words: Chinese, Japanese."""
    return "\u3040" <= letter <= "\u30ff" or "\u3400" <= letter <= "\u9fff" or "\uf900" <= letter <= "\ufaff"


@lru_cache(maxsize=2048)
def is_readable(text: str) -> bool:
    """Whether the recognition weights know the script: Latin, Greek, Chinese and Japanese; not Arabic or Hebrew."""
    letters = [c for c in text if c.isalpha()]
    known = sum(unicodedata.name(c, "").split(" ")[0] in _READABLE for c in letters)
    return not letters or 2 * known > len(letters)


@lru_cache(maxsize=8192)
def _letters(text: str) -> str:
    return re.sub(r"[^\w@#$%+=<>-]", "", folded(text)).translate(_CONFUSED)


@lru_cache(maxsize=16384)
def alike(one: str, other: str) -> float:
    """How alike two texts are, 0 to 1; letters that readers confuse count as the same."""
    a, b = _letters(one), _letters(other)
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0 if folded(one) == folded(other) else 0.98
    longest = max(len(a), len(b))
    if longest > 3 * min(len(a), len(b)) + 3:
        return min(len(a), len(b)) / longest if a in b or b in a else 0.0
    return SequenceMatcher(None, a, b, autojunk=False).ratio() * 0.97


def same_numbers(one: str, other: str) -> bool:
    """Whether two texts with as many numbers have the same ones: "report-2025" is not "report-2026"."""
    mine, theirs = (tuple(_NUMBERS.findall(text)) for text in (one, other))
    return len(mine) != len(theirs) or mine == theirs


@lru_cache(maxsize=8192)
def part_of(piece: str, whole: str) -> float:
    """How much of the words of `piece` stand in `whole`, 0 to 1, each weighted by its length."""
    words = content(piece) or tokens(piece)
    if not words:
        return 0.0
    there = {_letters(token) for token in tokens(whole)}
    solid = _letters(whole)
    weights = [len(word) + 1 for word in words]
    found = [w for word, w in zip(words, weights, strict=True) if _has(_letters(word), there, solid)]
    return sum(found) / sum(weights)


def _has(word: str, there: set[str], solid: str) -> bool:
    # Chinese and Japanese do not part their words: one may stand anywhere in a run of them.
    if word in there or ((len(word) > 3 or any(is_unspaced(c) for c in word)) and word in solid):
        return True
    return len(word) > 4 and any(
        abs(len(other) - len(word)) <= 1 and SequenceMatcher(None, word, other, autojunk=False).ratio() >= 0.85
        for other in there
    )


def _phrase_fit(phrase: str, text: str) -> float:
    """As `alike`; a line that is a good part of a phrase of several words counts, since long names are broken."""
    own = alike(phrase, text)
    broken = own < 0.88 and len(tokens(phrase)) > 1 and len(text) >= 4 and part_of(text, phrase) > 0.99
    return 0.88 if broken and 2.5 * len(text) > len(phrase) else own


@dataclass(frozen=True)
class Wording:
    """A goal or an intent, taken apart. `context` are the words that stand before each quoted phrase."""

    text: str
    quoted: tuple[str, ...]
    context: tuple[str, ...]
    controls: frozenset[str]
    colours: tuple[str, ...]
    shapes: tuple[str, ...]
    directions: frozenset[tuple[int, int]]

    def readable(self) -> Wording:
        """Without quoted phrases of signs ('>', '+') or in other scripts: they cannot be read on a screen."""
        kept = [any(c.isalnum() for c in phrase) and is_readable(phrase) for phrase in self.quoted]
        if all(kept):
            return self
        quoted, context = (tuple(compress(whole, kept)) for whole in (self.quoted, self.context))
        return replace(self, quoted=quoted, context=context)

    def fit(self, text: str) -> float:
        """How well what stands on the screen is what these words name, 0 to 1."""
        if not text:
            return 0.0
        exact = max((_phrase_fit(phrase, text) for phrase in self.quoted), default=0.0)
        if exact > 0.85:
            return exact
        named = part_of(text, self.text)
        return max(0.9 * exact if exact > 0.6 else 0.0, 0.85 * named if named > 0.5 else 0.4 * named)

    def holds(self, text: str) -> float:
        """How much of the best quoted phrase stands in a longer text, 0 to 1."""
        return max((part_of(phrase, text) for phrase in self.quoted), default=0.0) if text else 0.0

    def fit_quoted(self, text: str) -> float:
        """How well it is one of the quoted phrases, 0 to 1."""
        return max((_phrase_fit(phrase, text) for phrase in self.quoted), default=0.0) if text else 0.0


@lru_cache(maxsize=512)
def wording(text: str) -> Wording:
    """Take a goal or an intent apart."""
    quoted, context, last = [], [], 0
    for match in _QUOTED.finditer(text):
        quoted.append(next(filter(None, match.groups())).strip())
        context.append(" ".join(tokens(text[last : match.start()])[-4:]))
        last = match.end()
    plain = f" {' '.join(tokens(_QUOTED.sub(' ', text)))} "
    controls = {name for name, words in CONTROLS.items() if any(f" {word} " in plain for word in words)}
    named = tokens(text)
    return Wording(
        text,
        tuple(quoted),
        tuple(context),
        frozenset(controls),
        tuple(colour for colour in COLOURS if colour in named),
        tuple(shape for shape in SHAPES if shape in named or f"{shape}s" in named),
        frozenset(way for word, way in DIRECTIONS.items() if word in named),
    )


def colour_name(rgb: tuple[int, int, int]) -> str:
    """The plain name of a colour."""
    red, green, blue = (c / 255 for c in rgb)
    high, low = max(red, green, blue), min(red, green, blue)
    if high - low < 0.12:
        return "white" if high > 0.93 else "black" if high < 0.2 else "grey"
    if high == red:
        hue = 60 * ((green - blue) / (high - low) % 6)
    elif high == green:
        hue = 60 * ((blue - red) / (high - low) + 2)
    else:
        hue = 60 * ((red - green) / (high - low) + 4)
    if high < 0.25:
        return "black"
    for limit, name in ((18, "red"), (45, "orange"), (70, "yellow"), (165, "green"), (198, "cyan"), (260, "blue")):
        if hue < limit:
            return "brown" if name == "orange" and high < 0.6 else name
    return "purple" if hue < 290 else "magenta" if hue < 330 and high > 0.75 else "purple" if hue < 330 else "red"


_SAME_COLOUR = {
    "gray": "grey", "silver": "grey", "aqua": "cyan", "teal": "cyan", "lime": "green", "olive": "yellow",
    "navy": "blue", "maroon": "red", "fuchsia": "magenta", "violet": "purple", "pink": "magenta",
}  # fmt: skip


def same_colour(word: str, name: str) -> bool:
    """Whether a colour word may mean that plain colour."""
    near = {("magenta", "purple"), ("magenta", "red"), ("orange", "brown"), ("orange", "red"), ("cyan", "blue")}
    plain = _SAME_COLOUR.get(word, word)
    return plain == name or (plain, name) in near


def is_submit(text: str) -> bool:
    """Whether a button of that text ends a form."""
    words = tokens(text)
    return 0 < len(words) <= 3 and any(word in SUBMITS for word in words)
