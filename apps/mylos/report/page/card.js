// A card contains one drawing: its title, a description in words, the drawing with keyboard navigation, a line with the
// values at the cursor, and its numbers as a table on demand.

const cards = [];

// `draw(width)` returns {svg, move}: move(key or pointer position) returns the text of the value line, or nothing.
function card({ id, title, summary, wide, legend, buttons, draw, table }) {
  const titleId = `${id}-title`;
  const summaryId = `${id}-summary`;
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const place = element("div");
  const figure = element("figure", { class: wide ? "card wide" : "card", id, "aria-labelledby": titleId },
    element("figcaption", {},
      element("div", { class: "caption" }, element("h3", { id: titleId }, title), buttons),
      element("p", { class: "summary", id: summaryId }, summary)),
    legend, place, readout, table && tableOnDemand(id, table));
  const redraw = (width) => {
    const focused = place.contains(document.activeElement);
    const drawing = draw(width);
    drawing.svg.classList.add("plot");
    for (const [name, value] of Object.entries({
      id: `${id}-plot`, role: "img", tabindex: "0", "aria-labelledby": titleId, "aria-describedby": summaryId,
    })) drawing.svg.setAttribute(name, value);
    listen(drawing, readout);
    place.replaceChildren(drawing.svg);
    if (focused) drawing.svg.focus();
  };
  cards.push({ place, redraw, width: 0 });
  return { figure, redraw: () => redraw(place.clientWidth) };
}

const cursorKeys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

function listen({ svg, move }, readout) {
  if (!move) return;
  const say = (text) => { if (text) readout.textContent = text; };
  svg.addEventListener("keydown", (event) => {
    if (!cursorKeys.includes(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    say(move({ key: event.key }));
  });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    say(move({ x: event.clientX - box.left, y: event.clientY - box.top }));
  });
}

// The table is built when it is opened, because tables of thousands of numbers are rarely read.
function tableOnDemand(id, make) {
  const details = element("details", { id: `${id}-table` }, element("summary", {}, "Numbers as a table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(make());
  });
  return details;
}

function drawCards() {
  for (const entry of cards) {
    const width = entry.place.clientWidth;
    if (width === entry.width || width === 0) continue;
    entry.width = width;
    entry.redraw(width);
  }
}
