"""What an intent says is acted on: the name of the thing, and the row, column or container in which it stands.

"click 'Delete' in the row of Bob" names Delete, in the context of Bob. Quoted names count wherever they follow a verb
or a kind of control; names without quotes are taken from the words after the verb, and may be longer than they look
("Add to cart"), so that several readings are given, the longest first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from foretell.gui.wording import COLOURS, SHAPES, content, folded, tokens, word_list, wording

_VERBS = r"click|press|tap|hit|select|choose|pick|open|tick|check|push|double[- ]click|left[- ]click"
_NAMED = re.compile(rf"\b(?:{_VERBS})(?:s|es|ing)?\s+(?:on\s+|the\s+|a\s+|an\s+)*(?P<rest>[^\n.;!?]+)", re.IGNORECASE)
_CONTROLS = re.compile(
    r"\s+(?:button|link|tab|item|option|entry|menu|field|box|checkbox|icon|row|cell|column|radio|switch|toggle|heading)s?"
    r"\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\s+(?:in|of|for|to|from|under|below|above|beside|next|on|at|with|and|then|so|that|which|by|near|inside|within|as|"
    r"again|after|before|until|because|since)\b|,|$",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"\b(?:in|of|for|from|under|below|above|beside|next to|near|inside|within|on)\s+(?:the\s+)?"
    r"(?:(?:row|line|column|section|dialog|card|entry|table|list|group|panel|menu|box)s?\s+)?"
    r"(?:(?:of|for|with|named|called|labelled|labeled|titled|that says)\s+)?(?:the\s+)?(?P<context>[^\n.;,!?]+)",
    re.IGNORECASE,
)
_DIRECT = frozenset(
    word_list(
        "click on press tap select choose left-click button link item option tab heading checkbox field entry open "
        "pick hit push the tick check icon menu row radio switch toggle named called labelled labeled"
    )
)
_DIRECT_FOREIGN = re.compile(
    r"(?:点击|单击|按下?|选择|點擊|クリック|押す|タップ|클릭|انقر(?: على)?|اضغط(?: على)?|לחץ(?: על)?|klicke?(?: auf)?|"
    r"clique[rz]?(?: sur)?|haz clic en|clicar em|нажать|нажмите)\s*$",
    re.IGNORECASE,
)
_AFTER_FOREIGN = re.compile(r"^\s*(?:按钮|をクリック|ボタン|を押|をタップ|버튼|を選択)")
_NAMELESS = frozenset(
    word_list(
        "it this that here them one first second third last arrow icon cross x plus minus star dot dots handle thumb "
        "point centre center middle corner position place day date time number picture image area space screen page "
        "window dialog popup menu list dropdown drop-down search result results entry item items left right top bottom "
        "up down previous following current same other another next"
    )
) | {*COLOURS, *SHAPES}
_MOST_WORDS = 6
_MOST_CHARACTERS = 1000  # of an intent that are looked at


@dataclass(frozen=True)
class Target:
    """`names` are readings of what is acted on, the likeliest first; `exact` where the agent quoted it.

    `context` are phrases for where it stands: a row, a column, a container.
    """

    names: tuple[str, ...]
    context: tuple[str, ...]
    exact: bool


def target_of(intent: str) -> Target:
    """What an intent acts on; no names where it says none ("click the arrow", "close the dialog")."""
    return _target_of(intent[:_MOST_CHARACTERS])


@lru_cache(maxsize=512)
def _target_of(intent: str) -> Target:
    words = wording(intent)
    pairs = zip(words.quoted, words.context, strict=True)
    direct = [phrase for phrase, before in pairs if _is_direct(before, phrase, intent)]
    context = [phrase for phrase in words.quoted if phrase not in direct]
    context += [match["context"].strip() for match in _CONTEXT.finditer(intent) if content(match["context"])]
    if direct:
        names = tuple(name for name in direct[:1] if any(c.isalnum() for c in name))
        return Target(names, _unlike(context, names), True)
    found = _NAMED.search(intent) if not words.quoted else None
    if found is None:
        return Target((), tuple(context), False)
    rest = _CONTROLS.split(found["rest"], maxsplit=1)[0]
    readings = [rest[: match.start()].strip() for match in _ENDS.finditer(rest)]
    if _nameless(readings[0]):
        return Target((), tuple(context), False)
    names = tuple(dict.fromkeys(one for one in readings if len(tokens(one)) <= _MOST_WORDS))
    return Target(names[::-1], _unlike(context, names[:1]), False)


def _is_direct(before: str, phrase: str, intent: str) -> bool:
    last = before.split()[-1:]
    at = intent.find(phrase)
    foreign = _DIRECT_FOREIGN.search(intent[: max(0, at - 1)]) or _AFTER_FOREIGN.match(intent[at + len(phrase) + 1 :])
    return bool(foreign) or (bool(last) and last[0] in _DIRECT)


def _nameless(text: str) -> bool:
    """Whether a text names no label that could be read: an arrow, a colour, "the first one"."""
    return all(token in _NAMELESS or token.isdigit() for token in tokens(text))


def _unlike(context: list[str], names: tuple[str, ...]) -> tuple[str, ...]:
    known = {folded(name) for name in names}
    return tuple(dict.fromkeys(one for one in context if folded(one) not in known))
