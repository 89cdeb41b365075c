// What can be acted on in the page, with what a label needs to know of it, and which of it lies at each point of a grid.
// Frames of the same origin and open shadow roots included. Boxes are in CSS pixels of the whole screen.
(step) => {
  const W = innerWidth, H = innerHeight;
  const ROLES = new Set(["button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "checkbox", "radio",
    "switch", "treeitem", "combobox", "textbox", "searchbox", "spinbutton", "slider"]);
  const TEXTUAL = new Set(["text", "search", "email", "tel", "url", "number", "password", ""]);
  const tidy = (text) => (text || "").replace(/\s+/g, " ").trim();
  const byNode = new Map(), found = [];
  const clip = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])];
  const parentOf = (e) => e.assignedSlot || e.parentElement || (e.getRootNode() instanceof ShadowRoot ? e.getRootNode().host : null);
  const roleOf = (e) => {
    const said = e.getAttribute("role");
    if (said && ROLES.has(said)) return said;
    const tag = e.tagName;
    if (tag === "A" && e.hasAttribute("href")) return "link";
    if (tag === "BUTTON" || tag === "SUMMARY") return "button";
    if (tag === "SELECT") return "combobox";
    if (tag === "TEXTAREA" || e.isContentEditable && !(e.parentElement && e.parentElement.isContentEditable)) return "textbox";
    if (tag === "INPUT") {
      if (e.type === "checkbox" || e.type === "radio") return e.type;
      if (e.type === "range") return "slider";
      if (["submit", "button", "reset", "image", "file", "color"].includes(e.type)) return "button";
      return e.type === "search" ? "searchbox" : "textbox";
    }
    return "";
  };
  const texts = new Map();
  const shownText = (e) => {
    if (!texts.has(e)) {
      const plain = e.textContent || "";
      texts.set(e, tidy(plain.length > 600 || !e.firstElementChild || e.innerText === undefined ? plain.slice(0, 600) : e.innerText));
    }
    return texts.get(e);
  };
  const nameOf = (e, role) => {
    const root = e.getRootNode();
    const by = e.getAttribute("aria-labelledby");
    if (by) {
      const text = tidy(by.split(/\s+/).map((id) => root.getElementById ? shownText(root.getElementById(id) || document.createElement("i")) : "").join(" "));
      if (text) return [text, "label"];
    }
    const field = role === "textbox" || role === "searchbox" || role === "combobox" || role === "spinbutton";
    const plain = !field && role !== "checkbox" && role !== "radio" && e.tagName !== "INPUT" ? shownText(e) : "";
    if (plain.length <= 60 && /[^\W\d_]{2}/.test(plain)) return [plain, "text"];
    if (tidy(e.getAttribute("aria-label"))) return [tidy(e.getAttribute("aria-label")), "aria"];
    if (e.labels && e.labels.length && shownText(e.labels[0])) return [shownText(e.labels[0]), "label"];
    if (e.tagName === "INPUT" && !field && e.value && role === "button") return [tidy(e.value), "text"];
    if (plain) return [plain, "text"];
    if (tidy(e.placeholder)) return [tidy(e.placeholder), "placeholder"];
    if (tidy(e.title)) return [tidy(e.title), "title"];
    const image = e.querySelector && e.querySelector("img[alt],svg[aria-label],[title],svg title");
    if (image) {
      const text = tidy(image.getAttribute("alt") || image.getAttribute("aria-label") || image.getAttribute("title") || image.textContent);
      if (text) return [text, "title"];
    }
    if (field || role === "checkbox" || role === "radio") {
      const cell = e.closest("td,th,dd,div,p,li");
      const before = cell && cell.previousElementSibling;
      if (before && /^(TD|TH|DT|LABEL|DIV|SPAN|P)$/.test(before.tagName) && !before.querySelector("input,select,textarea,button")) {
        const text = shownText(before);
        if (text && text.length < 40) return [text, "near"];
      }
    }
    return ["", ""];
  };
  const rows = new Map();
  const groupOf = (e, name) => {
    const at = e.closest("tr,li,[role=row],[role=listitem],fieldset,section,[role=dialog],[role=group],article,.card,form");
    if (!at || e.closest("th,thead,[role=columnheader]")) return ["", ""];
    const kind = at.tagName === "TR" || at.getAttribute("role") === "row" ? "row" : at.getAttribute("role") === "dialog" ? "dialog" : "section";
    const head = at.querySelector("legend,h1,h2,h3,h4,th[scope=row],strong");
    let text = kind === "row" ? "" : head ? shownText(head) : "";
    if (kind === "row") {
      if (!rows.has(at)) rows.set(at, Array.from(at.children).slice(0, 8).map(shownText).filter((t) => t && t.length < 40 && /[A-Za-z]{3}/.test(t)));
      text = rows.get(at).find((t) => t !== name) || "";
    }
    return [kind, text.slice(0, 48)];
  };
  const scan = (root, dx, dy, bounds, cursor) => {
    for (const e of root.children) visit(e, dx, dy, bounds, cursor);
  };
  const visit = (e, dx, dy, bounds, cursor) => {
    if (["SCRIPT", "STYLE", "LINK", "META", "TEMPLATE", "NOSCRIPT", "HEAD"].includes(e.tagName)) return;
    const style = getComputedStyle(e);
    if (style.display === "none") return;
    const r = e.getBoundingClientRect();
    const raw = [r.left + dx, r.top + dy, r.right + dx, r.bottom + dy];
    if (raw[1] > 3 * H && r.height > 0) return;
    const role = roleOf(e);
    const is = role || (r.width > 5 && r.height > 5 && e.tagName !== "LABEL" && e.tagName !== "HTML" && e.tagName !== "BODY" && style.cursor === "pointer" && cursor !== "pointer" ? "clickable" : "");
    if (is && !byNode.has(e)) {
      const seen = clip(raw, bounds);
      const w = seen[2] - seen[0], h = seen[3] - seen[1];
      const drawn = style.visibility === "visible" && +style.opacity > 0.2 && raw[2] - raw[0] >= 6 && raw[3] - raw[1] >= 6;
      const [name, from] = nameOf(e, is);
      const [group, groupName] = groupOf(e, name);
      const type = e.tagName === "INPUT" ? e.type : "";
      const item = {
        ref: found.length, tag: e.tagName.toLowerCase(), role: is, name: name.slice(0, 80), named_by: from, type,
        box: [Math.max(0, seen[0]), Math.max(0, seen[1]), Math.max(0, w), Math.max(0, h)], aim: null,
        disabled: !!e.disabled || e.getAttribute("aria-disabled") === "true", covered: false, visible: drawn && w >= 6 && h >= 6,
        below: drawn && dx === 0 && dy === 0 && raw[1] > H + 4 && bounds[3] >= H - 1 && raw[0] >= 0 && raw[2] <= W,
        focused: (e.getRootNode().activeElement === e), checked: e.checked === true || ["true", "mixed"].includes(e.getAttribute("aria-checked")) || e.getAttribute("aria-pressed") === "true" || e.getAttribute("aria-selected") === "true",
        value: role === "textbox" || role === "searchbox" || role === "combobox" ? tidy(e.isContentEditable ? e.innerText : e.tagName === "SELECT" ? (e.selectedOptions[0] || {}).text : e.value).slice(0, 80) : "",
        editable: (e.tagName === "TEXTAREA" || e.isContentEditable || e.tagName === "INPUT" && TEXTUAL.has(e.type)) && !e.readOnly,
        multiline: e.tagName === "TEXTAREA" || e.isContentEditable,
        href: e.tagName === "A" ? e.getAttribute("href") || "" : "", target: e.getAttribute("target") || "",
        download: e.hasAttribute("download") || (e.tagName === "INPUT" && e.type === "file"),
        popup: e.hasAttribute("aria-haspopup"), group, group_name: groupName, submit: e.tagName === "FORM" || type === "submit",
        bold: +style.fontWeight >= 600, parent: -1,
      };
      byNode.set(e, item.ref);
      for (let up = parentOf(e); up; up = parentOf(up)) if (byNode.has(up)) { item.parent = byNode.get(up); break; }
      found.push(item);
    }
    const overflow = style.overflowX + style.overflowY;
    let inner = bounds;
    if (/auto|scroll|hidden|clip/.test(overflow) && e !== document.body && e !== document.documentElement && style.display !== "inline" && style.display !== "contents") inner = clip(raw, bounds);
    if (e.tagName === "IFRAME") {
      try {
        const inside = e.contentDocument;
        if (inside && inside.body) scan(inside, raw[0] + e.clientLeft, raw[1] + e.clientTop, clip(raw, inner), "");
      } catch (error) { /* a frame of another origin is no part of the truth */ }
      return;
    }
    if (e.shadowRoot) scan(e.shadowRoot, dx, dy, inner, style.cursor);
    scan(e, dx, dy, inner, style.cursor);
  };
  scan(document, 0, 0, [0, 0, W, H], "");
  // The node that lies on top at a point, looked for in frames and shadow roots.
  const topAt = (x, y) => {
    let root = document, node = null, ox = 0, oy = 0;
    for (let depth = 0; depth < 8; depth++) {
      const next = root.elementFromPoint(x - ox, y - oy);
      if (!next || next === node) return node;
      node = next;
      if (node.shadowRoot) { root = node.shadowRoot; continue; }
      if (node.tagName === "IFRAME" && node.contentDocument) {
        const r = node.getBoundingClientRect();
        ox += r.left + node.clientLeft; oy += r.top + node.clientTop; root = node.contentDocument; continue;
      }
      return node;
    }
    return node;
  };
  // The refs at a point from the top outwards; a label stands for its control.
  const refsAt = (x, y) => {
    const refs = [];
    for (let e = topAt(x, y); e; e = parentOf(e)) {
      if (byNode.has(e)) refs.push(byNode.get(e));
      if (e.tagName === "LABEL" && e.control && byNode.has(e.control)) refs.push(byNode.get(e.control));
    }
    return refs;
  };
  for (const item of found) {
    if (!item.visible) continue;
    const [x, y, w, h] = item.box;
    const points = [[0.5, 0.5]];
    for (const v of [0.5, 0.3, 0.7]) for (const u of [0.5, 0.25, 0.75, 0.1, 0.9]) points.push([u, v]);
    const free = points.map(([u, v]) => [x + w * u, y + h * v]).find(([px, py]) => refsAt(px, py)[0] === item.ref);
    if (free) { item.aim = free; continue; }
    const held = points.map(([u, v]) => [x + w * u, y + h * v]).some(([px, py]) => refsAt(px, py).includes(item.ref));
    item.covered = !held;
  }
  const grid = [];
  for (let y = step / 2; y < H; y += step) {
    const row = [];
    for (let x = step / 2; x < W; x += step) {
      const refs = refsAt(x, y);
      row.push(refs.length ? refs[0] : -1);
    }
    grid.push(row);
  }
  const page = document.scrollingElement;
  return { elements: found, grid, step, scroll: [page.scrollTop, page.scrollHeight - page.clientHeight],
    title: document.title, dialog: !!document.querySelector("[role=dialog],dialog[open],.modal.show,[aria-modal=true]"),
    text: tidy((document.body.innerText || "").slice(0, 30000)).slice(0, 12000) };
}
