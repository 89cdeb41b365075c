"""Oracles of tasks that ask for text in fields."""

from __future__ import annotations

import re

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.oracles.clicks import ORDINALS
from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, click, fill, key, press, wait
from foretell.gui.bench.pages import Element


def enter_text(scene: Scene) -> Planned | None:
    return fill(scene.id("tt"), scene.quoted[0], "text field") or press(scene.id("subbtn"))


def enter_text_in_case(scene: Scene) -> Planned | None:
    text = scene.quoted[0].upper() if "upper case" in scene.goal else scene.quoted[0].lower()
    return fill(scene.id("tt"), text, "text field") or press(scene.id("subbtn"))


def enter_password(scene: Scene) -> Planned | None:
    return (
        fill(scene.id("password"), scene.quoted[0], "password field")
        or fill(scene.id("verify"), scene.quoted[0], "verify password field")
        or press(scene.id("subbtn"))
    )


def login_user(scene: Scene) -> Planned | None:
    if (cancel := scene.id("popup-cancel")) is not None:
        return press(cancel)
    user, password = scene.quoted[:2]
    return (
        fill(scene.id("username"), user, "username field")
        or fill(scene.id("password"), password, "password field")
        or press(scene.id("subbtn"))
    )


def text_transform(scene: Scene) -> Planned | None:
    shown = scene.id("captcha")
    return fill(scene.id("tt"), shown.text if shown else "", "text field") or press(scene.id("subbtn"))


def _table(scene: Scene) -> dict[str, str]:
    cells = [e.text for e in scene.all("td")]
    return dict(zip(cells[::2], cells[1::2], strict=True))


def read_table(scene: Scene) -> Planned | None:
    name = scene.said(r"value of (.*) into the text field")
    return fill(scene.id("tt"), _table(scene)[name], "text field") or press(scene.id("subbtn"))


def read_table_2(scene: Scene) -> Planned | None:
    table = _table(scene)
    for place in ("1", "2"):
        label = scene.id(f"ll{place}")
        name = label.text.rstrip(":") if label else ""
        planned = fill(scene.id(f"tt{place}"), table[name], f"field '{name}'")
        if planned:
            return planned
    return press(scene.id("subbtn"))


def find_word(scene: Scene) -> Planned | None:
    which = scene.said(r"Find the (\w+) word")
    paragraph = next(iter(scene.all("p")))
    word = re.sub(r"[^a-zA-Z]", "", paragraph.text.split()[ORDINALS[which]])
    return fill(scene.id("answer-input"), word, "text field") or press(scene.id("subbtn"))


def simple_arithmetic(scene: Scene) -> Planned | None:
    shown = scene.id("math-problem")
    match = re.match(r"(\d+) ([-+x]) (\d+)", shown.text if shown else "")
    if match is None:
        return None
    left, right = int(match.group(1)), int(match.group(3))
    answer = {"+": left + right, "-": left - right, "x": left * right}[match.group(2)]
    return fill(scene.id("math-answer"), str(answer), "answer field") or press(scene.id("subbtn"))


def simple_algebra(scene: Scene) -> Planned | None:
    shown = scene.id("math-problem")
    left, sign, right, equals = re.findall(r"x|[-+]|\d+", shown.text if shown else "")
    if left == "x":
        answer = int(equals) - int(right) if sign == "+" else int(equals) + int(right)
    else:
        answer = int(equals) - int(left) if sign == "+" else int(left) - int(equals)
    return fill(scene.id("math-answer"), str(answer), "answer field") or press(scene.id("subbtn"))


def visual_addition(scene: Scene) -> Planned | None:
    blocks = len(scene.all("span", "addition-block", visible=False))
    return fill(scene.id("math-answer"), str(blocks), "answer field") or press(scene.id("subbtn"))


def guess_number(scene: Scene) -> Planned | None:
    field = scene.id("tt")
    lower, higher = scene.id("lower"), scene.id("higher")
    guess = "5"
    if higher is not None and higher.visible:
        guess = str(int(re.findall(r"\d+", higher.text)[0]) + 1)
    elif lower is not None and lower.visible:
        guess = str(int(re.findall(r"\d+", lower.text)[0]) - 1)
    if field is None or field.value == guess:
        return press(scene.id("subbtn"))
    if not field.focused or field.attributes.get("last-event") != "click":
        at = Point(field.box[0] + field.box[2] * 0.2, field.middle.y)  # its middle holds the arrows
        kind = Kind.TRIPLE_CLICK if field.value else Kind.CLICK
        said = "triple click the number field to select what is in it" if field.value else "click the number field"
        return Planned(Action(kind, point=at), said, field.ref)
    return Planned(Action(Kind.TYPE, text=guess), f"type '{guess}' into the number field", field.ref)


def scroll_end(area: Element | None, way: str) -> Planned | None:
    """The next scroll towards the top or the bottom of a text area; None once it is there."""
    if area is None:
        return None
    top, whole, view = (float(area.attributes[name]) for name in ("scroll-top", "scroll-height", "client-height"))
    left = whole - view - top if way == "bottom" else top
    if left < 2:
        return None
    dy = area.box[3] * max(1.0, min(6.0, 3 * left / area.box[3])) * (1 if way == "bottom" else -1)
    said = "down" if way == "bottom" else "up"
    return Planned(Action(Kind.SCROLL, point=area.centre, dy=dy), f"scroll {said} in the text area", area.ref)


def scroll_text(scene: Scene) -> Planned | None:
    area = scene.id("text-area")
    planned = scroll_end(area, "bottom")
    if planned or area is None:
        return planned
    word = area.value.split()[-1].replace(".", "")
    return fill(scene.id("answer-input"), word, "text field") or press(scene.id("subbtn"))


def scroll_text_2(scene: Scene) -> Planned | None:
    way = "bottom" if "bottom" in scene.goal else "top"
    return scroll_end(scene.id("text-area"), way) or press(scene.id("subbtn"))


def sign_agreement(scene: Scene) -> Planned | None:
    if not scene.quoted:
        return press(scene.id("cancel"))
    name, button = scene.quoted
    field = scene.id("name")
    if field is not None and not field.enabled:
        return scroll_end(scene.id("text-area"), "bottom")
    return fill(field, name, "name field") or press(scene.id(button.lower()))


def copy_paste(scene: Scene) -> Planned | None:
    areas = scene.all("textarea", visible=False)
    which = scene.said(r"from the (\d\w\w) text area")
    source, field = areas[ORDINALS[which] if which else 0], scene.id("answer-input")
    if field is None or field.value == source.value:
        return press(scene.id("subbtn"))
    marked = source.attributes.get("selection") == source.value
    name = f"{which} text area" if which else "text area"
    if not marked:
        if source.focused:
            return key(("ctrl", "a"), f"select all text in the {name}", source)
        return click(source, f"the {name}")
    if source.focused:
        return copy_or_leave(source, field, name)
    if not field.focused:
        return click(field, "the text field")
    if field.value and field.attributes.get("selection") != field.value:
        return key(("ctrl", "a"), "select what is in the text field", field)
    return key(("ctrl", "v"), "paste the copied text into the text field", field)


def copy_or_leave(source: Element, field: Element, name: str) -> Planned:
    """Copies where that was not done yet. The clipboard cannot be seen; that the page saw ctrl+c can."""
    if source.attributes.get("last-event") != "copy":
        return key(("ctrl", "c"), f"copy the selected text of the {name}", source)
    return Planned(Action(Kind.CLICK, point=field.centre), "click the text field", field.ref)


def multi_fields(scene: Scene) -> Planned | None:
    genre, name, year = re.findall(r"for (.*) movies directed by (.*) from year (\d+)", scene.goal)[0]
    inputs = scene.all("input", type="text")
    for field in inputs:
        label = next((e.text for e in _row(scene, field) if e.ref != field.ref and e.own), "")
        wanted = genre if "Genre" in label else name if "Director" in label else year
        planned = fill(field, wanted, f"field '{label.rstrip(':')}'")
        if planned:
            return planned
    submit = [e for e in scene.elements if e.visible and e.own in ("Submit", "Search", "Go!")]
    return press(submit[-1]) if submit else None


def _row(scene: Scene, field: Element) -> list[Element]:
    for above in scene.ancestors(field):
        inside = scene.all(inside=above)
        if any(e.own for e in inside):
            return inside
    return []


def use_autocomplete(scene: Scene) -> Planned | None:
    start, end = scene.quoted[0], scene.quoted[1] if len(scene.quoted) > 1 else ""
    field = scene.id("tags")
    if field is None:
        return None
    if field.value.startswith(start) and field.value.endswith(end) and len(field.value) > len(start):
        if field.focused and scene.all("div", "ui-menu-item-wrapper"):
            return key(("enter",), f"press enter to take '{field.value}'", field)
        return press(scene.id("subbtn"))
    shown = [e for e in scene.all("div", "ui-menu-item-wrapper") if e.text.startswith(start) and e.text.endswith(end)]
    if shown:
        return click(shown[0], f"the suggestion '{shown[0].text}'", shown)
    listed = [e.text for e in scene.all("div", "ui-menu-item-wrapper", visible=False) if e.box[2] > 0]
    if field.focused and any(text.startswith(start) and text.endswith(end) for text in listed):
        return key(("down",), "press the down arrow key to go through the suggestions", field)
    if field.value == start:
        if field.focused and field.attributes.get("last-event") == "input":
            return wait(0.4, "the suggestions are shown")
        if not field.focused:
            return click(field, "the field 'Tags'")
    if field.focused and field.value.startswith(start) and field.value:
        return key(("ctrl", "a"), "select what is in the field", field) if not _marked(field) else _retype(field, start)
    return fill(field, start, "field 'Tags'")


def _marked(field: Element) -> bool:
    return field.attributes.get("selection") == field.value


def _retype(field: Element, text: str) -> Planned:
    return Planned(Action(Kind.TYPE, text=text), f"type '{text}' into the field", field.ref)


def terminal(scene: Scene) -> Planned | None:
    target, line = scene.id("terminal-target"), scene.id("active-input")
    if target is None or line is None:
        return None
    ending = scene.said(r"extension (\.\S+)")
    listed = [e.text for e in scene.all("span", "output", visible=False)]
    names = [name for text in listed if "error" not in text and "!" not in text for name in text.split()]
    fits = [name for name in names if (name.endswith(ending) if ending else "." not in name)]
    known = any(e.text == "ls" for e in scene.all("span", "command", visible=False) if e.id != "active-input")
    command = f"rm {fits[-1]}" if known and fits else "ls"
    typed = line.text
    if not target.focused:
        box = scene.id("terminal")
        return click(box, "the terminal")
    if typed == command:
        return key(("enter",), f"press enter to run '{command}'", target)
    if typed and not command.startswith(typed):
        return key(("backspace",), "delete the last character of the command", target)
    return Planned(Action(Kind.TYPE, text=command[len(typed) :].lstrip()), f"type '{command}'", target.ref)


ORACLES: dict[str, Oracle] = {
    "copy-paste": copy_paste,
    "copy-paste-2": copy_paste,
    "enter-password": enter_password,
    "enter-text": enter_text,
    "enter-text-2": enter_text_in_case,
    "enter-text-dynamic": enter_text,
    "find-word": find_word,
    "guess-number": guess_number,
    "login-user": login_user,
    "login-user-popup": login_user,
    "multi-layouts": multi_fields,
    "multi-orderings": multi_fields,
    "read-table": read_table,
    "read-table-2": read_table_2,
    "scroll-text": scroll_text,
    "scroll-text-2": scroll_text_2,
    "sign-agreement": sign_agreement,
    "simple-algebra": simple_algebra,
    "simple-arithmetic": simple_arithmetic,
    "terminal": terminal,
    "text-transform": text_transform,
    "use-autocomplete": use_autocomplete,
    "use-autocomplete-nodelay": use_autocomplete,
    "visual-addition": visual_addition,
}
