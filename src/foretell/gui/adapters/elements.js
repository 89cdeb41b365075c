// Called with points of the viewport: the element under each by its accessibility, and the one that has the focus.
(points) => {
  const interactive = "a[href],button,input,select,textarea,summary,label,[role],[contenteditable=''],[contenteditable=true],[tabindex]";
  const clean = (text) => (text || "").replace(/\s+/g, " ").trim().slice(0, 200);
  const name = (e) => {
    const ids = (e.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
    const labelled = ids.map((id) => (document.getElementById(id) || {}).innerText || "").join(" ");
    const labels = e.labels ? [...e.labels].map((one) => one.innerText).join(" ") : "";
    const typed = e.matches("input,textarea,select");
    const value = e.matches("input[type=submit],input[type=button],input[type=reset]") ? e.value : "";
    return clean(labelled || e.getAttribute("aria-label") || labels || value || (typed ? "" : e.innerText) ||
      e.getAttribute("alt") || e.getAttribute("placeholder") || e.getAttribute("title"));
  };
  // What has an inside of its own (a frame, a canvas) may take text there.
  const editable = (e) => e.isContentEditable || e.matches("iframe,canvas,object,embed,[role=textbox],[role=application]") || (e.matches("textarea,input") && !e.readOnly &&
    !/^(button|submit|reset|checkbox|radio|file|image|range|color|hidden)$/.test(e.type || ""));
  const told = (e, cover) => ({
    name: name(e),
    role: e.getAttribute("role") || ({A: "link", SELECT: "combobox", TEXTAREA: "textbox"})[e.tagName] ||
      (e.tagName === "INPUT" ? e.type : e.tagName.toLowerCase()),
    disabled: !!e.disabled || e.getAttribute("aria-disabled") === "true" || !!e.closest("fieldset:disabled"),
    editable: editable(e),
    covered_by: cover ? name(cover) || cover.tagName.toLowerCase() : "",
  });
  const deepest = (x, y) => {
    let e = document.elementFromPoint(x, y);
    while (e && e.shadowRoot) {
      const inner = e.shadowRoot.elementFromPoint(x, y);
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
    if (!top) return null;
    const own = top.closest(interactive);
    if (!own && lies_over(top)) {
      const below = document.elementsFromPoint(x, y).find((e) => e !== top && !top.contains(e) && e.closest(interactive));
      if (below) return told(below.closest(interactive), top);
    }
    return told(own || top, null);
  });
  let focus = document.activeElement;
  while (focus && focus.shadowRoot && focus.shadowRoot.activeElement) focus = focus.shadowRoot.activeElement;
  return {at, focused: focus && focus !== document.body && focus !== document.documentElement ? told(focus, null) : null};
}
