// A value of many parameters over steps: a row each, on a logarithmic scale of colours.

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
    id, title, wide: true, summary: words, legend: heatMapLegend(least, largest, zeroText),
    draw: (width) => drawHeatMap({ width, parameters, first, last, map, broken, shade }),
    table: () => tableOfHeatMap(title, parameters, map, first),
  }).figure;
}

function heatMapLegend(least, largest, zeroText) {
  return element("ul", { class: "legend" },
    element("li", { class: "whole" }, number(least, 2), colourBar(viridis, 180), `${number(largest, 2)}, logarithmic`),
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
  const svg = drawing(width, height);
  const paths = Array.from({ length: colourSteps }, () => []);
  const crosses = [];
  map.rows.forEach((values, r) => values.forEach((value, c) => {
    const [x, y] = [(left + c * cell).toFixed(1), r * row];
    if (value > 0) paths[shade(value)].push(`M${x} ${y}h${(cell + 0.3).toFixed(1)}v${row - (row > 6 ? 1 : 0)}h-${(cell + 0.3).toFixed(1)}z`);
    if (broken.has(r * first.length + c)) crosses.push(`M${x} ${y + 1}l${cell.toFixed(1)} ${row - 3}m0 -${row - 3}l-${cell.toFixed(1)} ${row - 3}`);
  }));
  paths.forEach((path, level) => { if (path.length > 0) svg.append(shape("path", { d: path.join(""), fill: colourOf(viridis, level) })); });
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
  const columns = first.length;
  return {
    svg, count: parameters.length * columns, columns,
    near: (x, y) => within(Math.floor(y / row), parameters.length) * columns + within(Math.floor((x - left) / cell), columns),
    show: (place) => {
      const [r, c] = [Math.floor(place / columns), place % columns];
      fill(cursor, { x: left + c * cell, y: r * row, visibility: "visible" }, []);
      const value = map.rows[r][c];
      return `${parameters[r]}, ${steps(first[c], last[c])}: ${value === null ? "no value" : number(value)}` +
        (broken.has(place) ? ", and values that are not finite" : "");
    },
  };
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
