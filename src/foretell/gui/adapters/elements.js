// Called with points of the viewport: the element under each by its accessibility, the one that has the focus, and all
// named ones in view.
(points) => {
  const interactive = "a[href],button,input,select,textarea,summary,label,[role],[contenteditable=''],[contenteditable=true],[tabindex]";
  const clean = (text) => (text || "").replace(/\s+/g, " ").trim().slice(0, 200);
  const name = (e) => {
    const ids = (e.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
    const labelled = ids.map((id) => (e.ownerDocument.getElementById(id) || {}).innerText || "").join(" ");
    const labels = e.labels ? [...e.labels].map((one) => one.innerText).join(" ") : "";
    const typed = e.matches("input,textarea,select");
    const value = e.matches("input[type=submit],input[type=button],input[type=reset]") ? e.value : "";
    return clean(labelled || e.getAttribute("aria-label") || labels || value || (typed ? "" : e.innerText) ||
      e.getAttribute("alt") || e.getAttribute("placeholder") || e.getAttribute("title"));
  };
  // What has an inside of its own (a frame, a canvas) may take text there.
  const editable = (e) => e.isContentEditable || e.matches("iframe,canvas,object,embed,[role=textbox],[role=application]") || (e.matches("textarea,input") && !e.readOnly &&
    !/^(button|submit|reset|checkbox|radio|file|image|range|color|hidden)$/.test(e.type || ""));
  // What the row, the dialog or the section around an element is called.
  const context = (e) => {
    const row = e.closest("tr,[role=row],li");
    if (row) return clean(row.innerText);
    const part = e.closest("dialog,[role=dialog],fieldset,section,form,[role=group],[role=region]");
    if (!part) return "";
    const head = part.querySelector("legend,h1,h2,h3,h4,h5,h6,[role=heading]");
    return clean(part.getAttribute("aria-label") || (head ? head.innerText : ""));
  };
  const checked = (e) => {
    if (e.matches("input[type=checkbox],input[type=radio]")) return e.checked;
    const said = e.getAttribute("aria-checked") || e.getAttribute("aria-selected") || e.getAttribute("aria-pressed");
    return said === "true" ? true : said === "false" ? false : null;
  };
  // What a password field holds is never told.
  const value = (e) => (e.matches("input,textarea") && e.type !== "password" ? clean(e.value) : "");
  const told = (e, cover) => ({
    name: name(e),
    role: e.getAttribute("role") || ({A: "link", SELECT: "combobox", TEXTAREA: "textbox"})[e.tagName] ||
      (e.tagName === "INPUT" ? e.type : e.tagName.toLowerCase()),
    disabled: !!e.disabled || e.getAttribute("aria-disabled") === "true" || !!e.closest("fieldset:disabled"),
    editable: editable(e),
    covered_by: cover ? name(cover) || cover.tagName.toLowerCase() : "",
    context: context(e),
    value: value(e),
    checked: checked(e),
  });
  // The document in a frame, null for one of another origin.
  const inside = (e) => { try { return e.tagName === "IFRAME" ? e.contentDocument : null; } catch { return null; } };
  const deepest = (x, y) => {
    let e = document.elementFromPoint(x, y);
    while (e) {
      const frame = inside(e), box = e.getBoundingClientRect();
      if (frame) { x -= box.left + e.clientLeft; y -= box.top + e.clientTop; }
      const inner = frame ? frame.elementFromPoint(x, y) : e.shadowRoot && e.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === e) break;
      e = inner;
    }
    return e;
  };
  const lies_over = (e) => {
    const style = getComputedStyle(e), box = e.getBoundingClientRect();
    return (style.position === "fixed" || style.position === "absolute") &&
      box.width * box.height > 0.5 * innerWidth * innerHeight;
  };
  const at = points.map(([x, y]) => {
    const top = deepest(x, y);
    if (!top || (top.tagName === "IFRAME" && !inside(top))) return null;
    const own = top.closest(interactive);
    if (!own && lies_over(top)) {
      const below = document.elementsFromPoint(x, y).find((e) => e !== top && !top.contains(e) && e.closest(interactive));
      if (below) return told(below.closest(interactive), top);
    }
    return told(own || top, null);
  });
  const in_view = (e, dx, dy) => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && box.bottom + dy > 0 && box.right + dx > 0 &&
      box.top + dy < innerHeight && box.left + dx < innerWidth;
  };
  const seen = [];
  const gather = (root, dx, dy) => {
    for (const e of root.querySelectorAll(interactive)) {
      if (seen.length >= 400) return;
      if (in_view(e, dx, dy) && name(e)) seen.push(told(e, null));
    }
    for (const e of root.querySelectorAll("iframe")) {
      const frame = inside(e), box = e.getBoundingClientRect();
      if (frame && in_view(e, dx, dy)) gather(frame, dx + box.left + e.clientLeft, dy + box.top + e.clientTop);
    }
  };
  gather(document, 0, 0);
  let focus = document.activeElement;
  while (focus) {
    const inner = (focus.shadowRoot || inside(focus) || {}).activeElement;
    if (!inner || (inner.tagName === "BODY" && !inner.isContentEditable)) break;
    focus = inner;
  }
  return {at, seen, focused: focus && focus !== document.body && focus !== document.documentElement ? told(focus, null) : null};
}
