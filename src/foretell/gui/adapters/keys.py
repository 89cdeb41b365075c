"""What browsers, X11 and Android call a key; the usual names are those of `foretell.gui.parse.keys`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foretell.gui.adapters.screen import bad
from foretell.gui.parse.keys import usual


@dataclass(frozen=True)
class Names:
    """One key's names; None where a system has no such key."""

    web: str
    x11: str
    android: int | None


_NAMED: Mapping[str, Names] = {
    "ctrl": Names("Control", "ctrl", 113),
    "alt": Names("Alt", "alt", 57),
    "shift": Names("Shift", "shift", 59),
    "meta": Names("Meta", "super", 117),
    "enter": Names("Enter", "Return", 66),
    "esc": Names("Escape", "Escape", 111),
    "backspace": Names("Backspace", "BackSpace", 67),
    "delete": Names("Delete", "Delete", 112),
    "space": Names("Space", "space", 62),
    "tab": Names("Tab", "Tab", 61),
    "up": Names("ArrowUp", "Up", 19),
    "down": Names("ArrowDown", "Down", 20),
    "left": Names("ArrowLeft", "Left", 21),
    "right": Names("ArrowRight", "Right", 22),
    "pageup": Names("PageUp", "Prior", 92),
    "pagedown": Names("PageDown", "Next", 93),
    "home": Names("Home", "Home", 3),  # on a phone the button, not the key
    "end": Names("End", "End", 123),
    "insert": Names("Insert", "Insert", 124),
    "capslock": Names("CapsLock", "Caps_Lock", 115),
    "plus": Names("+", "plus", 81),
    "minus": Names("-", "minus", 69),
    "printscreen": Names("PrintScreen", "Print", 120),
    "print_screen": Names("PrintScreen", "Print", 120),
    "pause": Names("Pause", "Pause", 121),
    "menu": Names("ContextMenu", "Menu", 82),
    "numlock": Names("NumLock", "Num_Lock", 143),
    "scrolllock": Names("ScrollLock", "Scroll_Lock", 116),
    "back": Names("BrowserBack", "XF86Back", 4),
    "forward": Names("BrowserForward", "XF86Forward", 125),
    "volumeup": Names("AudioVolumeUp", "XF86AudioRaiseVolume", 24),
    "volumedown": Names("AudioVolumeDown", "XF86AudioLowerVolume", 25),
    "power": Names("Power", "XF86PowerOff", 26),
    "volumemute": Names("AudioVolumeMute", "XF86AudioMute", 164),
    "appswitch": Names("AppSwitch", "XF86TaskPane", 187),
    "camera": Names("Camera", "XF86WebCam", 27),
    "clear": Names("Clear", "Clear", 28),
    "kp_add": Names("NumpadAdd", "KP_Add", 157),
    "kp_subtract": Names("NumpadSubtract", "KP_Subtract", 156),
    "kp_multiply": Names("NumpadMultiply", "KP_Multiply", 155),
    "kp_divide": Names("NumpadDivide", "KP_Divide", 154),
    # Playwright's keypad moves the cursor, as without Num Lock: its figures are typed by the keys above the letters.
    "kp_decimal": Names(".", "KP_Decimal", 158),
    **{f"kp_{digit}": Names(str(digit), f"KP_{digit}", 144 + digit) for digit in range(10)},
}
_ANDROID_A, _ANDROID_0, _ANDROID_F1, _ANDROID_LAST_F = 29, 7, 131, 12
_ANDROID_SIGNS = dict(zip("*#,.`=[]\\;'/@", (17, 18, 55, 56, 68, 70, 71, 72, 73, 74, 75, 76, 77), strict=True))


def names(keys: Sequence[str]) -> list[Names]:
    """The names of keys pressed together, or ScreenError for one that is none."""
    return [_of(usual(key)) for key in keys]


def _of(key: str) -> Names:
    if key in _NAMED:
        return _NAMED[key]
    if len(key) == 1 and key.isprintable():
        return Names(key, key if key.isascii() and key.isalnum() else f"U{ord(key):04X}", _android(key))
    if key[:1] == "f" and key[1:].isdecimal() and 1 <= int(key[1:]) <= 24:
        number = int(key[1:])
        return Names(f"F{number}", f"F{number}", _ANDROID_F1 + number - 1 if number <= _ANDROID_LAST_F else None)
    # What is no key may be a text that was to be typed, and that is never quoted.
    raise bad(f"there is no key called what was asked for ({len(key)} characters)")


def _android(key: str) -> int | None:
    if "a" <= key <= "z":
        return _ANDROID_A + ord(key) - ord("a")
    return _ANDROID_0 + int(key) if key in "0123456789" else _ANDROID_SIGNS.get(key)
