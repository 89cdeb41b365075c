// Called with points of the viewport: the element under each by its accessibility, the one that has the focus, and all
// named ones in view but for links to the page itself, and the titles of the page. An element may be called like a member of the document or the
// form that it lies in, which then finds it in the member's place: documents and forms are asked by way of the
// prototypes, and an element that fails nevertheless is left out.
(points) => {
  const member = (kind, key) => {
    const found = Object.getOwnPropertyDescriptor(kind.prototype, key);
    return (of, ...given) => (found.get || found.value).call(of, ...given);
  };
  const at_point = member(Document, "elementFromPoint"), all_at_point = member(Document, "elementsFromPoint");
  const by_id = member(Document, "getElementById"), all = member(Document, "querySelectorAll");
  const all_in = member(Element, "querySelectorAll");
  const active = member(Document, "activeElement"), root_of = member(Document, "documentElement");
  const attribute = member(Element, "getAttribute"), first = member(Element, "querySelector");
  const tried = (what) => { try { return what(); } catch { return null; } };
  // What is pressed or filled in, whatever else takes the focus.
  const control = "a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=menuitem],[role=option],[role=combobox]";
  const interactive = "a[href],button,input,select,textarea,summary,label,[role],[contenteditable=''],[contenteditable=true],[tabindex]";
  // Of these, what is not there for its looks alone: an icon within a button is the button.
  const acting = interactive.replace("[role]", "[role]:not([role=presentation],[role=none],[role=img])");
  const clean = (text) => (text || "").replace(/\s+/g, " ").trim().slice(0, 200);
  // What the pictures within an element are called, which is all that a button with an icon says.
  const pictured = (e) => [...all_in(e, "img,svg,[role=img],[aria-label]")].map((one) => attribute(one, "aria-label") ||
    attribute(one, "alt") || (first(one, "title") || {}).textContent || attribute(one, "title") || "").join(" ");
  const name = (e) => {
    const ids = (e.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
    const labelled = ids.map((id) => (by_id(e.ownerDocument, id) || {}).innerText || "").join(" ");
    const labels = e.labels ? [...e.labels].map((one) => one.innerText).join(" ") : "";
    const typed = e.matches("input,textarea,select");
    const value = e.matches("input[type=submit],input[type=button],input[type=reset]") ? e.value : "";
    return clean(labelled || e.getAttribute("aria-label") || labels || value || (typed ? "" : e.innerText) ||
      e.getAttribute("alt") || e.getAttribute("placeholder") || e.getAttribute("title") ||
      (e.matches(control) ? pictured(e) : ""));
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
    const head = first(part, "legend,h1,h2,h3,h4,h5,h6,[role=heading]");
    return clean(attribute(part, "aria-label") || (head ? head.innerText : ""));
  };
  const checked = (e) => {
    if (e.matches("input[type=checkbox],input[type=radio]")) return e.checked;
    const said = e.getAttribute("aria-checked") || e.getAttribute("aria-selected") || e.getAttribute("aria-pressed");
    return said === "true" ? true : said === "false" ? false : null;
  };
  // What a password field holds is never told.
  const value = (e) => (e.matches("input,textarea") && e.type !== "password" ? clean(e.value) : "");
  const is_disabled = (e) => !!e.disabled || attribute(e, "aria-disabled") === "true" || !!e.closest("fieldset:disabled");
  const told = (e, cover) => ({
    name: name(e),
    role: e.getAttribute("role") || ({A: "link", SELECT: "combobox", TEXTAREA: "textbox"})[e.tagName] ||
      (e.tagName === "INPUT" ? e.type : e.tagName.toLowerCase()),
    disabled: is_disabled(e),
    editable: editable(e),
    covered_by: cover ? name(cover) || cover.tagName.toLowerCase() : "",
    context: context(e),
    value: value(e),
    checked: checked(e),
  });
  // The document in a frame, null for one of another origin.
  const inside = (e) => { try { return e.tagName === "IFRAME" ? e.contentDocument : null; } catch { return null; } };
  const deepest = (x, y) => {
    let e = at_point(document, x, y);
    while (e) {
      const frame = inside(e), box = e.getBoundingClientRect();
      if (frame) { x -= box.left + e.clientLeft; y -= box.top + e.clientTop; }
      const inner = frame ? at_point(frame, x, y) : e.shadowRoot && e.shadowRoot.elementFromPoint(x, y);
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
  const area = (box) => box.width * box.height;
  const holds = (box, inner) => box.left <= inner.left + 1 && box.top <= inner.top + 1 &&
    box.right >= inner.right - 1 && box.bottom >= inner.bottom - 1;
  const alpha = (colour) => { const parts = colour.match(/[\d.]+/g) || []; return parts.length > 3 ? +parts[3] : 1; };
  const faint = (e) => { for (; e; e = e.parentElement) if (+getComputedStyle(e).opacity < 0.1) return true; return false; };
  // A thing through which one sees what lies below it: no picture, no text of its own, no solid ground.
  const see_through = (e) => {
    const style = getComputedStyle(e);
    return faint(e) || (alpha(style.backgroundColor) < 0.95 && style.backgroundImage === "none" &&
      ![...e.childNodes].some((one) => one.nodeType === 3 && one.data.trim()));
  };
  // A visible control that lies apart from what is on top of it: neither within the other, nor both in a box of about
  // the control's size, as a styled checkbox or list and the input behind it are.
  const apart = (e, top) => {
    if (e === top || top.contains(e) || e.contains(top) || faint(e) || getComputedStyle(e).visibility !== "visible") return false;
    let both = e.parentElement;
    while (both && !both.contains(top)) both = both.parentElement;
    return !both || area(both.getBoundingClientRect()) > 2 * area(e.getBoundingClientRect());
  };
  // Covers of clear cases only: a backdrop that takes the page, by its role or as a modal dialog's, and a pane that
  // nobody sees over the whole of a control.
  const covered = (top, x, y) => {
    const box = top.getBoundingClientRect();
    const within = (e) => { const own = e.getBoundingClientRect(); return own.left <= x && x < own.right && own.top <= y && y < own.bottom; };
    if (top.tagName === "DIALOG" && top.matches(":modal") && !within(top)) {
      const under = [...all(document, control)].filter((e) => within(e) && apart(e, top));
      return under.sort((a, b) => area(a.getBoundingClientRect()) - area(b.getBoundingClientRect()))[0] || null;
    }
    if (top.matches(control) || !see_through(top)) return null;
    const backdrop = lies_over(top) && top.matches("[role=presentation],[role=none],[role=dialog],[role=alertdialog],[tabindex='-1']:not([role])");
    if (!backdrop && top.closest(interactive)) return null;
    const below = all_at_point(document, x, y).slice(1).map((e) => e.closest(control)).find((e) => e && apart(e, top));
    return below && (backdrop || (getComputedStyle(top).position !== "static" && holds(box, below.getBoundingClientRect()))) ? below : null;
  };
  // A disabled control that lets the pointer through, as style sheets make them: what is behind it gets the click.
  const idle = (top, x, y) => {
    const here = [...all(document, control)].filter((e) => {
      const box = e.getBoundingClientRect();
      return box.left <= x && x < box.right && box.top <= y && y < box.bottom && top.contains(e) && is_disabled(e) &&
        getComputedStyle(e).pointerEvents === "none" && getComputedStyle(e).visibility === "visible";
    });
    return here.sort((a, b) => area(a.getBoundingClientRect()) - area(b.getBoundingClientRect()))[0] || null;
  };
  // A thing without a role of its own that is pressed all the same: an anchor without an address, a box with a hand.
  const pointer = (e) => getComputedStyle(e).cursor === "pointer";
  const pressed = (top, own) => {
    if (own && (own.matches(control) || own.tagName === "LABEL" || own.isContentEditable || pointer(own))) return null;
    let found = null;
    for (let e = top; e && e !== own; e = e.parentElement) if (pointer(e)) found = e;
    return found && clean(found.innerText).length <= 80 ? found : null;
  };
  const at = points.map(([x, y]) => tried(() => {
    const top = deepest(x, y);
    if (!top || (top.tagName === "IFRAME" && !inside(top))) return null;
    const own = top.closest(acting);
    if (!own && lies_over(top)) {
      const below = all_at_point(document, x, y).find((e) => e !== top && !top.contains(e) && e.closest(interactive));
      if (below) return told(below.closest(interactive), top);
    }
    const is_here = at_point(document, x, y) === top;
    const below = is_here && tried(() => covered(top, x, y));
    const through = is_here && !below && tried(() => idle(top, x, y));
    return below ? told(below, top) : told(through || pressed(top, own) || own || top, null);
  }));
  const in_view = (e, dx, dy) => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && box.bottom + dy > 0 && box.right + dx > 0 &&
      box.top + dy < innerHeight && box.left + dx < innerWidth;
  };
  // Whether other things lie over it wherever it is looked at, such as a dialog over the page.
  const buried = (e) => {
    const box = e.getBoundingClientRect();
    const over = (x, y) => {
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return null;
      const top = at_point(document, x, y);
      return top && !top.shadowRoot ? apart(e, top) && !see_through(top) : false;
    };
    const shares = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.2], [0.1, 0.8], [0.9, 0.8]];
    let known = false;
    for (const [across, down] of shares) {
      const found = over(box.left + across * box.width, box.top + down * box.height);
      if (found === false) return false;
      known = known || found === true;
    }
    return known;
  };
  // A link to the page that is shown already.
  const is_current = (e) => attribute(e, "aria-current") === "page" || (e.tagName === "A" &&
    !!attribute(e, "href") && !attribute(e, "href").includes("#") && e.href === location.href.split("#")[0]);
  const seen = [];
  const gather = (root, dx, dy) => {
    for (const e of all(root, `${interactive},a:not([href])`)) {
      if (seen.length >= 400) return;
      const one = tried(() => {
        const is_there = in_view(e, dx, dy) && name(e) && (e.matches(interactive) || pointer(e)) && !is_current(e);
        return is_there && !(root === document && buried(e)) ? told(e, null) : null;
      });
      if (one) seen.push(one);
    }
    for (const e of all(root, "iframe")) {
      const frame = inside(e), box = e.getBoundingClientRect();
      if (frame && in_view(e, dx, dy)) gather(frame, dx + box.left + e.clientLeft, dy + box.top + e.clientTop);
    }
  };
  gather(document, 0, 0);
  let focus = active(document);
  while (focus) {
    const frame = inside(focus), from = focus;
    const inner = frame ? active(frame) : tried(() => from.shadowRoot.activeElement);
    if (!inner || (inner.tagName === "BODY" && !inner.isContentEditable)) break;
    focus = inner;
  }
  // What the page calls itself, and its headings in view.
  const headings = [...all(document, "h1,h2,h3,[role=heading]")].filter((e) => in_view(e, 0, 0) && !buried(e)).slice(0, 40);
  const titles = [tried(() => clean(member(Document, "title")(document))), ...headings.map((e) => tried(() => clean(e.innerText)))];
  const elsewhere = !focus || focus.tagName === "BODY" && focus.ownerDocument === document || focus === root_of(document);
  return {at, seen, titles, focused: elsewhere ? null : tried(() => told(focus, null))};
}
