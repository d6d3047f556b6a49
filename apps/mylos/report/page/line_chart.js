// Curves over steps. A point of a long run represents several steps: the line is their mean, the band behind it
// shows the range from the smallest to the largest. Quiet lines are thin, and neither in the legend nor in the value
// line, unless all lines are quiet. Values above `limit` are drawn at the upper end.

const dashes = ["", "7 3", "2 3", "9 3 2 3", "5 5", "1 4"];

function lineChart({ id, title, wide, low, lines, marks = [], format = number, log = "never", base = 10, summary, axis = "step", quietLabel, limit = Infinity }) {
  lines = lines.filter((line) => line.curve).map((line, i) => ({ look: i, ...line, points: pointsOf(line.curve) }));
  if (lines.length === 0) return null;
  const extent = extentOf(lines, limit);
  const decades = log === "never" ? null : decadesOf(extent);
  const mayLog = decades !== null;
  let logarithmic = mayLog && (log === "always" || decades.spread > 40);
  const toggle = mayLog && log !== "always" && element("button", { type: "button", id: `${id}-log`, "aria-pressed": String(logarithmic),
    onclick: () => {
      logarithmic = !logarithmic;
      toggle.setAttribute("aria-pressed", String(logarithmic));
      made.redraw();
    } }, decades.linearUpTo > 0 ? "log scale, linear around 0" : "log scale");
  const made = card({
    id, title, wide, buttons: toggle || null,
    summary: summary || lines.slice(0, 4).map((line, i) => inWords(line, lines.length > 1, i > 0, format)).join(" "),
    legend: lines.length > 1 || hasBand(lines[0]) ? legendOf(lines, quietLabel) : null,
    draw: (width) => drawLines({ width, high: wide && !low, lines, marks, extent, decades: logarithmic ? decades : null, base, format, axis }),
    table: () => tableOfLines(title, lines, format, axis),
  });
  return made.figure;
}

function pointsOf(curve) {
  const { first, last = first } = curve.steps;
  const { mean, least = mean, largest = mean } = curve.values;
  const points = [];
  for (let i = 0; i < mean.length; i += 1) {
    if (mean[i] !== null) points.push({ first: first[i], last: last[i], at: (first[i] + last[i]) / 2, mean: mean[i], least: least[i], largest: largest[i], gap: i > 0 && mean[i - 1] === null });
  }
  return points;
}

function extentOf(lines, limit) {
  const extent = { first: Infinity, last: -Infinity, least: Infinity, largest: -Infinity, leastPositive: Infinity, typicalLargest: 0 };
  for (const line of lines) {
    for (const point of line.points) {
      extent.first = Math.min(extent.first, point.first);
      extent.last = Math.max(extent.last, point.last);
      extent.least = Math.min(extent.least, point.least, limit);
      extent.largest = Math.max(extent.largest, Math.min(limit, point.largest));
      extent.typicalLargest = Math.max(extent.typicalLargest, Math.min(limit, point.mean));
      if (point.least > 0) extent.leastPositive = Math.min(extent.leastPositive, point.least);
    }
  }
  return extent;
}

// A logarithmic scale for the values, with the ratio that it spreads; null where only a linear scale shows them: all are equal, or
// none is positive. Values that are not all positive have a scale that is linear around zero, up to the smaller of the two ends.
function decadesOf({ least, largest, leastPositive, typicalLargest }) {
  if (!(largest > leastPositive)) return null;
  if (least > 0) return { linearUpTo: 0, spread: typicalLargest / leastPositive };
  const linearUpTo = least < 0 ? Math.min(-least, largest) : leastPositive;
  return { linearUpTo, spread: Math.max(-least, typicalLargest) / linearUpTo };
}

function inWords(line, named, short, format) {
  const { points } = line;
  const [start, end] = [points[0], points[points.length - 1]];
  const lowest = points.reduce((best, point) => (point.least < best.least ? point : best));
  const highest = points.reduce((best, point) => (point.largest > best.largest ? point : best));
  const name = named ? `${line.label}: ` : "";
  if (lowest.least === highest.largest) return `${name}${format(start.mean)} throughout.`;
  if (short) return `${name}${format(end.mean)} at step ${whole(end.last)}; least ${format(lowest.least)}.`;
  return `${name}${format(start.mean)} at step ${whole(start.first)}, ${format(end.mean)} at step ${whole(end.last)}; ` +
    `least ${format(lowest.least)}, largest ${format(highest.largest)}.`;
}

function hasBand(line) {
  return line.points.some((point) => point.least < point.largest);
}

function loudOf(lines) {
  const loud = lines.filter((line) => !line.quiet);
  return loud.length > 0 ? loud : lines;
}

function lookOf(line) {
  return { class: `curve s${line.look % 6}`, "stroke-dasharray": dashes[Math.floor(line.look) % dashes.length] || null };
}

function legendEntry(look, text) {
  return element("li", {}, swatch(26, 10, shape("path", { d: "M1 5H25", ...look })), text);
}

function legendOf(all, quietLabel) {
  const lines = loudOf(all);
  const entries = lines.map((line) => legendEntry(lookOf(line), line.label));
  if (lines.length < all.length) entries.push(legendEntry({ class: "curve quiet" }, quietLabel));
  if (lines.some(hasBand)) {
    entries.push(element("li", { class: "soft" }, swatch(26, 10, shape("rect", { class: `band f${lines[0].look % 6}`, width: 26, height: 10 })),
      "least to largest of the steps of a point"));
  }
  return element("ul", { class: "legend" }, entries);
}

function verticalScale({ least, largest, leastPositive }, decades, bottom, top, base) {
  if (!decades) return linearScale(least > 0 && least < largest / 3 ? 0 : least, largest, bottom, top, 5);
  if (decades.linearUpTo > 0) return symmetricScale(least, largest, decades.linearUpTo, bottom, top);
  return logScale(leastPositive, largest, bottom, top, 5, base);
}

function drawLines({ width, high, lines, marks, extent, decades, base, format, axis }) {
  const height = high ? Math.round(Math.min(340, Math.max(220, width * 0.42))) : 210;
  const bottom = height - 22;
  const top = marks.length > 0 ? 22 : 8;
  const y = verticalScale(extent, decades, bottom, top, base);
  const labels = y.ticks.map((tick) => format(tick));
  const left = labelWidth([...labels, axis === "step" ? "" : axis]);
  const x = linearScale(extent.first, extent.last, left, width - 10, Math.max(3, Math.floor(width / 85)));
  const svg = drawing(width, height,
    ...gridLines(y, labels, left, width - 10),
    shape("line", { class: "axis", x1: left, x2: width - 10, y1: bottom, y2: bottom }),
    shape("text", { x: left - 7, y: height - 5, "text-anchor": "end" }, axis));
  for (const tick of x.ticks.filter((step) => Number.isInteger(step))) {
    svg.append(shape("text", { x: Math.min(x.place(tick), width - 18), y: height - 5, "text-anchor": "middle" }, whole(tick)));
  }
  for (const mark of marks) svg.append(drawMark(mark, x, y, top, bottom, lines));
  for (const line of lines) svg.append(...drawLine(line, x, y));
  const cursor = shape("line", { class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
  const dots = loudOf(lines).map((line) => shape("circle", { class: `dots f${line.look % 6}`, r: 4, visibility: "hidden" }));
  svg.append(cursor, ...dots);
  return { svg, upward: true, ...placesOf(loudOf(lines), marks, x, y, cursor, dots, format, axis) };
}

function drawLine(line, x, y) {
  const { points } = line;
  const places = points.map((point) => x.place(point.at).toFixed(1));
  const height = (value) => y.place(Math.min(value, y.largest)).toFixed(1);
  const path = points.map((point, i) => `${i === 0 || point.gap ? "M" : "L"}${places[i]} ${height(point.mean)}`).join("");
  if (line.quiet) return [shape("path", { class: "curve quiet", d: path })];
  const drawn = [];
  if (hasBand(line)) {
    const upper = points.map((point, i) => `${places[i]} ${height(point.largest)}`);
    const lower = points.map((point, i) => `${places[i]} ${height(point.least)}`).reverse();
    drawn.push(shape("path", { class: `band f${line.look % 6}`, d: `M${upper.concat(lower).join("L")}Z` }));
  }
  drawn.push(shape("path", { ...lookOf(line), d: path }));
  if (points.length <= 40) {
    for (let i = 0; i < points.length; i += 1) {
      drawn.push(shape("circle", { class: `dots f${line.look % 6}`, cx: places[i], cy: height(points[i].mean), r: 3 }));
    }
  }
  if (line.star) drawn.push(shape("circle", { class: `ring s${line.look % 6}`, cx: x.place(line.star.at), cy: height(line.star.value), r: 6 }));
  return drawn;
}

// A cross on the curve, or a line with a sign at its top.
function drawMark(mark, x, y, top, bottom, lines) {
  const at = x.place(mark.step);
  if (mark.sign) {
    return shape("g", {}, shape("line", { class: "event", x1: at, x2: at, y1: top, y2: bottom }),
      shape("text", { class: "event-sign", x: at, y: top - 6, "text-anchor": "middle" }, mark.sign));
  }
  const near = nearest(lines[mark.line || 0].points, mark.step);
  const height = Math.max(top, y.place(near.largest) - 9);
  return shape("path", { class: "cross", d: `M${at - 3.5} ${height - 3.5}l7 7m0-7l-7 7` });
}

function nearest(points, step) {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].at < step) low = middle + 1; else high = middle;
  }
  if (low > 0 && step - points[low - 1].at < points[low].at - step) low -= 1;
  return points[low];
}

// The places of the cursor are the points of the line with the most; the other lines show their nearest points.
function placesOf(lines, marks, x, y, cursor, dots, format, axis) {
  const all = lines.reduce((most, line) => (line.points.length > most.length ? line.points : most), lines[0].points);
  const [from, to] = [x.place(x.least), x.place(x.largest)];
  const near = (pointer) => all.indexOf(nearest(all, x.least + ((pointer - from) / (to - from || 1)) * (x.largest - x.least)));
  const show = (place) => {
    const { at, first, last } = all[place];
    fill(cursor, { x1: x.place(at), x2: x.place(at), visibility: "visible" }, []);
    const words = lines.map((line, i) => {
      const point = nearest(line.points, at);
      fill(dots[i], { cx: x.place(point.at), cy: y.place(point.mean), visibility: "visible" }, []);
      const spread = point.least < point.largest ? ` (${format(point.least)} to ${format(point.largest)})` : "";
      return `${lines.length > 1 ? `${line.label} ` : ""}${format(point.mean)}${spread}`;
    });
    const here = marks.filter((mark) => mark.step >= first && mark.step <= last).slice(0, 3).map((mark) => mark.text);
    return `${places(axis, first, last)}: ${words.concat(here).join(" \u00b7 ")}`;
  };
  return { count: all.length, stride: Math.max(1, Math.round(all.length / 10)), near, show };
}

function places(axis, first, last) {
  return axis === "step" ? steps(first, last) : `${axis} ${whole(first)}`;
}

const mostTableRows = 400;

function tableOfLines(title, lines, format, axis) {
  const rows = [];
  for (const line of lines) {
    const every = Math.ceil((line.points.length * lines.length) / mostTableRows);
    for (let i = 0; i < line.points.length; i += every) {
      const point = line.points[i];
      const cells = [places(axis, point.first, point.last), format(point.mean), format(point.least), format(point.largest)];
      rows.push({ cells: lines.length > 1 ? [line.label, ...cells] : cells });
    }
  }
  const columns = [{ title: axis === "step" ? "steps" : axis }, { title: "mean", number: true }, { title: "least", number: true }, { title: "largest", number: true }];
  if (lines.length > 1) columns.unshift({ title: "curve" });
  const total = lines.reduce((sum, line) => sum + line.points.length, 0);
  const caption = rows.length < total ? `${title}: ${rows.length} of ${total} points, evenly chosen` : title;
  return table({ columns, rows, caption, tall: true });
}
