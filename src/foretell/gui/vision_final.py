"""Whether a vision model says that what is pressed cannot be taken back, by what it sees under the mark. Pure.

It answers in prose: a label in quotes, else the words around the kind of control. What it says of the things beside it
does not count.
"""

from __future__ import annotations

import re

from foretell.gui.final_labels import is_final_label
from foretell.gui.observation import Proposal
from foretell.gui.risk import presses
from foretell.gui.wording import wording

_MOST_WORDS = 4  # of a label that is not in quotes
_ASIDE = re.compile(
    r"[;(]|\.(?:\s|$)|,?\s+(?:next to|besides?|near|close to|left of|right of|above|below|under|between|"
    r"rather than|not|instead of|and not|but|while|whereas|which|that is|inside|within|on the|in the|at the|of the)\b",
    re.IGNORECASE,
)
_CONTROL = r"(?:button|link|icon|menu item|item|option|entry|tab|control|label|text|按钮|ボタン)"
_AFTER = re.compile(
    rf"\b{_CONTROL}s?\s*[,:]?\s*(?:that says|which says|that reads|says|saying|reading|reads|labell?ed|named|called|"
    r"with the (?:label|text))?\s*[:]?\s*(?P<name>.+)",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE = re.compile(rf"(?P<name>.+?)\s+{_CONTROL}s?\b", re.IGNORECASE | re.DOTALL)
_ARTICLES = re.compile(
    r"^(?:(?:it is|this is|there is|it's|the|a|an|large|small|red|blue|green|grey|white)\s+)+", re.IGNORECASE
)
_FIELDS = re.compile(r"^\W*(?:\w+\W+){0,5}?(?:field|text ?box|textarea|input|checkbox|radio|slider)\b", re.IGNORECASE)


def says_final_under(proposal: Proposal, under_mark: str) -> bool:
    """Whether a proposal presses something whose label is irreversible, by an answer's words for it."""
    return any(map(presses, proposal.actions)) and any(map(is_final_label, labels_in(under_mark)))


def labels_in(under_mark: str) -> tuple[str, ...]:
    """What the thing under the mark may be called; nothing of a field, which holds texts of any kind."""
    if _FIELDS.match(under_mark):
        return ()
    about = _ASIDE.split(under_mark.strip(), maxsplit=1)[0]
    if quotes := wording(about).quoted:
        return quotes[:1]
    found = [match["name"] for match in (_AFTER.search(about), _BEFORE.search(about)) if match] or [about]
    names = (_ARTICLES.sub("", f"{name.strip(' .,:')} ").strip() for name in found)
    named = tuple(name for name in names if name and len(name.split()) <= _MOST_WORDS)
    return named or wording(under_mark).quoted[:1]  # "a button in the dialog, it says 'Delete'"
