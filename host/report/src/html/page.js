
"use strict";
(() => {
  const all = (selector, under = document) => [...under.querySelectorAll(selector)];
  const search = document.getElementById("search");
  const hits = document.getElementById("hits");
  const items = all(".item");
  const texts = new Map();
  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  };
  all(".tools, .filters, .keys").forEach((tool) => { tool.hidden = false; });

  // Sorting: by the number that a cell has, else by its words.
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.toLowerCase() : Number(cell.dataset.v);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  all("table.sortable").forEach((table) => {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row, column), row]);
        rows.sort((a, b) => sign * compare(a[0], b[0]));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
  });

  // Search and grades: what does not fit is not displayed.
  const hidden = new Set();
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    items.forEach((item) => {
      const fits = words.every((word) => textOf(item).includes(word));
      if (fits) found += 1;
      item.classList.toggle("none", !fits || hidden.has(item.dataset.grade));
    });
    if (words.length > 0) all("details.list").forEach((list) => { list.open = all(".item:not(.none)", list).length > 0; });
    hits.textContent = words.length === 0 ? "" : found + (found === 1 ? " match" : " matches");
  };
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, items.length > 2000 ? 150 : 0);
  });
  all(".filters button").forEach((button) => button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    if (shown) hidden.delete(button.dataset.grade); else hidden.add(button.dataset.grade);
    filter();
  }));

  // What a link leads to may be closed, or not displayed.
  const reveal = () => {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (!target) return;
    for (let at = target; at; at = at.parentElement) {
      if (at.localName === "details") at.open = true;
      at.classList.remove("none");
    }
    const inner = target.classList.contains("item") && target.localName === "li" ? target.querySelector("details") : null;
    if (inner) inner.open = true;
    if (target.localName === "details") target.open = true;
    target.scrollIntoView({ block: "start" });
    if (target.tabIndex >= -1 && target.hasAttribute("tabindex")) target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // Drawings of the lock order: those that are too wide become smaller as long as names can be read, and open at the lock
  // with the most arrows.
  all(".drawing").forEach((box) => {
    const svg = box.querySelector("svg");
    const [wide, high] = [svg.width.baseVal.value, svg.height.baseVal.value];
    const scale = Math.min(1, Math.max(0.75, (box.clientWidth - 20) / wide));
    svg.setAttribute("width", wide * scale);
    svg.setAttribute("height", high * scale);
    const hub = svg.querySelector(".hub rect");
    if (!hub) return;
    const [inside, at] = [box.getBoundingClientRect(), hub.getBoundingClientRect()];
    box.scrollLeft += at.left + at.width / 2 - inside.left - inside.width / 2;
    box.scrollTop += at.top + at.height / 2 - inside.top - inside.height / 2;
  });

  // Flame graphs: the frame that is clicked on becomes as wide as the whole, those below it are its
  // callers. Places and widths are percentages with four decimals.
  const near = 0.0003;
  const letter = 7.3;
  const end = (frame) => frame.x + frame.w;
  const within = (inner, outer) => inner.x >= outer.x - near && end(inner) <= end(outer) + near;
  const fit = (name, pixels) => {
    const most = Math.floor((pixels - 6) / letter);
    if (name.length <= most) return name;
    return most < 3 ? "" : name.slice(0, most - 2) + "..";
  };
  const graphs = all(".flame").map((figure) => {
    const svg = figure.querySelector("svg");
    const whole = figure.querySelector(".whole");
    const width = Number(svg.getAttribute("width"));
    const frames = all("g", svg).map((g) => {
      const rect = g.querySelector("rect");
      const text = g.querySelector("text");
      const [x, w, y] = ["x", "width", "y"].map((name) => parseFloat(rect.getAttribute(name)));
      const name = g.querySelector("title").textContent.replace(/ \([^()]*\)$/, "");
      return { g, rect, text, x, w, y, name, told: text.textContent, begin: parseFloat(text.getAttribute("x")) - x };
    });
    const root = frames.reduce((a, b) => (b.y > a.y ? b : a));
    // The tabulator key comes to one frame of each graph, arrows lead on from there.
    const enter = (frame) => {
      frames.forEach((each) => each.g.setAttribute("tabindex", each === frame ? "0" : "-1"));
    };
    const zoom = (to) => {
      frames.forEach((frame) => {
        const below = frame.y > to.y && within(to, frame);
        const x = below ? 0 : (frame.x - to.x) * 100 / to.w;
        const w = below ? 100 : frame.w * 100 / to.w;
        frame.g.classList.toggle("below", below);
        frame.g.classList.toggle("none", !below && !(frame.y <= to.y && within(frame, to)));
        frame.rect.setAttribute("x", x.toFixed(4) + "%");
        frame.rect.setAttribute("width", w.toFixed(4) + "%");
        frame.text.setAttribute("x", (x + frame.begin).toFixed(4) + "%");
        frame.text.textContent = to === root ? frame.told : fit(frame.name, w * width / 100);
      });
      whole.hidden = to === root;
      enter(to);
    };
    const next = (from, key) => {
      const shown = frames.filter((frame) => !frame.g.classList.contains("none"));
      if (key === "ArrowUp") return shown.filter((f) => f.y < from.y && within(f, from)).sort((a, b) => b.y - a.y || b.w - a.w)[0];
      if (key === "ArrowDown") return shown.filter((f) => f.y > from.y && within(from, f)).sort((a, b) => a.y - b.y)[0];
      const row = shown.filter((frame) => frame.y === from.y).sort((a, b) => a.x - b.x);
      return row[row.indexOf(from) + (key === "ArrowRight" ? 1 : -1)];
    };
    const of = (target) => frames.find((frame) => frame.g === target.closest("g"));
    svg.addEventListener("click", (event) => {
      const frame = of(event.target);
      if (frame) zoom(frame);
    });
    svg.addEventListener("keydown", (event) => {
      const frame = of(event.target);
      if (!frame) return;
      if (event.key === "Enter") zoom(frame);
      else if (event.key.startsWith("Arrow")) {
        const other = next(frame, event.key);
        if (other) { enter(other); other.g.focus(); }
      } else return;
      event.preventDefault();
    });
    whole.addEventListener("click", () => { zoom(root); root.g.focus({ preventScroll: true }); });
    frames.forEach((frame) => frame.g.setAttribute("role", "button"));
    figure.classList.add("zooms");
    enter(root);
    return { unzoom: () => { if (!whole.hidden) zoom(root); } };
  });

  // Keys.
  let current = null;
  const seen = (item) => item.getClientRects().length > 0;
  const move = (step) => {
    const list = items.filter(seen);
    if (list.length === 0) return;
    const at = list.indexOf(current);
    const next = at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + step, 0), list.length - 1);
    if (current) current.classList.remove("current");
    current = list[next];
    current.classList.add("current");
    current.scrollIntoView({ block: "nearest" });
  };
  const open = () => {
    if (!current) return;
    const link = current.querySelector("a[href^='#']:not(.self)");
    const closed = all("details", current);
    if (closed.length > 0) {
      const now = !closed.every((each) => each.open);
      closed.forEach((each) => { each.open = now; });
    } else if (link) link.click();
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (search.value) { search.value = ""; filter(); } else graphs.forEach((graph) => graph.unzoom());
      search.blur();
      return;
    }
    if (event.target.closest("input")) {
      if (event.key === "Enter") { search.blur(); move(1); }
      return;
    }
    if (event.key === "/") { event.preventDefault(); search.focus(); search.select(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Enter" && !event.target.closest("a, button, summary, .flame g, .lanes")) open();
  });
})();
