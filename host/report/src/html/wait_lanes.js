
// The longest waits in time: zooms, moves, and says who held what a wait was for.
(() => {
  const all = (selector, under = document) => [...under.querySelectorAll(selector)];
  const least = 0.25;
  const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
  all("figure.lanes").forEach((figure) => {
    const plot = figure.querySelector(".plot");
    const by = figure.querySelector(".by");
    const story = figure.querySelector(".story");
    const ticks = all(".axis text", figure);
    const number = (element, name) => Number(element.dataset[name]);
    const [first, last] = [number(figure, "from"), number(figure, "to")];
    const marks = all("g", plot).map((g) => ({ g, rect: g.querySelector("rect"), from: number(g, "from"), to: number(g, "to") }));
    const waits = marks.filter((mark) => mark.g.classList.contains("wait")).sort((a, b) => a.from - b.from || a.to - b.to);
    let [from, to] = [first, last];
    let chosen = null;

    const percent = (ns) => (ns - from) * 100 / (to - from);
    // As exact as the distance of two ticks needs.
    const told = (ns, step) => {
      const [unit, size] = units.find((each) => Math.abs(ns) >= each[1]) || units[3];
      const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size / step)) + 1));
      return (ns / size).toFixed(digits) + " " + unit;
    };
    const draw = () => {
      marks.forEach((mark) => {
        const x = percent(mark.from);
        mark.rect.setAttribute("x", x.toFixed(4) + "%");
        mark.rect.setAttribute("width", Math.max(least, percent(mark.to) - x).toFixed(4) + "%");
        mark.g.classList.toggle("none", mark.to < from || mark.from > to);
      });
      const step = (to - from) / ticks.length;
      ticks.forEach((tick, at) => { tick.textContent = told(from + at * step, step); });
      const ended = chosen && chosen.g.dataset.by !== undefined;
      by.toggleAttribute("hidden", !ended);
      if (ended) {
        const x = percent(number(chosen.g, "at")).toFixed(4) + "%";
        const y = Number(chosen.rect.getAttribute("y")) + 6;
        [["x1", x], ["x2", x], ["y1", chosen.g.dataset.by], ["y2", y]].forEach((pair) => by.setAttribute(...pair));
      }
      figure.classList.toggle("zoomed", from > first || to < last);
    };
    // The part from `a` to `b`, within the whole, and not shorter than can be told apart.
    const show = (a, b) => {
      const width = Math.min(Math.max(b - a, 100), last - first);
      const middle = (a + b) / 2;
      from = Math.min(Math.max(middle - width / 2, first), last - width);
      to = from + width;
      draw();
    };
    const zoom = (factor, about) => show(about - (about - from) * factor, about + (to - about) * factor);
    const move = (part) => {
      const by = Math.min(Math.max((to - from) * part, first - from), last - to);
      show(from + by, to + by);
    };
    const middle = () => {
      const at = chosen && (Math.max(chosen.from, from) + Math.min(chosen.to, to)) / 2;
      return at && at >= from && at <= to ? at : (from + to) / 2;
    };
    const choose = (mark) => {
      chosen = mark;
      marks.forEach((each) => {
        each.g.setAttribute("tabindex", each === mark ? "0" : "-1");
        each.g.classList.toggle("on", each === mark);
        each.g.classList.toggle("off", each.g.dataset.lock !== mark.g.dataset.lock);
      });
      story.textContent = mark.g.querySelector("title").textContent;
      if (mark.to < from || mark.from > to) {
        const half = (to - from) / 2;
        show((mark.from + mark.to) / 2 - half, (mark.from + mark.to) / 2 + half);
      } else draw();
    };
    const whole = () => show(first, last);
    const closer = () => {
      if (!chosen) return;
      const margin = Math.max((chosen.to - chosen.from) / 4, 50);
      show(chosen.from - margin, chosen.to + margin);
    };
    const step = (by) => {
      const now = waits.indexOf(chosen);
      const next = waits[now < 0 ? 0 : Math.min(Math.max(now + by, 0), waits.length - 1)];
      if (next) { choose(next); next.g.focus({ preventScroll: true }); }
    };

    const actions = { in: () => zoom(0.5, middle()), out: () => zoom(2, middle()), left: () => move(-0.25), right: () => move(0.25), whole };
    all("button", figure).forEach((button) => button.addEventListener("click", actions[button.dataset.do]));
    figure.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button")) return;
      if (event.key === "+" || event.key === "=") actions.in();
      else if (event.key === "-") actions.out();
      else if (event.key === "0" || event.key === "Escape") whole();
      else if (event.key === "Enter") closer();
      else if (event.key === "ArrowLeft") { if (event.shiftKey) actions.left(); else step(-1); }
      else if (event.key === "ArrowRight") { if (event.shiftKey) actions.right(); else step(1); }
      else return;
      event.preventDefault();
    });

    const at = (event) => {
      const box = plot.querySelector(".back").getBoundingClientRect();
      return from + (event.clientX - box.left) / box.width * (to - from);
    };
    // Until somebody chooses the drawing the wheel scrolls the page.
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !figure.contains(document.activeElement)) return;
      zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event));
      event.preventDefault();
    }, { passive: false });
    let drag = null;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button === 0) drag = { x: event.clientX, from, to, moved: false };
    });
    addEventListener("pointermove", (event) => {
      if (!drag) return;
      const by = (drag.x - event.clientX) / plot.querySelector(".back").getBoundingClientRect().width * (drag.to - drag.from);
      drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
      if (!drag.moved) return;
      const within = Math.min(Math.max(by, first - drag.from), last - drag.to);
      show(drag.from + within, drag.to + within);
      event.preventDefault();
    });
    addEventListener("pointerup", () => { setTimeout(() => { drag = null; }, 0); });
    plot.addEventListener("click", (event) => {
      if (drag && drag.moved) return;
      const mark = marks.find((each) => each.g === event.target.closest("g"));
      if (mark) { choose(mark); mark.g.focus({ preventScroll: true }); }
      else figure.querySelector(".scroll").focus({ preventScroll: true });
    });

    marks.forEach((mark) => {
      mark.g.setAttribute("role", "button");
      mark.g.setAttribute("tabindex", mark === waits[0] ? "0" : "-1");
    });
    all(".zooming", figure).forEach((each) => { each.hidden = false; });
    figure.classList.add("zooms");
  });
})();
