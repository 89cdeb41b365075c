"""Oracles of inboxes and social media feeds."""

from __future__ import annotations

import re

from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene, click, fill, press, reach
from foretell.gui.bench.pages import Element

ICONS = {"Reply": "reply", "Retweet": "retweet", "Like": "like", "Share": "share"}


def _request(scene: Scene) -> tuple[str, str, str]:
    """What to do with an email (reply, forward, trash, star), whose it is, and the text or the receiver."""
    sender = scene.said(r"Find the email by (.*?) and ")
    if "reply to them" in scene.goal and sender:
        return "reply", sender, scene.quoted[0]
    if "trash icon" in scene.goal:
        return "trash", sender, ""
    if "star icon" in scene.goal:
        return "star", sender, ""
    if receiver := scene.said(r"forward that email to (.*?)\.$"):
        found = sender or scene.said(r"email by (.*?)\.")
        return "forward", found, receiver
    return _spoken_request(scene)


def _spoken_request(scene: Scene) -> tuple[str, str, str]:
    """A wish to forward in free words: the sender stands after "by" or "from", or before "sent" or "wants his"."""
    senders = {e.text for e in scene.all("div", "email-sender", visible=False)}
    named = [word for word in re.findall(r"[\w'-]+", scene.goal) if word in senders]
    sender = (
        scene.said(r"(?:by|from) ([\w'-]+)")
        or scene.said(r"([\w'-]+) sent (?:to )?you")
        or scene.said(r"^([\w'-]+) wants his or her")
    )
    receiver = next((name for name in named if name != sender), sender)
    return "forward", sender, receiver


def _shown(scene: Scene, name: str) -> Element | None:
    element = scene.id(name)
    return element if element is not None and element.visible else None


def email_inbox(scene: Scene) -> Planned | None:
    what, sender, text = _request(scene)
    if reply := _shown(scene, "reply"):
        to = next((e.text for e in scene.all("span", "reply-sender", inside=reply)), "")
        if what != "reply" or to != sender:
            return click(scene.id("close-reply"), "the cross that closes the reply")
        field = scene.id("reply-text")
        return fill(field, text, "reply field") or click(scene.id("send-reply"), "the icon that sends the reply")
    if forward := _shown(scene, "forward"):
        if what != "forward":
            return click(scene.id("close-forward"), "the cross that closes the forwarded email")
        field = next(iter(scene.all("input", "forward-sender", inside=forward)))
        return fill(field, text, "field 'to'") or click(scene.id("send-forward"), "the icon that sends the email")
    if email := _shown(scene, "email"):
        by = next((e.text for e in scene.all("div", "email-sender", inside=email, visible=False)), "")
        if by != sender:
            return click(scene.id("close-email"), "the arrow that goes back to the inbox")
        return _act(scene, email, what, sender)
    if _shown(scene, "search"):
        return click(scene.id("search-cancel"), "the arrow that leaves the search")
    threads = [e for e in scene.elements if "email-thread" in e.classes]
    for thread in threads:
        name = next((e for e in scene.all("div", "email-sender", inside=thread, visible=False)), None)
        if name is None or name.text != sender:
            continue
        if what in ("trash", "star"):
            return _act(scene, thread, what, sender)
        return reach(scene, name, f"the email by {sender}")
    return None


def _act(scene: Scene, around: Element, what: str, sender: str) -> Planned | None:
    cls = what if what in ("trash", "star") else f"email-{what}"
    target = next((e for e in scene.all("span", cls, inside=around, visible=False)), None)
    name = f"the {what} icon of the email by {sender}" if cls == what else f"'{what.capitalize()}'"
    return reach(scene, target, name)


def _posts(scene: Scene, user: str) -> list[Element]:
    found = []
    for post in scene.elements:
        if "media" in post.classes:
            name = next((e.text for e in scene.all("span", "username", inside=post, visible=False)), "")
            if name == user:
                found.append(post)
    return found


def social_media(scene: Scene) -> Planned | None:
    user, what = scene.said(r"For the user (\S+), click"), scene.quoted[0]
    posts = _posts(scene, user)
    if what in ICONS:
        targets = [e for post in posts for e in scene.all("span", ICONS[what], inside=post, visible=False)]
        seen = [e for e in targets if e.visible]
        return reach(scene, next(iter(seen or targets), None), f"the {what} icon of {user}", seen)
    for post in posts:
        for item in scene.all("li", inside=post, visible=False):
            if item.text.startswith(what) and item.box[3] > 0:
                return reach(scene, item, f"'{item.text}' in the menu")
    mores = [e for post in posts for e in scene.all("span", "more", inside=post, visible=False)]
    seen = [e for e in mores if e.visible]
    return reach(scene, next(iter(seen or mores), None), f"the three dots of {user}", seen)


def social_media_posts(scene: Scene) -> Planned | None:
    """The icon on all posts of a user, or on some number of them, and no other."""
    user, what = scene.said(r"by (@\S+) and then"), scene.quoted[0]
    right = [e for post in _posts(scene, user) for e in scene.all("span", ICONS[what], inside=post, visible=False)]
    count = scene.said(r"button on (\d+) post")
    wanted = int(count) if count else len(right)
    on = [e for e in right if "active" in e.classes]
    stray = [e for e in scene.elements if "active" in e.classes and set(e.classes) & set(ICONS.values())]
    stray = [e for e in stray if e not in right] or (on if len(on) > wanted else [])
    if stray:
        return reach(scene, stray[0], "the icon that must not be chosen, to clear it", stray)
    if len(on) < wanted:
        off = [e for e in right if "active" not in e.classes]
        seen = [e for e in off if e.visible]
        return reach(scene, (seen or off)[0], f"the {what} icon of a post by {user}", seen)
    submit = next(iter(scene.all("button", visible=False)), None)
    return press(submit) if submit is not None and submit.visible else reach(scene, submit, "the button 'Submit'")


ORACLES: dict[str, Oracle] = {
    "email-inbox": email_inbox,
    "email-inbox-delete": email_inbox,
    "email-inbox-forward": email_inbox,
    "email-inbox-forward-nl": email_inbox,
    "email-inbox-important": email_inbox,
    "email-inbox-noscroll": email_inbox,
    "email-inbox-reply": email_inbox,
    "email-inbox-star-reply": email_inbox,
    "social-media": social_media,
    "social-media-all": social_media_posts,
    "social-media-some": social_media_posts,
}
