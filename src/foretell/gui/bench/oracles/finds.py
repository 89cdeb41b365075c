"""Oracles of tasks whose target has to be brought to light first: tabs, sections, menus, trees, pages of results."""

from __future__ import annotations

from foretell.gui.actions import Action, Kind
from foretell.gui.bench.oracles.clicks import ORDINALS
from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, click, fill, press, reach, wait
from foretell.gui.bench.pages import Element

ICONS = {
    "disk": "Save",
    "seek-start": "Prev",
    "stop": "Stop",
    "play": "Play",
    "seek-end": "Next",
    "zoomin": "Zoom In",
    "zoomout": "Zoom Out",
}
RESULTS_ON_A_PAGE = 3
MENU_OPENS_S = 0.4


def click_tab(scene: Scene) -> Planned | None:
    name = scene.said(r"Click on (Tab #\d)")
    return click(scene.one("a", text=name), f"the tab '{name}'")


def _link(scene: Scene) -> tuple[Element | None, list[Element]]:
    """The link that the goal names, one in sight if there is one, and all of that name in sight."""
    alike = scene.all("span", "alink", scene.quoted[0], visible=False)
    seen = [e for e in alike if e.visible]
    return next(iter(seen or alike), None), seen


def link_in_tab(scene: Scene) -> Planned | None:
    link, seen = _link(scene)
    tabs = [e for e in scene.all("a") if e.attributes.get("href", "").startswith("#tabs-")]
    if link is None:
        return click(tabs[1], f"the tab '{tabs[1].text}'")
    if link.visible:
        return click(link, f"the link '{link.text}'", seen)
    panel = next(above for above in scene.ancestors(link) if above.id.startswith("tabs-"))
    tab = next(e for e in tabs if e.attributes["href"] == f"#{panel.id}")
    if panel.visible:
        return reach(scene, link, f"the link '{link.text}'", seen)
    unseen = [e for e in tabs if not _active(scene, e)] if scene.task != "click-tab-2-medium" else []
    return click(tab, f"the tab '{tab.text}'", unseen)


def _active(scene: Scene, tab: Element) -> bool:
    return any("ui-tabs-active" in above.classes for above in scene.ancestors(tab))


def open_section(scene: Scene) -> Planned | None:
    header = next(iter(scene.all("h3")))
    if header.attributes.get("aria-expanded") != "true":
        return click(header, f"'{header.text}' to expand it")
    return press(scene.id("subbtn"))


def link_in_section(scene: Scene) -> Planned | None:
    link, seen = _link(scene)
    if link is None:
        return None
    if link.visible:
        return click(link, f"the link '{link.text}'", seen)
    content = next(above for above in scene.ancestors(link) if "ui-accordion-content" in above.classes)
    headers = scene.all("h3", visible=False)
    header = next(e for e in headers if e.id == content.attributes.get("aria-labelledby"))
    if header.attributes.get("aria-expanded") == "true":
        return reach(scene, link, f"the link '{link.text}'")
    closed = [e for e in headers if e.visible and e.attributes.get("aria-expanded") != "true"]
    if not header.visible:
        shown = next((e for e in headers if e.attributes.get("aria-expanded") == "true"), None)
        return click(shown, f"'{shown.text}' to collapse it") if shown else None
    return click(header, f"'{header.text}' to expand it", closed)


def open_menu(item: Element, name: str) -> Planned:
    """Rests the mouse on a menu item until what is below it is shown: a click would choose the item itself."""
    if "ui-state-active" in item.classes:
        return wait(MENU_OPENS_S, f"the items below '{name}' are shown")
    return Planned(Action(Kind.MOVE, point=item.centre), f"hover over the menu item '{name}'", item.ref)


def click_menu(scene: Scene) -> Planned | None:
    path = scene.said(r"Select (.*)").split(">")
    items = {e.text: e for e in scene.all("div", "ui-menu-item-wrapper")}
    name = next((name for name in reversed(path) if name in items), None)
    if name is None:
        return None
    return click(items[name], f"the menu item '{name}'") if name == path[-1] else open_menu(items[name], name)


def click_menu_2(scene: Scene) -> Planned | None:
    icon = scene.said(r"with the ([\w-]+) icon")
    name = ICONS[icon] if icon else scene.quoted[1]
    items = scene.all("div", "ui-menu-item-wrapper")
    item = next((e for e in items if e.text == name), None)
    if item is not None:
        return click(item, f"the menu item '{name}'" + (f" with the {icon} icon" if icon else ""))
    playback = next((e for e in items if e.text == "Playback"), None)
    return open_menu(playback, "Playback") if playback else press(scene.id("open-menu"))


def navigate_tree(scene: Scene) -> Planned | None:
    name = scene.quoted[0]
    alike = [e for e in scene.all("span", visible=False) if e.text == name]
    seen = [e for e in alike if e.visible]
    if seen:
        return click(seen[0], f"'{name}' in the tree", seen)
    folders = [above for above in scene.ancestors(alike[0]) if above.tag == "li" and "expandable" in above.classes]
    folder = next((child for child in scene.children(folders[-1]) if child.tag == "span"), None) if folders else None
    closed = [
        child
        for above in scene.all("li", "expandable")
        for child in scene.children(above)
        if child.tag == "span" and child.visible
    ]
    return click(folder, f"the folder '{folder.text}' to open it", closed) if folder else None


def phone_book(scene: Scene) -> Planned | None:
    name, what = scene.said(r"Find (.*) in the contact book"), scene.said(r"click on their (\w+)")
    shown = scene.one("h2", "name")
    if shown is not None and shown.text == name:
        return click(scene.one("a", what), f"the {what} of {name}")
    ahead = next((e for e in scene.all("a", "page-link") if e.text == ">"), None)
    if ahead is not None and not any("disabled" in above.classes for above in scene.ancestors(ahead)):
        return click(ahead, "'>' to see the next contact")
    return click(next((e for e in scene.all("a", "page-link") if e.text == "<"), None), "'<' to go back")


def search_engine(scene: Scene) -> Planned | None:
    place = ORDINALS[scene.said(r"click the (\w+) search result")]
    results = scene.all("a", "search-title", visible=False)
    planned = fill(scene.id("search-text"), scene.quoted[0], "search field")
    if planned:
        return planned
    if not results or any(e.attributes.get("data-result") == "-1" for e in results):
        return press(scene.id("search"))
    result = next((e for e in results if e.attributes.get("data-result") == str(place)), None)
    if result is not None:
        return reach(scene, result, f"search result {place + 1}, '{result.text}'")
    page = str(place // RESULTS_ON_A_PAGE + 1)
    return click(next((e for e in scene.all("a", "page-link") if e.text == page), None), f"page {page} of the results")


ORACLES: dict[str, Oracle] = {
    "click-collapsible": open_section,
    "click-collapsible-2": link_in_section,
    "click-collapsible-2-nodelay": link_in_section,
    "click-collapsible-nodelay": open_section,
    "click-menu": click_menu,
    "click-menu-2": click_menu_2,
    "click-tab": click_tab,
    "click-tab-2": link_in_tab,
    "click-tab-2-easy": link_in_tab,
    "click-tab-2-hard": link_in_tab,
    "click-tab-2-medium": link_in_tab,
    "navigate-tree": navigate_tree,
    "phone-book": phone_book,
    "search-engine": search_engine,
}
