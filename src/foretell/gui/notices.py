"""Lines on a screen that ask to wait, in the languages that people use."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from foretell.gui.wording import folded, tokens

_NOTICE_WORDS = 8
_DOTS = re.compile(r"(?:\.{2,}|…)\W*$")
_ASKS_TO_WAIT = re.compile(
    r"\bplease (?:wait|stand by)\b|\b(?:one|just a) (?:moment|second|minute)\b(?=\W*$|.*\bplease\b)|"
    r"^\W*wait(?:…|\.{2,})|"
    r"\bworking on it\b|cessing ?your\b|ssing your (?:request|order)\b|\bloading,? please\b|"
    r"\bbitte warten\b|\bwird geladen\b|\bveuillez patienter\b|\bchargement en cours\b|\bespere,? por favor\b|"
    r"\bpor favor,? espere\b|\baguarde\b(?=\W*$|,)|\battendere prego\b|\bподождите\b|\bидет загрузка\b|"
    r"加载中|正在加载|载入中|请稍候|请稍等|請稍候|載入中|読み込み中|お待ちください|로딩 중|불러오는 중|기다려 주세요|"
    r"جار[ىي]? التحميل|يرجى الانتظار|טוען|נא להמתין|אנא המתן"
)
_AT_WORK = (
    "loading", "processing", "saving", "fetching", "searching", "refreshing", "submitting", "uploading", "connecting",
    "cargando", "chargement", "carregando", "caricamento", "загрузка",
)  # fmt: skip
_ENDING = "ing"  # without it an English word is a command: "Search tickets...", "Upload a file..."
_ALONE = frozenset(("loading", "cargando", "chargement", "carregando", "caricamento", "загрузка"))


def is_busy(text: str) -> bool:
    """Whether a line says that one has to wait: a request to wait, or a word such as "Loading" alone or with dots.

    Other words about work ("In Progress", "Processing fee", "Busy") are statuses and names, not notices.
    """
    plain = folded(text)
    words = tokens(plain)
    if not words or len(words) > _NOTICE_WORDS:
        return False
    if _ASKS_TO_WAIT.search(plain) or (len(words) == 1 and words[0] in _ALONE):
        return True
    return _DOTS.search(plain) is not None and any(_is_work(word) for word in words[:2])


def _is_work(word: str) -> bool:
    """Whether a word is, or ends in, one of those for work, as far as it can be read through a cover.

    What lies under a notice is often read together with its first word.
    """
    return len(word) >= 5 and any(
        _resemble(part, one) >= 0.8 and (not one.endswith(_ENDING) or _resemble(part[-3:], _ENDING) > 0.6)
        for one in _AT_WORK
        for part in {word, word[-len(one) :]}
    )


def _resemble(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
