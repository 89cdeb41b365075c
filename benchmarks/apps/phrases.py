"""What people and agents call things: clauses of goals and intents in words that do not always copy the label."""

from __future__ import annotations

import random
import re

from benchmarks.apps.moment import CHOICES, FIELDS, TOGGLES, Element

LABEL_WORDS = 6
NOUNS = {
    "link": "link", "button": "button", "tab": "tab", "menuitem": "menu item", "option": "option",
    "checkbox": "checkbox", "radio": "option", "switch": "switch", "treeitem": "entry", "combobox": "drop-down list",
    "textbox": "field", "searchbox": "search box", "clickable": "item", "slider": "slider",
    "spinbutton": "number field", "menuitemcheckbox": "menu item", "menuitemradio": "menu item",
}  # fmt: skip
SYNONYMS = {
    "save": "store", "delete": "remove", "remove": "delete", "add": "create", "create": "make", "new": "another",
    "search": "look up", "find": "look for", "edit": "change", "settings": "preferences", "preferences": "settings",
    "help": "assistance", "close": "dismiss", "cancel": "abort", "submit": "send", "send": "submit",
    "next": "following", "previous": "earlier", "home": "start page", "users": "accounts", "user": "account",
    "customers": "clients", "customer": "client", "orders": "purchases", "order": "purchase", "products": "goods",
    "export": "save as a file", "import": "load", "download": "fetch", "refresh": "reload", "reload": "refresh",
    "restart": "start again", "start": "run", "stop": "halt", "view": "show", "show": "display", "hide": "conceal",
    "filter": "narrow down", "admin": "administration", "logs": "journals", "log": "journal", "run": "execute",
    "about": "information", "email": "mail address", "e-mail": "mail address", "description": "details",
    "today": "current day", "advanced": "expert", "change": "modify", "reset": "restore", "clear": "empty",
    "copy": "duplicate", "ticket": "issue", "reports": "summaries", "login": "sign in", "notes": "remarks",
    "remarks": "notes", "remark": "note", "messages": "mails", "message": "mail", "folder": "directory",
    "file": "document", "tables": "data sets", "undo": "take back", "redo": "repeat", "insert": "add",
    "print": "make a paper copy", "bold": "heavy type",
}  # fmt: skip
_SHOWN = re.compile(r"[^\w\s.,:;/&()@%+'#-]+")


def label(element: Element) -> str:
    """The name as a person would write it: no symbols, not too long."""
    words = _SHOWN.sub(" ", element.name.replace("'", "")).split()
    return " ".join(words[:LABEL_WORDS]).strip(" :;,.-*#")


def plain_words(text: str) -> str:
    """For comparing names: lower case, letters and digits alone."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def reworded(text: str) -> str:
    """The label with those words replaced that have a synonym; the same if none has."""
    return " ".join(SYNONYMS.get(word.casefold(), word) for word in text.split())


def where(element: Element) -> str:
    """Words for the surroundings of an element, empty if they have no name."""
    if not element.group_name:
        return ""
    name = " ".join(_SHOWN.sub(" ", element.group_name.replace("'", "")).split()[:LABEL_WORDS])
    return {"row": f"in the row of {name}", "dialog": f"in the dialog {name}"}.get(element.group, f"under {name}")


def is_search(element: Element) -> bool:
    """Whether a field is there to find something."""
    return element.role == "searchbox" or re.search(r"search|find|filter", element.name, re.IGNORECASE) is not None


def clause(element: Element, rng: random.Random, text: str = "", place: bool = False, search: bool = False) -> str:
    """The part of a goal that asks for a step.

    `place` says where, if there are several of that name; `search` that the text is to be looked for, not only entered.
    """
    name = label(element)
    quoted = f"'{name}'" if rng.random() < 0.5 else name
    if text:
        forms = (
            "enter '{text}' as {name}",
            "set {name} to '{text}'",
            "fill in '{text}' for {name}",
            "put '{text}' into {name}",
        )
        if search:
            forms = ("use {name} to search for '{text}'", "look for '{text}' with {name}", "find '{text}' by {name}")
        said = rng.choice(forms).format(text=text, name=quoted)
    elif element.role in TOGGLES:
        said = rng.choice(
            ("untick {}", "turn off {}") if element.checked else ("tick {}", "turn on {}", "check {}")
        ).format(quoted)
    elif element.role in CHOICES:
        said = rng.choice(("choose {}", "select {}", "pick {}")).format(quoted)
    elif element.role in FIELDS:
        said = rng.choice(("put the cursor into {}", "activate {}")).format(quoted)
    elif element.role == "button":
        said = rng.choice(("press {}", "use {}", "click {}")).format(quoted)
    else:
        said = rng.choice(("open {}", "go to {}", "show {}", "select {}")).format(quoted)
    return f"{said} {where(element)}".strip() if place else said


def goal(clauses: list[str], title: str, rng: random.Random) -> str:
    """Clauses as one goal. Those that repeat are said once."""
    some = list(dict.fromkeys(clauses))
    if len(some) == 1:
        said = some[0]
    elif rng.random() < 0.6:
        said = ", ".join(some[:-1]) + rng.choice((", then ", " and then ", ", and finally ")) + some[-1]
    else:
        said = ". Then ".join(some)
    form = rng.choice(("In {title}, {said}.", "{said}.", "Please {said} in {title}.", "{title}: {said}."))
    text = form.format(title=title, said=said)
    return text[0].upper() + text[1:]


_OPENINGS = (
    "I will {}", "Now {}.", "Next, {}", "{} as the next step", "To go on, {}", "The goal asks for it, so I {}",
    "Let me {}", "I can see it on the screen; {}", "{} to continue with the task",
)  # fmt: skip


def spoken(said: str, rng: random.Random) -> str:
    """An intent with a way of speaking around it, at times."""
    text = rng.choice(_OPENINGS).format(said) if rng.random() < 0.4 else said
    return text[0].upper() + text[1:] if rng.random() < 0.5 else text


def intent(element: Element, rng: random.Random, size: tuple[int, int], place: bool = False) -> str:
    """What an agent says that clicks the element. `place` adds where it is, if there are several of that name."""
    name, noun = label(element), NOUNS.get(element.role, "item")
    icon = element.named_by in ("title", "aria") and element.box[2] < 60
    noun = "icon" if icon and element.role in ("button", "link", "clickable") else noun
    verb = rng.choice(("click", "click on", "press", "select", "choose", "hit", "tap"))
    if element.role in FIELDS:
        verb = rng.choice(("click", "click into", "focus", "put the cursor into", "activate"))
    elif element.role in TOGGLES:
        verb = rng.choice(
            ("untick", "switch off", "click") if element.checked else ("tick", "check", "switch on", "click")
        )
    elif element.role in ("link", "tab", "menuitem", "treeitem") and rng.random() < 0.5:
        verb = rng.choice(("open", "go to", "follow", "switch to"))
    forms = [
        f"{verb} the '{name}' {noun}",
        f"{verb} the {noun} '{name}'",
        f"{verb} {name}",
        f"{verb} the {noun} for {name.lower()}",
    ]
    other = reworded(name)
    if other != name:
        forms += [
            f"{verb} the {noun} to {other.lower()}"
            if element.role == "button"
            else f"{verb} the {noun} for {other.lower()}"
        ] * 2
    if not place and rng.random() < 0.12:
        forms = [f"{verb} the {name.lower()} {noun} {_corner(element, size)}"]
    said = rng.choice(forms)
    if where(element) and (place or (element.group == "row" and rng.random() < 0.4)):
        said = f"{said} {where(element)}"
    return spoken(said, rng)


def _corner(element: Element, size: tuple[int, int]) -> str:
    x, y = element.point.x / size[0], element.point.y / size[1]
    across = "left" if x < 0.33 else "right" if x > 0.67 else "in the middle"
    down = "top" if y < 0.33 else "bottom" if y > 0.67 else ""
    if across == "in the middle":
        return f"at the {down}" if down else "in the middle of the screen"
    return f"at the {down} {across}" if down else f"on the {across}"


def typing(element: Element, text: str, rng: random.Random) -> str:
    """What an agent says that types a text into a field."""
    name = label(element)
    forms = (
        f"type '{text}'", f"type '{text}' into {name}", f"enter '{text}' in the {name} field",
        f"fill {name} with '{text}'", f"write {text}", f"set {reworded(name).lower()} to '{text}'",
        f"input the text '{text}'",
    )  # fmt: skip
    return spoken(rng.choice(forms), rng)
