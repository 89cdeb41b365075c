"""Checks of what is done against what is said: verbs, directions, quoted texts and named keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.checks.finding import Case, Finding
from foretell.gui.judgement import ErrorClass
from foretell.gui.parse.keys import KNOWN, MODIFIERS, usual

_CLICKING = CLICKS - {Kind.RIGHT_CLICK, Kind.MIDDLE_CLICK}
_ANY = frozenset(Kind) - {Kind.WAIT, Kind.SCROLL, Kind.TERMINATE, Kind.ANSWER}


def _verb(pattern: str, *kinds: Kind) -> tuple[re.Pattern[str], frozenset[Kind]]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), frozenset(kinds)


_PLAIN_CLICK = _verb(
    r"(?<!right-)(?<!right )(?<!double-)(?<!double )(?:click|tap)(?:s|ing|ping)?(?: (?:on|the|at))?", *_CLICKING
)
_DECISIVE = {
    "a click": _PLAIN_CLICK,
    "a double click": _verb(r"double[- ]?(?:click|tap)\w*", Kind.DOUBLE_CLICK),
    "a right click": _verb(r"right[- ]?click\w*", Kind.RIGHT_CLICK, Kind.LONG_PRESS),
    "typing": _verb(r"type|types|typing|write|writing|input(?! (?:field|box|area))|inputting", Kind.TYPE, Kind.KEY),
    "a scroll": _verb(r"scroll(?:s|ing)?(?! ?bar)|swipe|swiping", Kind.SCROLL, Kind.DRAG, Kind.KEY),
    "a drag": _verb(r"drag(?:s|ging)?", Kind.DRAG),
    "a wait": _verb(
        r"wait(?:s|ing)?(?=\s+(?:for|until|till|a|an|another|some|\d+|while|to|here|and|more|longer|briefly)\b|\s*[.,;:]|\s*$)",
        Kind.WAIT,
    ),
}
_VAGUE = re.compile(
    r"\b(?:press\w*|hit\w*|select\w*|choos\w*|pick\w*|check\w*|tick\w*|untick\w*|open\w*|toggl\w*|focus\w*|go|going|set|"
    r"move|submit\w*|clos\w*|expand\w*|enter\w*|fill\w*|search\w*|clear\w*|delet\w*|use|using|adjust\w*|highlight\w*|"
    r"launch\w*|navigat\w*|visit\w*|copy|paste|sort\w*|switch\w*)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"\b(?:the|a|an|on|this|that)\s+$", re.IGNORECASE)
_THINGS = re.compile(r"\s+(?:button|link|icon|field|box|tab|menu|bar|option|item|checkbox)\b", re.IGNORECASE)
_NOUNS = r"(?!\s+(?:panel|pane|side|sidebar|column|list|menu|box|corner|arrow|button|half|edge|hand|click))"
_WAY = rf"(?P<way>up|upwards?|down|downwards?|(?:left|right)(?:wards?)?|bottom|top|end|beginning){_NOUNS}\b"
_VIEW = r"(?:page|form|screen|window|document|view|list|text)\b"
_OF_ANOTHER = rf"(?!\s+of\s+(?!(?:the|this)\s+{_VIEW}))"  # the top of a section may be further down
_SCROLLED = re.compile(rf"\bscroll(?:s|ing)?\b(?:\s+[\w'\"-]+){{0,5}}?\s+{_WAY}{_OF_ANOTHER}", re.IGNORECASE)
_SWIPED = re.compile(rf"\b(?:swip|flick)\w*\s+(?:to the\s+|the (?:page|screen|list)\s+)?{_WAY}", re.IGNORECASE)
_DRAGGED = re.compile(
    r"\b(?:drag|slid)\w*\s+(?:(?:it|the)\s+)?(?:(?:slider|handle|thumb|knob|item|circle|bar)\s+)?"
    rf"(?:to(?:wards)? the\s+)?{_WAY}(?!\s+(?:of|to)\b)",
    re.IGNORECASE,
)
_CLAUSE_ENDS = r"(?=\s*(?:$|[,.;:)]))"
_ONWARD = (
    re.compile(
        rf"\b(?:further|farther|go|goes|going|move|moving)\s+(?P<way>up|upwards?|down|downwards?){_NOUNS}\b",
        re.IGNORECASE,
    ),
    re.compile(rf"^\W*(?P<way>up|down)\b{_NOUNS}", re.IGNORECASE),
    re.compile(rf"\b(?P<way>below|above)\b(?:{_CLAUSE_ENDS}|(?=\s+here\b))", re.IGNORECASE),
    re.compile(
        r"\b(?:to|at|towards?|reach|near)\s+the\s+(?:very\s+)?(?P<way>top|bottom|end|beginning)\b"
        rf"(?:{_CLAUSE_ENDS}|(?=\s+(?:where\b|of (?:the|this) {_VIEW})))",
        re.IGNORECASE,
    ),
)  # where something is that a view is moved to, in words that do not speak of scrolling
_WAYS = {"u": (0, -1), "t": (0, -1), "d": (0, 1), "l": (-1, 0), "r": (1, 0)}
_QUOTED = re.compile(
    r"(?P<before>\b(?:into|in|on|at|press|click|hit|tap|labelled|labeled|named|called|the)\s+(?:the\s+)?)?"
    r"(?:\"(?P<a>[^\"\n]{1,500})\"|[“„](?P<b>[^”“\n]{1,500})[”“]|`(?P<c>[^`\n]{1,500})`|"
    r"(?<!\w)'(?P<d>[^'\n]{1,500})'(?!\w)|「(?P<e>[^」\n]{1,500})」|«(?P<f>[^»\n]{1,500})»)"
    r"(?P<after>\s+(?:field|box|input|textbox|text|area|bar|button|label|form|column|cell|menu|tab|link|dropdown))?"
)
_MOMENT = re.compile(r"\d{1,4}[:/. -]\d{1,2}(?:[:/. -]\d{1,4})?(?: ?[ap]\.?m\.?)?")  # a date or a time
_TYPES = re.compile(r"\b(?:type|enter|write|fill|input|put)\b", re.IGNORECASE)
_PRESSED = re.compile(
    r"\b(?:press|hit|pressing|hitting|use|using)\s+(?:the\s+)?['\"`]?([a-z_]+(?:\s?[+-]\s?\w+)*)", re.IGNORECASE
)
_KEY = re.compile(
    r"(?P<not>\b(?:not|without|instead of|rather than)\s+)?\b(?:(?:with|by|using|via)\s+(?:the\s+)?|the\s+)"
    r"['\"`]?\b(?:(?P<or>\w+)\s+(?:or|and)\s+)?(?P<key>\w{2,}(?:\s?[+-]\s?\w+)*)['\"`]?\s+keys?\b",
    re.IGNORECASE,
)
_WITH_KEY = re.compile(
    rf"(?<!not )\b(?:with|by)\s+(?:the\s+)?['\"`]?(enter|return|escape|esc|tab)\b['\"`]?{_CLAUSE_ENDS}", re.IGNORECASE
)
_IN_TWO = re.compile(r"\b(page|back)[ -](up|down|space)\b", re.IGNORECASE)  # names of one key
_CONTRARY = 0.75  # strength of what an intent says otherwise
_KEY_NAMES = (KNOWN - {"back", "forward", "home", "end", "menu", "pause", "power", "plus", "minus", "insert"}) | {
    "return"
}


def against_intent(case: Case) -> Iterable[Finding]:
    """The intent's verbs name one kind of action, and the proposal holds none of that kind."""
    intent, action = case.intent, case.first
    if not intent or action is None:
        return
    unquoted = _QUOTED.sub(" ", intent)
    said = {name: kinds for name, (pattern, kinds) in _DECISIVE.items() if pattern.search(unquoted)}
    kinds = {one.kind for one in case.proposal.actions}
    if not said or any(kinds & wanted for wanted in said.values()):
        return
    if kinds & _ANY and any(not _is_name(found, unquoted) for found in _VAGUE.finditer(unquoted)):
        return
    strength = 0.8
    if "typing" in said and kinds & CLICKS:
        strength = 0.3  # the click that gives the focus often goes by the name of what it is for
    elif kinds <= CLICKS:
        strength = 0.6
    what = " or ".join(said)
    sentence = f"The intent speaks of {what}; the proposed action is a {action.kind.value.replace('_', ' ')}."
    yield Finding(ErrorClass.MISALIGNMENT, strength, sentence, "against_intent")


def _is_name(found: re.Match[str], text: str) -> bool:
    """Whether a word that may be a verb names a control: "the Search button", "on Submit"."""
    inside = bool(text[: found.start()].strip())
    return (
        (inside and found[0][0].isupper())
        or bool(_NAMES.search(text, 0, found.start()))
        or bool(_THINGS.match(text, found.end()))
    )


def wrong_way(case: Case) -> Iterable[Finding]:
    """A scroll, swipe or drag that goes against the direction in the intent, or else in the goal."""
    for action in case.proposal.actions:
        if action.kind not in (Kind.SCROLL, Kind.DRAG):
            continue
        for source, text, strength in (("intent", case.intent, 0.9), ("goal", case.goal, 0.5)):
            wanted = _wanted(action, text)
            if wanted is None:
                continue
            moved = _moved(action)
            if moved is not None and _against(action, wanted, moved):
                sentence = f"The {action.kind.value} goes {_told(moved)}, against the direction in the {source}."
                yield Finding(ErrorClass.VECTOR, strength, sentence, "wrong_way")
            break
        else:
            way = _onward(case.intent) if action.kind is Kind.SCROLL else None
            if way is not None and way * action.dy < 0:
                sentence = f"The scroll goes {_told((0, action.dy))}, away from where the intent looks."
                yield Finding(ErrorClass.VECTOR, _CONTRARY, sentence, "wrong_way")


def _onward(intent: str) -> int | None:
    """Whether an intent looks for something up (-1) or down (1); None where it says neither, or both."""
    words = (match["way"].lower() for pattern in _ONWARD for match in pattern.finditer(intent))
    directions = {-1 if word[0] in "ut" or word in ("above", "beginning") else 1 for word in words}
    return directions.pop() if len(directions) == 1 else None


def _against(action: Action, wanted: tuple[int, int], moved: tuple[float, float]) -> bool:
    """Whether a movement goes back, or, for a scroll, across."""
    along = wanted[0] * moved[0] + wanted[1] * moved[1]
    return along < 0 or (action.kind is Kind.SCROLL and along == 0 and moved != (0, 0))


def _wanted(action: Action, text: str) -> tuple[int, int] | None:
    """The direction in which the view (of a scroll) or the finger (of a drag) is said to go."""
    scrolled, swiped = _SCROLLED.search(text), _SWIPED.search(text)
    if action.kind is Kind.SCROLL:
        if scrolled:
            return _way(scrolled)
        return _opposite(_way(swiped)) if swiped else None
    if swiped:
        return _way(swiped)
    if scrolled:
        return _opposite(_way(scrolled))
    dragged = _DRAGGED.search(text)
    return _way(dragged) if dragged else None


def _way(found: re.Match[str]) -> tuple[int, int]:
    word = found["way"].lower()
    if word in ("bottom", "end"):
        return 0, 1
    return (0, -1) if word == "beginning" else _WAYS[word[0]]


def _opposite(way: tuple[int, int]) -> tuple[int, int]:
    return -way[0], -way[1]


def _moved(action: Action) -> tuple[float, float] | None:
    if action.kind is Kind.SCROLL:
        return action.dx, action.dy
    if action.point is None or action.to is None:
        return None
    return action.to.x - action.point.x, action.to.y - action.point.y


def _told(moved: tuple[float, float]) -> str:
    if abs(moved[0]) > abs(moved[1]):
        return "right" if moved[0] > 0 else "left"
    return "down" if moved[1] > 0 else "up"


def typed_text(case: Case) -> Iterable[Finding]:
    """What is typed is not what the intent quotes; or the goal quotes what to type and this is nowhere in it."""
    for action in case.proposal.actions:
        if action.kind is not Kind.TYPE or not action.text or not action.text.strip():
            continue
        text = _folded(action.text)
        quoted = _contents(case.intent)
        if quoted and not any(_says(text, quote) for quote in quoted):
            near = max(SequenceMatcher(None, text, quote).ratio() for quote in quoted) if len(text) < 200 else 0.0
            how = "differs in part from" if near > 0.6 else "is not"
            sentence = f"The text to be typed {how} what the intent quotes."
            yield Finding(ErrorClass.MISALIGNMENT, 0.8 if near <= 0.6 else 0.7, sentence, "typed_text")
        goal = case.goal
        if not quoted and _TYPES.search(goal) and _contents(goal) and text not in _folded(goal):
            sentence = "The goal quotes what is to be typed, and the text to be typed is nowhere in it."
            yield Finding(ErrorClass.CONSTRAINT, 0.45, sentence, "typed_text")


def _contents(text: str) -> list[str]:
    """Quoted texts that are not the names of fields and the like."""
    found = []
    for quote in _QUOTED.finditer(text):
        if not (quote["after"] or (quote["before"] and not quote["before"].lower().startswith("the"))):
            found.append(_folded(next(filter(None, quote.group(*"abcdef")))))
    return found


def _says(text: str, quote: str) -> bool:
    """Whether a typed text is what is quoted, or a part of it; dates and times may be written with other signs."""
    if text == quote or (len(text) > 2 and text in quote):
        return True
    return _MOMENT.fullmatch(quote) is not None and _digits(text) == _digits(quote)


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum()).replace("0", "")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def wrong_key(case: Case) -> Iterable[Finding]:
    """The intent names a key to press, and another one is pressed."""
    intent = case.intent
    pressed = {usual(key) for action in case.proposal.actions if action.kind is Kind.KEY for key in action.keys}
    if not intent or not pressed:
        return
    intent = _IN_TWO.sub(r"\1\2", intent)
    keys = [_keys(found, _KEY_NAMES) for found in _PRESSED.findall(intent) + _WITH_KEY.findall(intent)]
    keys += [
        _keys(one, KNOWN) for found in _KEY.finditer(intent) if not found["not"] for one in found.group("or", "key")
    ]
    wanted = [name for name in keys if name and not name <= MODIFIERS]
    if wanted and not any(name & pressed for name in wanted):
        sentence = f"The intent names {' or '.join('+'.join(sorted(name)) for name in wanted)}; another key is pressed."
        yield Finding(ErrorClass.MISALIGNMENT, _CONTRARY, sentence, "wrong_key")


def _keys(combination: str | None, known: Collection[str]) -> set[str]:
    named = {usual(part) for part in re.split(r"\s?[+-]\s?", combination or "")}
    return named & {usual(one) for one in known}
