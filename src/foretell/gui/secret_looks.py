"""What is a secret by its looks: tokens, keys, numbers of cards and accounts, and what an address carries.

Every pattern looks at a text in time linear in its length.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

_SPACE = r"[^\S\n]{0,4}"
_KNOWN = re.compile(
    r"(?i:bearer)\s{1,4}[\w.~+/=-]{8,}|(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)[-_][\w-]{12,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}|xox[abeoprs]-[\w-]{8,}|"
    r"AKIA[0-9A-Z]{12,}|AIza[\w-]{20,}|hf_\w{16,}|npm_\w{16,}|pypi-[\w-]{12,}|do[pot]_v1_\w{16,}|ya29\.[\w-]{12,}|"
    r"SG\.[\w-]{8,}\.[\w-]{8,})|"
    r"(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*|"
    r"(?<![\w-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])|"
    r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
)
_HEADER = re.compile(
    rf"(?i:(?:proxy-)?authorization|x-(?:api|auth|access)-(?:key|token)|(?:set-)?cookie){_SPACE}:{_SPACE}"
    rf"(?P<value>(?i:(?:basic|digest|negotiate|token|apikey){_SPACE})?[^\s\"']+)"
)
_PARAMETER = re.compile(r"[?&#;](?P<name>[^\s=&#;?/]{1,80})=(?P<value>[^\s&#;\"'<>]+)")
_ASSIGNED = re.compile(r"(?<![^\s;,\"'`])(?P<name>[A-Za-z][\w.-]{0,60})=(?P<value>[^\s&;]+)")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SURELY = r".*token|.*secret|.*passw(?:or)?d|.*passwort|passphrase|passcode|pwd|otp|credentials?|.*apikey"
_CARRIES = re.compile(_SURELY)
_MAY_CARRY = re.compile(rf"{_SURELY}|pass|key|\w*code|auth|\w*sig|signature|session(?:id)?|sid|jwt|ticket|pin")
_OTHER_CODES = re.compile(  # names whose last part is "code" and that hold none
    r"(?:zip|post|postal|country|lang|language|error|status|area|currency|product|promo|region|airport|color|qr|bar)_?code"
)
_CARD_RUN = re.compile(r"\d(?:[\s.,/_·\-\u2010-\u2015\u200b-\u200d\u2060\ufeff]{0,2}\d)+")
_DIGITS = re.compile(r"\d+")
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[0-8]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12}|35\d{14}|6\d{15,18}|9792\d{12}"
)
_LEAST_DIGITS, _MOST_DIGITS, _LEAST_GROUP = 13, 19, 3
_IBAN = re.compile(r"(?<![A-Za-z0-9])(?P<country>[A-Za-z]{2})[0-9]{2}(?:[\s.\-]?[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18
    FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21
    LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27
    ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
"""
_IBAN_CHARACTERS = {one[:2]: int(one[2:]) for one in _IBAN_LENGTHS.split()}
_RUN = re.compile(r"[A-Za-z0-9_\-+/=.]{20,}")
_SEGMENT = re.compile(r"[A-Za-z0-9]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WORDLIKE = re.compile(r"[A-Z]?[a-z]{3,}|\d{6,}")
_WORDLIKE_CAPITALS = re.compile(r"[A-Z]{4,}|\d{6,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_LOOKED_AT = 256  # characters of a segment
_LEAST_SEGMENT, _LEAST_JUMBLED = 6, 16
_MOST_WORDLIKE, _LEAST_ENTROPY = 0.5, 3.0


@lru_cache(maxsize=32)  # a step looks at the same few texts many times
def secret_looks(text: str) -> tuple[tuple[int, int], ...]:
    """Where a text holds what is a secret by its looks. The places may overlap."""
    return tuple(_places(text))


def _places(text: str) -> Iterator[tuple[int, int]]:
    for match in _KNOWN.finditer(text):
        yield match.span()
    for match in _HEADER.finditer(text):
        yield match.span("value")
    for match in _PARAMETER.finditer(text):
        if carries_secret(match["name"]):
            yield match.span("value")
    for match in _ASSIGNED.finditer(text):
        if carries_secret(match["name"], surely=True):
            yield match.span("value")
    yield from _cards(text)
    yield from _ibans(text)
    yield from _jumbles(text)


@lru_cache(maxsize=256)
def carries_secret(name: str, surely: bool = False) -> bool:
    """Whether a parameter or a variable of that name holds a secret; `surely` leaves out names such as "key"."""
    parts = [part.lower() for part in _PART.findall(name)]
    pattern = _CARRIES if surely else _MAY_CARRY
    if _OTHER_CODES.fullmatch("_".join(parts[-2:])) or _OTHER_CODES.fullmatch("".join(parts[-1:])):
        return False
    return any(pattern.fullmatch(part) for part in parts) or pattern.fullmatch("".join(parts)) is not None


def _cards(text: str) -> Iterator[tuple[int, int]]:
    """Numbers of cards: of an issuer's form, with Luhn's check sum, whole or in groups as people write them."""
    for run in _CARD_RUN.finditer(text):
        groups = [match.span() for match in _DIGITS.finditer(text, *run.span())]
        for first, (begin, end) in enumerate(groups):
            if end - begin < _LEAST_GROUP and first:
                continue  # figures one by one are looked at from the first only
            sizes, digits = [], ""
            for since, until in groups[first : first + _MOST_DIGITS]:
                sizes.append(until - since)
                if sum(sizes) > _MOST_DIGITS or (len(sizes) > 3 and sizes[-2] != sizes[0]):
                    break
                digits += text[since:until]
                if len(digits) >= _LEAST_DIGITS and _is_grouped(sizes) and is_card(digits):
                    yield begin, until


def _is_grouped(sizes: list[int]) -> bool:
    return sizes in ([4, 6, 5], [4, 6, 4]) or (len(set(sizes[:-1])) <= 1 and sizes[-1] <= sizes[0])


def is_card(number: str) -> bool:
    """Whether digits are the number of a card."""
    if _ISSUED.fullmatch(number if number.isascii() else "".join(str(int(c)) for c in number)) is None:
        return False
    digits = [int(c) for c in number][::-1]
    doubled = [digit if i % 2 == 0 else 2 * digit - 9 * (digit > 4) for i, digit in enumerate(digits)]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    """Numbers of bank accounts: as long as their country has them, with the check digits right (modulo 97)."""
    for match in _IBAN.finditer(text):
        begin, wanted = match.start(), _IBAN_CHARACTERS.get(match["country"].upper(), 0)
        plain, at = "", begin
        while at < match.end() and len(plain) < wanted:
            plain += text[at] if text[at].isalnum() else ""
            at += 1
        whole = len(plain) == wanted > 0 and not text[at : at + 1].isalnum()
        if whole and int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1:
            yield begin, at


def _jumbles(text: str) -> Iterator[tuple[int, int]]:
    """Long runs of mixed letters and digits that hold hardly any words, as made by chance; no UUIDs."""
    text = _UUID.sub(lambda match: " " * len(match.group()), text)
    for run in _RUN.finditer(text):
        segments = (match.span() for match in _SEGMENT.finditer(text, *run.span()))
        jumbled = [(begin, end) for begin, end in segments if _is_jumbled(text[begin : min(end, begin + _LOOKED_AT)])]
        many = sum(end - begin for begin, end in jumbled)
        if many >= _LEAST_JUMBLED:
            whole = many >= len(run.group()) / 2 and _BASE64.fullmatch(run.group()) is not None
            yield run.span() if whole else (jumbled[0][0], jumbled[-1][1])


def _is_jumbled(segment: str) -> bool:
    if len(segment) < _LEAST_SEGMENT or segment.isdigit() or (segment.isalpha() and segment in _one_case(segment)):
        return False
    words = _WORDLIKE if any(c.islower() for c in segment) else _WORDLIKE_CAPITALS
    wordlike = sum(match.end() - match.start() for match in words.finditer(segment))
    return wordlike <= _MOST_WORDLIKE * len(segment) and (len(segment) < 12 or _entropy(segment) >= _LEAST_ENTROPY)


def _one_case(text: str) -> tuple[str, str]:
    return text.lower(), text.upper()


def _entropy(text: str) -> float:
    """Bits a character, by how often each occurs."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())
