// A value of many parameters over steps: a row each, on a logarithmic scale of colours.

// Viridis (Smith, van der Walt, Firing), in nine colours of rising lightness, so that it is readable without hue.
const viridis = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const colourSteps = 32;

function heatMap({ id, title, health, map, zeroText }) {
  const { parameters, first, last } = health;
  const values = map.rows.flat().filter((value) => value !== null && value > 0);
  if (parameters.length === 0) return null;
  const [least, largest] = values.length === 0 ? [1e-7, 1]
    : values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, 0]);
  const broken = new Set(map.broken.map(([row, column]) => row * first.length + column));
  const spread = Math.log(largest / least) || Infinity;
  const shade = (value) => Math.min(colourSteps - 1, Math.floor((Math.log(value / least) / spread) * colourSteps));
  const words = `${plural(parameters.length, "parameter")}, ${plural(first.length, "column")}; from ${number(least)} to ${number(largest)}.` +
    (broken.size > 0 ? ` ${plural(broken.size, "cell")} with values that are not finite, marked with a cross.` : "");
  return card({
    id, title, wide: true, summary: words, legend: colourLegend(least, largest, zeroText),
    draw: (width) => drawHeatMap({ width, parameters, first, last, map, broken, shade }),
    table: () => tableOfHeatMap(title, parameters, map, first),
  }).figure;
}

function colourOf(level) {
  const place = (level / (colourSteps - 1)) * (viridis.length - 1);
  const [low, high] = [Math.floor(place), Math.ceil(place)];
  const part = (text, from) => parseInt(text.slice(from, from + 2), 16);
  const mixed = [1, 3, 5].map((from) => Math.round(part(viridis[low], from) + (place - low) * (part(viridis[high], from) - part(viridis[low], from))));
  return `rgb(${mixed.join(",")})`;
}

function colourLegend(least, largest, zeroText) {
  const width = 180;
  const bars = Array.from({ length: colourSteps }, (_, level) => shape("rect", {
    x: (level * width) / colourSteps, width: width / colourSteps + 0.5, height: 10, fill: colourOf(level) }));
  return element("ul", { class: "legend" }, element("li", { class: "whole" }, number(least, 2),
    shape("svg", { width, height: 10, "aria-hidden": "true" }, bars), `${number(largest, 2)}, logarithmic`),
  element("li", { class: "soft" }, zeroText));
}

// "attention12/qkv_weight" -> "atte…12/qkv_we…": the layer's number and the beginning of the parameter's name identify a row.
function shortened(name, most) {
  if (name.length <= most) return name;
  const [, letters, number, parameter] = /^(.*?)(\d*(?:\/|$))(.*)$/.exec(name);
  const half = Math.floor((most - number.length) / 2);
  const layer = letters.length <= half ? letters : `${letters.slice(0, half - 1)}\u2026`;
  const room = most - number.length - layer.length;
  return layer + number + (parameter.length <= room ? parameter : `${parameter.slice(0, room - 1)}\u2026`);
}

function drawHeatMap({ width, parameters, first, last, map, broken, shade }) {
  const row = Math.max(3, Math.min(20, Math.floor(520 / parameters.length)));
  const every = Math.max(1, Math.ceil(12 / row));  // only some labels if rows are low
  const most = width < 500 ? 15 : 34;
  const left = Math.min(width * 0.42, 12 + 6.4 * Math.max(...parameters.map((name) => Math.min(most, name.length))));
  const cell = (width - left - 4) / first.length;
  const height = row * parameters.length + 22;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height });
  const paths = Array.from({ length: colourSteps }, () => []);
  const crosses = [];
  map.rows.forEach((values, r) => values.forEach((value, c) => {
    const [x, y] = [(left + c * cell).toFixed(1), r * row];
    if (value > 0) paths[shade(value)].push(`M${x} ${y}h${(cell + 0.3).toFixed(1)}v${row - (row > 6 ? 1 : 0)}h-${(cell + 0.3).toFixed(1)}z`);
    if (broken.has(r * first.length + c)) crosses.push(`M${x} ${y + 1}l${cell.toFixed(1)} ${row - 3}m0 -${row - 3}l-${cell.toFixed(1)} ${row - 3}`);
  }));
  paths.forEach((path, level) => { if (path.length > 0) svg.append(shape("path", { d: path.join(""), fill: colourOf(level) })); });
  if (crosses.length > 0) svg.append(shape("path", { class: "cross", d: crosses.join("") }));
  parameters.forEach((name, r) => {
    if (r % every === 0) svg.append(shape("text", { x: left - 7, y: r * row + Math.min(row, 12) / 2 + 5, "text-anchor": "end" }, shortened(name, most)));
  });
  svg.append(shape("text", { x: left - 7, y: height - 5, "text-anchor": "end" }, "step"));
  const labels = Math.max(1, Math.floor((width - left) / 110));
  for (let i = 0; i <= labels; i += 1) {
    const column = Math.round((i * (first.length - 1)) / labels);
    if (first.length <= labels && i >= first.length) break;
    svg.append(shape("text", { x: left + (column + 0.5) * cell, y: height - 5,
      "text-anchor": i === 0 ? "start" : i === labels ? "end" : "middle" }, whole(i === labels ? last[column] : first[column])));
  }
  const cursor = shape("rect", { class: "cell-cursor", width: Math.max(cell, 4), height: row, visibility: "hidden" });
  svg.append(cursor);
  let [r, c] = [-1, 0];
  const move = ({ key, x, y }) => {
    if (key && r < 0) r = 0;
    else if (key) {
      const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e9], End: [0, 1e9], PageUp: [-10, 0], PageDown: [10, 0] };
      r += moves[key][0];
      c += moves[key][1];
    } else {
      r = Math.floor(y / row);
      c = Math.floor((x - left) / cell);
    }
    r = Math.min(parameters.length - 1, Math.max(0, r));
    c = Math.min(first.length - 1, Math.max(0, c));
    fill(cursor, { x: left + c * cell, y: r * row, visibility: "visible" }, []);
    const value = map.rows[r][c];
    return `${parameters[r]}, ${steps(first[c], last[c])}: ${value === null ? "no value" : number(value)}` +
      (broken.has(r * first.length + c) ? ", and values that are not finite" : "");
  };
  return { svg, move };
}

// The first, the smallest, the largest and the last value of each parameter.
function tableOfHeatMap(title, parameters, map, first) {
  const rows = parameters.map((name, r) => {
    const values = map.rows[r].filter((value) => value !== null);
    const least = values.reduce((low, value) => Math.min(low, value), Infinity);
    const largest = values.reduce((high, value) => Math.max(high, value), -Infinity);
    return { cells: [name, number(values[0]), number(least), number(largest), number(values[values.length - 1])] };
  });
  return table({ columns: [{ title: "parameter" }, ...["first", "least", "largest", "last"].map((word) => ({ title: word, number: true }))],
    rows, caption: `${title}, over ${plural(first.length, "column")}`, tall: true });
}
