"""Key names: what X, browsers, pyautogui and people call them, under one usual name each."""

from __future__ import annotations

import re

_SAME = {
    "ctrl": "control controlleft controlright control_l control_r ctrl_l ctrlleft ctrlright controlormeta",
    "alt": "option altleft altright alt_l alt_r",
    "shift": "shiftleft shiftright shift_l shift_r",
    "meta": "cmd command win winleft winright super super_l super_r windows os metaleft metaright",
    "enter": "return kp_enter numpadenter",
    "esc": "escape",
    "backspace": "back_space keycode_del",
    "delete": "del",
    "space": "spacebar",
    "up": "arrowup uparrow",
    "down": "arrowdown downarrow",
    "left": "arrowleft leftarrow",
    "right": "arrowright rightarrow",
    "pageup": "page_up pgup prior",
    "pagedown": "page_down pgdn pgdown next",
    "insert": "ins",
    "capslock": "caps_lock",
    "plus": "add",
    "minus": "subtract",
    "volumeup": "volume_up audiovolumeup xf86audioraisevolume",
    "volumedown": "volume_down audiovolumedown xf86audiolowervolume",
}
_CHARACTERS = {
    "!": "exclam exclamation",
    '"': "quotedbl",
    "#": "numbersign pound",
    "$": "dollar",
    "%": "percent",
    "&": "ampersand",
    "'": "apostrophe quoteright quote",
    "(": "parenleft",
    ")": "parenright",
    "*": "asterisk star",
    ",": "comma",
    ".": "period",
    "/": "slash",
    ":": "colon",
    ";": "semicolon",
    "<": "less",
    "=": "equal equals",
    ">": "greater",
    "?": "question questionmark",
    "@": "at",
    "[": "bracketleft left_bracket",
    "\\": "backslash",
    "]": "bracketright right_bracket",
    "^": "asciicircum",
    "_": "underscore",
    "`": "grave backquote quoteleft",
    "{": "braceleft",
    "|": "bar",
    "}": "braceright",
    "~": "asciitilde",
}  # as X, browsers and Android call them
_KEYPAD = {f"kp_{digit}": f"numpad{digit} num{digit} numpad_{digit}" for digit in range(10)} | {
    "kp_add": "numpadadd numpad_add",
    "kp_subtract": "numpadsubtract numpad_subtract",
    "kp_multiply": "numpadmultiply numpad_multiply multiply",
    "kp_divide": "numpaddivide numpad_divide divide",
    "kp_decimal": "numpaddecimal numpad_dot decimal",
}
_ON_PHONES = {"camera": "", "clear": "", "volumemute": "volume_mute mute", "appswitch": "app_switch recents"}
_USUAL = {
    other: name
    for table in (_SAME, _CHARACTERS, _KEYPAD, _ON_PHONES)
    for name, others in table.items()
    for other in others.split()
}
_SIGNS = {"+": "plus", "-": "minus", " ": "space", "\n": "enter", "\t": "tab"}
_OTHERS = frozenset(
    [
        "tab",
        "home",
        "end",
        "printscreen",
        "print_screen",
        "pause",
        "menu",
        "numlock",
        "scrolllock",
        "back",
        "forward",
        "power",
    ]
)
KNOWN = frozenset(_SAME) | _OTHERS | {f"f{number}" for number in range(1, 25)}  # those that people speak of
_RARE = frozenset(_KEYPAD) | frozenset(_ON_PHONES)
MODIFIERS = frozenset(("ctrl", "alt", "shift", "meta"))


def usual(name: str) -> str:
    """The one usual name of a key, in lower case; a name that is not known stays as it is."""
    if name in _SIGNS:
        return _SIGNS[name]
    low = name.strip().lower()
    bare = low.removeprefix("keycode_")  # as Android writes them in full
    return _USUAL.get(low) or _USUAL.get(bare, bare)


def is_known(name: str) -> bool:
    """Whether a usual name is a key: a named one or a single character."""
    return len(name) == 1 or name in KNOWN or name in _RARE


def combination(written: str) -> tuple[str, ...]:
    """The keys of "ctrl+shift+t", "Ctrl-C" or "+", in order."""
    if written in _SIGNS or len(written) == 1:
        return (usual(written),)
    parts = re.split(r"\+(?=.)", written.strip())
    first = usual(written.split("-")[0])
    if len(parts) == 1 and first in MODIFIERS and "-" in written.strip("-"):
        parts = written.split("-")
    return tuple(usual(part) for part in parts if part)
