"""Oracles of tasks that one or a few clicks on what the goal names solve."""

from __future__ import annotations

from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, click, press
from foretell.gui.bench.pages import Element

ORDINALS = {"1st": 0, "2nd": 1, "3rd": 2} | {f"{n}th": n - 1 for n in range(4, 30)}
WIDGETS = {"text": "text field", "textarea": "text area", "radio": "radio button", "checkbox": "checkbox"}


def was_clicked(element: Element) -> bool:
    """Whether it was clicked in this episode: pages mark that themselves."""
    return "data-tampered" in element.attributes


def click_button(scene: Scene) -> Planned | None:
    alike = scene.all("button", text=scene.quoted[0])
    return press(alike[0], alike) if alike else None


def click_test(scene: Scene) -> Planned | None:
    return press(scene.id("subbtn2") if "TWO" in scene.goal else scene.id("subbtn"))


def click_in_turn(scene: Scene) -> Planned | None:
    one = scene.id("subbtn")
    return press(scene.id("subbtn2") if one is not None and was_clicked(one) else one)


def close_dialog(scene: Scene) -> Planned | None:
    return click(scene.one("button", "ui-dialog-titlebar-close"), "the x that closes the dialog box")


def dialog_button(scene: Scene) -> Planned | None:
    if scene.quoted[0] == "x":
        return close_dialog(scene)
    return press(scene.one("button", text=scene.quoted[0]))


def click_link(scene: Scene) -> Planned | None:
    alike = scene.all("span", "alink", scene.quoted[0])
    return click(alike[0], f"the link '{scene.quoted[0]}'", alike) if alike else None


def click_colour(scene: Scene) -> Planned | None:
    colour = scene.said(r"Click on the (\w+) colored box")
    box = next((e for e in scene.all("div", "color") if e.attributes.get("data-color") == colour), None)
    return click(box, f"the {colour} box")


def click_shades(scene: Scene) -> Planned | None:
    colour = scene.said(r"shades of (\w+)")
    shades = [e for e in scene.all("span") if "data-color" in e.attributes]
    wrong = [e for e in shades if (e.attributes["data-color"] == colour) != ("selected" in e.classes)]
    if wrong:
        unselected = [e for e in wrong if "selected" not in e.classes]
        if unselected:
            return click(unselected[0], f"a shade of {colour}", unselected)
        return click(wrong[0], f"the selected box that is not {colour}, to unselect it", wrong)
    return press(scene.id("submit"))


def click_widget(scene: Scene) -> Planned | None:
    kind = scene.quoted[0]
    alike = [e for e in scene.elements if e.visible and e.attributes.get("data-type") == kind]
    return click(alike[0], f"a {WIDGETS.get(kind, kind)}", alike) if alike else None


def focus_text(scene: Scene) -> Planned | None:
    return click(scene.id("tt"), "the textbox")


def focus_text_of(scene: Scene) -> Planned | None:
    which = scene.said(r"(\d\w\w) input textbox")
    return click(scene.id(f"tt{ORDINALS[which] + 1}"), f"the {which} textbox")


def buy_ticket(scene: Scene) -> Planned | None:
    wanted = scene.said(r"ticket with the ([\w ]+)")
    flights = []
    for button in scene.all("button", "buy-ticket", visible=False):
        flight = next(above for above in scene.ancestors(button) if "flight" in above.classes)
        lasts = next(e for e in scene.all(cls="time-duration", inside=flight, visible=False))
        flights.append((button, int(button.attributes["data-price"]), int(lasts.attributes["data-duration"])))
    sign = 1 if wanted in ("cheapest cost", "shortest duration") else -1
    best = min(flights, key=lambda one: sign * (one[1] if "cost" in wanted else one[2]))
    return click(best[0], f"'{best[0].text}', the ticket with the {wanted}")


def generate_number(scene: Scene) -> Planned | None:
    shown = scene.id("display-number")
    number = int(shown.text) if shown is not None and shown.text.isdigit() else None
    less, greater = scene.said(r"less than (\d+)"), scene.said(r"greater than (\d+)")
    fits = number is not None and (
        (bool(less) and number < int(less))
        or (bool(greater) and number > int(greater))
        or ("odd" in scene.goal and number % 2 == 1)
        or ("even" in scene.goal and number % 2 == 0)
    )
    return press(scene.id("submit") if fits else scene.id("generate"))


def odd_or_even(scene: Scene) -> Planned | None:
    open_rows = []
    for row in scene.all("div", "row"):
        number = int(next(iter(scene.all("div", "display-number", inside=row))).text)
        button = next(iter(scene.all("button", "odd" if number % 2 else "even", inside=row)))
        if "selected" not in button.classes:
            open_rows.append((button, number))
    if not open_rows:
        return press(scene.id("submit"))
    button, number = open_rows[0]
    return click(button, f"'{button.text}' beside {number}", [other for other, _ in open_rows])


ORACLES: dict[str, Oracle] = {
    "buy-ticket": buy_ticket,
    "click-button": click_button,
    "click-button-sequence": click_in_turn,
    "click-color": click_colour,
    "click-dialog": close_dialog,
    "click-dialog-2": dialog_button,
    "click-link": click_link,
    "click-shades": click_shades,
    "click-test": click_test,
    "click-test-2": click_test,
    "click-test-transfer": click_test,
    "click-widget": click_widget,
    "focus-text": focus_text,
    "focus-text-2": focus_text_of,
    "generate-number": generate_number,
    "odd-or-even": odd_or_even,
}
