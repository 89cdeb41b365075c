"""Oracles of tasks that ask to tick, select and set: checkboxes, radio buttons, lists, sliders, spinners, orders."""

from __future__ import annotations

import re
from collections.abc import Callable

from foretell.gui.actions import Action, Kind
from foretell.gui.bench.oracles.clicks import ORDINALS
from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, click, fill, key, press, reach
from foretell.gui.bench.oracles.words import DIGITS, SYNONYMS
from foretell.gui.bench.pages import Element


def tick(scene: Scene, wanted: Callable[[str], bool]) -> Planned | None:
    """The next checkbox whose state is wrong; None once all are as wanted. `wanted` is asked with the label."""
    to_tick, to_clear = [], []
    for box in scene.all("input", type="checkbox"):
        label = next(above.text for above in scene.ancestors(box) if above.tag == "label")
        if wanted(label) and not box.value:
            to_tick.append((box, label))
        elif not wanted(label) and box.value:
            to_clear.append((box, label))
    if to_tick:
        box, label = to_tick[0]
        return click(box, f"the checkbox '{label}'", [other for other, _ in to_tick])
    if to_clear:
        box, label = to_clear[0]
        return click(box, f"the checkbox '{label}' to clear it", [other for other, _ in to_clear])
    return None


def click_checkboxes(scene: Scene) -> Planned | None:
    names = set(scene.said(r"Select (.*) and click Submit").split(", "))
    return tick(scene, lambda label: label in names) or press(scene.id("subbtn"))


def click_checkboxes_soft(scene: Scene) -> Planned | None:
    names = scene.said(r"similar to (.*) and click Submit").split(", ")
    return tick(
        scene, lambda label: any(label in alike and name in alike for name in names for alike in SYNONYMS)
    ) or press(scene.id("subbtn"))


def click_option(scene: Scene) -> Planned | None:
    name = scene.said(r"Select (.*) and click Submit")
    for box in scene.all("input", type="radio"):
        label = next(above.text for above in scene.ancestors(box) if above.tag == "label")
        if label == name and not box.value:
            return click(box, f"the option '{name}'")
    return press(scene.id("subbtn"))


def number_checkboxes(scene: Scene) -> Planned | None:
    pattern = DIGITS[int(scene.quoted[0])]
    boxes = scene.all("input", type="checkbox")
    wrong = [box for box, wanted in zip(boxes, pattern, strict=True) if bool(box.value) != (wanted == "1")]
    if not wrong:
        return press(scene.id("subbtn"))
    place = boxes.index(wrong[0])
    return click(wrong[0], f"checkbox {place % 4 + 1} in row {place // 4 + 1}", wrong)


def choose_list(scene: Scene) -> Planned | None:
    name, box = scene.said(r"Select (.*) from the list"), scene.one("select")
    if box is None or box.value == name:
        return press(scene.one("button"))
    if not box.focused:
        return click(box, "the drop-down list")
    return Planned(Action(Kind.TYPE, text=f"{name}\n"), f"type '{name}' to choose it in the list", box.ref)


def click_scroll_list(scene: Scene) -> Planned | None:
    names = scene.said(r"Select (.*) from the scroll list").split(", ")
    options = scene.all("option", visible=False)
    chosen = [e for e in options if e.value]
    stray = [e for e in chosen if e.text not in names]
    missing = [e for e in options if e.text in names and not e.value]
    if not missing and not stray:
        return press(scene.one("button"))
    target = missing[0] if missing else next(e for e in options if e.text in names)
    planned = reach(scene, target, f"'{target.text}' in the list", missing)
    if planned is None or planned.action.kind is not Kind.CLICK or stray or not chosen:
        return planned
    held = Action(Kind.CLICK, point=planned.action.point, keys=("ctrl",))
    return Planned(held, f"click '{target.text}' in the list while holding ctrl", target.ref)


def slide(scene: Scene, slider: Element | None, value: Element | None, wanted: int) -> Planned | None:
    """The next step to bring a slider to a value: by the mouse to focus its handle, then by keys."""
    if slider is None or value is None or int(value.text) == wanted:
        return None
    handle = next(iter(scene.all("span", "ui-slider-handle", inside=slider, visible=False)))
    if not handle.focused:
        return click(handle, f"the slider's handle at {value.text}")
    way = "right" if int(value.text) < wanted else "left"
    far = abs(int(value.text) - wanted)
    if far > 30:
        jump = "pageup" if way == "right" else "pagedown"
        return key((jump,), f"press {jump} to move the slider towards {wanted}", handle)
    return key((way,), f"press the {way} arrow key to move the slider towards {wanted}", handle)


def use_slider(scene: Scene) -> Planned | None:
    wanted = int(scene.said(r"Select (-?\d+) with"))
    return slide(scene, scene.id("slider"), scene.id("val"), wanted) or press(scene.id("subbtn"))


def use_sliders(scene: Scene) -> Planned | None:
    for place, wanted in enumerate(re.findall(r"\d+", scene.said(r"combination (\[.*\])")), start=1):
        planned = slide(scene, scene.id(f"slider-{place}"), scene.id(f"val-{place}"), int(wanted))
        if planned:
            return planned
    return press(scene.id("subbtn"))


def use_spinner(scene: Scene) -> Planned | None:
    wanted, field = int(scene.said(r"Select (-?\d+) with")), scene.id("spinner")
    at = int(field.value or 0) if field else 0
    if at == wanted:
        return press(scene.id("subbtn"))
    way = "up" if at < wanted else "down"
    return click(scene.one("a", f"ui-spinner-{way}"), f"the {way} arrow of the spinner")


def form_sequence(scene: Scene) -> Planned | None:
    planned = slide(scene, scene.id("slider"), scene.id("val"), int(scene.said(r"Select (-?\d+) with")))
    if planned:
        return planned
    which = scene.said(r"click the (\d\w\w) checkbox")
    boxes = scene.all("input", type="checkbox")
    for place, box in enumerate(boxes):
        if bool(box.value) != (place == ORDINALS[which]):
            return click(box, f"the {which} checkbox" if not box.value else "the checkbox that must not be ticked")
    return press(scene.id("subbtn"))


def form_sequence_2(scene: Scene) -> Planned | None:
    radio, field = re.findall(r"(\d\w\w) (?:radio|textbox)", scene.goal)
    button = scene.all("input", type="radio")[ORDINALS[radio]]
    if not button.value:
        return click(button, f"the {radio} radio button")
    fields = scene.all("input", type="text")
    for place, one in enumerate(fields):
        name = f"{list(ORDINALS)[place]} textbox"
        planned = fill(one, scene.quoted[0] if place == ORDINALS[field] else "", name)
        if planned:
            return planned
    return press(scene.id("subbtn"))


def form_sequence_3(scene: Scene) -> Planned | None:
    name, chosen = scene.said(r"Choose (.*) from the dropdown"), scene.id("dropdown")
    if chosen is not None and chosen.value == name:
        return press(scene.one("button", text=scene.quoted[0]))
    item = next((e for e in scene.all("li", visible=False) if e.text == name), None)
    wrapper = scene.one("div", "selectric-wrapper")
    if wrapper is not None and "selectric-open" in wrapper.classes and item is not None:
        return reach(scene, item, f"'{name}' in the drop-down list")
    return click(scene.one("div", "selectric"), "the drop-down list")


def order_food(scene: Scene) -> Planned | None:
    named = scene.said(r"Order one of each item: (.*)")
    kind, count = scene.said(r"items that are ([\w-]+)"), int(scene.said(r"Order (\d+) items") or 0)
    wanted: list[tuple[Element, Element, str]] = []
    items = [e for e in scene.elements if "food-item" in e.classes]
    bought = {e.ref: int(e.attributes["data-quantity"]) for e in items}
    fitting = 0
    for item in items:
        name = item.attributes["data-item"].strip()
        parts = scene.all("span", inside=item, visible=False)
        more, less = (next(e for e in parts if sign in e.classes) for sign in ("add", "remove"))
        kinds = {e.attributes.get("alt") for e in scene.all("img", inside=item, visible=False)}
        fits = name in re.split(r", ", named) if named else kind in kinds
        most = (1 if named else count) if fits else 0
        if bought[item.ref] > most:
            return reach(scene, less, f"the minus of '{name}'")
        fitting += bought[item.ref] if fits else 0
        if fits and (not named or not bought[item.ref]):
            wanted.append((item, more, name))
    if wanted and (named or fitting < count):
        return reach(scene, wanted[0][1], f"the plus of '{wanted[0][2]}'", [more for _, more, _ in wanted])
    if not named and fitting > count:
        extra = next(e for e in items if bought[e.ref])
        return reach(scene, next(e for e in scene.all("span", "remove", inside=extra, visible=False)), "a minus")
    return reach(scene, next(iter(scene.all("button", visible=False)), None), "the button 'Order!'")


ORACLES: dict[str, Oracle] = {
    "choose-list": choose_list,
    "click-checkboxes": click_checkboxes,
    "click-checkboxes-large": click_checkboxes,
    "click-checkboxes-soft": click_checkboxes_soft,
    "click-checkboxes-transfer": click_checkboxes,
    "click-option": click_option,
    "click-scroll-list": click_scroll_list,
    "form-sequence": form_sequence,
    "form-sequence-2": form_sequence_2,
    "form-sequence-3": form_sequence_3,
    "number-checkboxes": number_checkboxes,
    "order-food": order_food,
    "use-slider": use_slider,
    "use-slider-2": use_sliders,
    "use-spinner": use_spinner,
}
