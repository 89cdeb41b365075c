// Every element of the task area with what a label or an oracle needs to know of it. Boxes are in CSS pixels.
(() => {
  const W = 160, H = 210;
  const LEFT_OUT = new Set(["reward-display", "sync-task-cover", "click-canvas", "query"]);
  const SKIP = new Set(["SCRIPT", "STYLE", "LINK", "META", "TITLE"]);
  const tidy = (text) => (text || "").replace(/\s+/g, " ").trim();
  if (!window.__refs) { window.__refs = new WeakMap(); window.__next_ref = 1; }
  const refOf = (e) => {
    if (!window.__refs.has(e)) window.__refs.set(e, window.__next_ref++);
    return window.__refs.get(e);
  };
  const found = [];
  const selection = getSelection(), marked = selection.isCollapsed ? "" : tidy(selection.toString());
  const cut = (a, b) => {
    const x0 = Math.max(a[0], b[0]), y0 = Math.max(a[1], b[1]);
    const x1 = Math.min(a[2], b[2]), y1 = Math.min(a[3], b[3]);
    return [x0, y0, Math.max(x0, x1), Math.max(y0, y1)];
  };
  const boxOf = (e) => {
    const rects = Array.from(e.getClientRects()).filter((r) => r.width > 0 && r.height > 0);
    let r = e.getBoundingClientRect();
    if (rects.length > 1) r = rects.reduce((a, b) => (a.width * a.height >= b.width * b.height ? a : b));
    return [r.left, r.top, r.right, r.bottom];
  };
  // Where the text of an element stands, which may be much less than the element: its longest line.
  const wordsOf = (e) => {
    if (e.tagName === "BUTTON" || e.tagName === "TEXTAREA" || e.tagName === "OPTION") return [0, 0, 0, 0];
    const range = document.createRange();
    let best = [0, 0, 0, 0];
    for (const node of e.childNodes) {
      if (node.nodeType !== 3 || !tidy(node.data)) continue;
      range.selectNodeContents(node);
      for (const r of range.getClientRects()) {
        if (r.width > best[2] - best[0]) best = [r.left, r.top, r.right, r.bottom];
      }
    }
    return best;
  };
  const hits = (e, point) => {
    const top = document.elementFromPoint(point[0], point[1]);
    return top !== null && (top === e || e.contains(top) || top.contains(e));
  };
  const gridOf = (box, near) => {
    const points = [];
    for (let i = 1; i < 6; i++) {
      for (let j = 1; j < 6; j++) {
        points.push([box[0] + (box[2] - box[0]) * i / 6, box[1] + (box[3] - box[1]) * j / 6]);
      }
    }
    const far = (p) => Math.hypot(p[0] - near[0], p[1] - near[1]);
    return points.sort((p, q) => far(p) - far(q));
  };
  const walk = (e, parent, clip, hidden) => {
    if (SKIP.has(e.tagName) || LEFT_OUT.has(e.id)) return;
    const style = getComputedStyle(e);
    const gone = hidden || style.display === "none";
    const raw = boxOf(e);
    const seen = cut(raw, clip);
    const w = seen[2] - seen[0], h = seen[3] - seen[1];
    let visible = !gone && style.visibility === "visible" && +style.opacity > 0.05 && w >= 3 && h >= 3;
    let aim = [(seen[0] + seen[2]) / 2, (seen[1] + seen[3]) / 2];
    if (visible) {
      const words = cut(wordsOf(e), seen);
      if (words[2] > words[0] && words[3] > words[1]) aim = [(words[0] + words[2]) / 2, (words[1] + words[3]) / 2];
      const free = [aim, ...gridOf(seen, aim)].find((point) => hits(e, point));
      visible = free !== undefined;
      aim = free || aim;
    }
    const attributes = {};
    for (const a of e.attributes) attributes[a.name] = a.value;
    const overflow = style.overflowX + style.overflowY;
    if (e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(style.overflowY) || e.tagName === "TEXTAREA") {
      attributes["scroll-top"] = String(e.scrollTop);
      attributes["scroll-height"] = String(e.scrollHeight);
      attributes["client-height"] = String(e.clientHeight);
    }
    if (typeof e.selectionStart === "number") {
      attributes["selection"] = e.value.slice(e.selectionStart, e.selectionEnd);
    } else if (marked && selection.containsNode(e, true)) {
      attributes["selection"] = marked;
    }
    if (window.__last && window.__last.has(e)) attributes["last-event"] = window.__last.get(e);
    attributes["background"] = style.backgroundColor;
    attributes["colour"] = style.color;
    let value = "";
    if (e.tagName === "INPUT" && (e.type === "checkbox" || e.type === "radio")) value = e.checked ? "on" : "";
    else if (e.tagName === "SELECT") value = tidy(e.selectedOptions.length ? e.selectedOptions[0].text : "");
    else if (e.tagName === "OPTION") value = e.selected ? "on" : "";
    else if (e.value !== undefined && e.tagName !== "LI") value = String(e.value);
    const own = Array.from(e.childNodes).filter((n) => n.nodeType === 3).map((n) => n.data).join(" ");
    const box = visible ? seen : raw;
    const ref = refOf(e);
    found.push({
      ref, tag: e.tagName.toLowerCase(), text: tidy(e.textContent), own: tidy(own), value,
      aim, box: [box[0], box[1], box[2] - box[0], box[3] - box[1]], attributes, parent,
      focused: document.activeElement === e && e !== document.body, visible, enabled: !e.disabled,
    });
    const inner = /auto|scroll|hidden|clip/.test(overflow) && e !== document.body ? cut(clip, raw) : clip;
    for (const child of e.children) walk(child, ref, inner, gone);
  };
  for (const child of document.body.children) walk(child, null, [0, 0, W, H], false);
  return found;
})()
