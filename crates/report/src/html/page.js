
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
      if (search.value) { search.value = ""; filter(); }
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
    else if (event.key === "Enter" && !event.target.closest("a, button, summary")) open();
  });
})();
