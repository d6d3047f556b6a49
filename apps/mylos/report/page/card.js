// A card is a figure with a title and a description in words. Most contain one drawing with keyboard navigation, a line with the
// values at the cursor, and the numbers as a table on demand.

const cards = [];

function figureOf({ id, title, summary, wide = true, buttons }, ...parts) {
  return element("figure", { class: wide ? "card wide" : "card", id, "aria-labelledby": `${id}-title` },
    element("figcaption", {},
      element("div", { class: "caption" }, element("h3", { id: `${id}-title` }, title), buttons),
      element("p", { class: "summary", id: `${id}-summary` }, summary)),
    ...parts);
}

// `draw(width)` returns {svg, count, show} and, where they serve, {stride, upward, columns, near}: see listen().
function card({ id, legend, draw, table, wide = false, ...caption }) {
  const readout = element("output", { class: "readout", "aria-live": "polite" });
  const place = element("div");
  const figure = figureOf({ id, wide, ...caption }, legend, place, readout, table && tableOnDemand(id, table));
  const redraw = (width) => {
    const focused = place.contains(document.activeElement);
    const drawn = draw(width);
    drawn.svg.classList.add("plot");
    fill(drawn.svg, { id: `${id}-plot`, role: "img", tabindex: "0", "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-summary` }, []);
    listen(drawn, readout);
    place.replaceChildren(drawn.svg);
    if (focused) drawn.svg.focus();
  };
  cards.push({ place, redraw, width: 0 });
  return { figure, redraw: () => redraw(place.clientWidth) };
}

const cursorKeys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

// Keys and the pointer select one of `count` places of a drawing: near(x, y) is the place at a position, -1 for none, and
// show(place) marks it and returns the text of the value line.
function listen(drawn, readout) {
  const { svg, near, show } = drawn;
  let place = -1;
  const select = (next) => {
    if (next < 0) return;
    place = next;
    readout.textContent = show(place);
  };
  svg.addEventListener("keydown", (event) => {
    if (!cursorKeys.includes(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    select(placeAfter(place, event.key, drawn));
  });
  svg.addEventListener("pointermove", (event) => {
    if (!near) return;
    const box = svg.getBoundingClientRect();
    select(near(event.clientX - box.left, event.clientY - box.top));
  });
}

// Page Up and Page Down move by `stride` places. Where larger values are higher (`upward`), the upper arrow moves ahead. With
// `columns`, the places are the cells of a grid, row by row.
function placeAfter(place, key, { count, stride = 1, upward = false, columns = 0 }) {
  if (place < 0 && key !== "End") return 0;
  if (columns > 0) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity], PageUp: [-10, 0], PageDown: [10, 0] };
    const [down, right] = moves[key];
    return within(Math.floor(place / columns) + down, count / columns) * columns + within((place % columns) + right, columns);
  }
  const down = upward ? -1 : 1;
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -down, ArrowDown: down, Home: -Infinity, End: Infinity, PageUp: -stride, PageDown: stride };
  return within(place + moves[key], count);
}

// The nearest of the numbers 0 to count - 1.
function within(place, count) {
  return Math.min(count - 1, Math.max(0, place));
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
