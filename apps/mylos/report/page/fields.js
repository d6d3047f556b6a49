// Fields and rollouts: error against step, spectra, and truth, prediction and difference of a few samples as images.

const notFiniteCode = 255;
const largestCode = 254;

function hasFields(run) {
  return run.samples !== null || run.rollouts.length > 0;
}

function fieldSection(runs) {
  const named = (run, text) => (runs.length > 1 ? `${run.label}, ${text}` : text);
  const parts = runs.flatMap((run, i) => [
    ...(run.rollouts).flatMap((rollout, j) => rolloutCards(`rollout-${i}-${j}`, named(run, rollout.name.replace(".rollout.json", "")), rollout)),
    ...Object.entries(run.samples ? run.samples.parts : {}).flatMap(([part, pictures]) => pictureCards(`samples-${i}-${part}`, named(run, part), pictures, `After step ${whole(run.samples.step)}.`)),
  ]);
  return parts;
}

// A line through single points; without a curve if it has none.
function lineThrough(label, look, at, values) {
  const known = values && values.some((value) => value !== null);
  return { label, look, curve: known ? { steps: { first: at }, values: { mean: values } } : null };
}

function rolloutCards(id, name, rollout) {
  const { errors, spectrum, pictures } = rollout;
  const broken = rollout.first_step_not_finite ? ` The values of a member are not finite from step ${whole(rollout.first_step_not_finite)}.` : "";
  const members = plural(rollout.members, "member");
  const line = (key, look, label) => lineThrough(label, look, errors.step, errors[key]);
  const pair = (key) => [line(key, 0, "network"), line(`persistence_${key}`, 1, "persistence")];
  const charts = [
    lineChart({ id: `${id}-nrmse`, title: `Rollout error, ${name}`, wide: true, log: "auto", lines: pair("nrmse"),
      summary: `nRMSE against step, the mean of ${members}.${broken}` }),
    lineChart({ id: `${id}-correlation`, title: `Correlation with the truth, ${name}`, lines: pair("correlation") }),
    lineChart({ id: `${id}-energy`, title: `Energy, ${name}`, lines: [line("energy", 0, "network"), line("truth_energy", 1, "truth")],
      summary: `Mean square over the points, the mean of ${members}.${broken}` }),
    spectrumChart(id, name, spectrum),
  ];
  return [...charts.filter((chart) => chart), ...variableCharts(id, name, rollout.variables), ...pictureCards(`${id}-picture`, name, pictures, "")];
}

// The errors of each variable against the lead time, in its units, its anomaly correlation, and its calibrated intervals.
function variableCharts(id, name, variables) {
  if (!variables) return [];
  const { names, units, levels, measures, coverage } = variables;
  const halves = measures.interval_width && measures.interval_width.map((widths) => widths.map((width) => (width === null ? null : width / 2)));
  return names.flatMap((variable, i) => {
    const lines = (list) => list.filter(([key]) => measures[key]).map(([key, label], look) => lineThrough(label, look, levels, measures[key][i]));
    const unit = units[i] ? ` (${units[i]})` : "";
    return [
      lineChart({ id: `${id}-rmse-${i}`, title: `RMSE of ${variable}${unit}, ${name}`, log: "auto", axis: "level",
        lines: [...lines([["rmse", measures.spread ? "mean of the ensemble" : "network"], ["persistence_rmse", "persistence"], ["climatology_rmse", "climatology"], ["spread", "spread of the ensemble"]]),
          ...(halves ? [lineThrough("half of the interval, which holds all points", 4, levels, halves[i])] : [])],
        summary: "Against the lead time, in levels." }),
      measures.acc ? lineChart({ id: `${id}-acc-${i}`, title: `Anomaly correlation of ${variable}, ${name}`, axis: "level",
        lines: lines([["acc", measures.spread ? "mean of the ensemble" : "network"], ["persistence_acc", "persistence"]]) }) : null,
      measures.interval_coverage ? lineChart({ id: `${id}-coverage-${i}`, title: `Coverage of the intervals of ${variable}, ${name}`, axis: "level", format: percent,
        lines: [...lines([["interval_coverage", "observed"]]), ...(coverage ? [lineThrough("asked for", 1, levels, levels.map(() => coverage))] : [])],
        summary: "The share of the starts whose interval holds all points." }) : null,
    ].filter((chart) => chart);
  });
}

// The truth and the network at the last step that has both, and the difference of both.
function spectrumChart(id, name, spectrum) {
  if (!spectrum || spectrum.wavenumber.length < 3) return null;
  const last = spectrum.steps.length - 1;
  const line = (label, look, values) => lineThrough(label, look, spectrum.wavenumber, values && values.map((value) => (value > 0 ? value : null)));
  return lineChart({ id: `${id}-spectrum`, title: `Spectrum, ${name}`, wide: true, low: true, log: "always", axis: "wavenumber",
    lines: [line("network", 0, spectrum.network[last]), line("truth", 1, spectrum.truth[last]), line("network \u2212 truth", 2, spectrum.error[last]),
      line("start", 3, spectrum.network[0])],
    summary: `Energy by wavenumber after step ${whole(spectrum.steps[last])} and at the start; grid taken as periodic.` });
}

function pictureCards(id, name, pictures, when) {
  return pictures.map((picture, i) => {
    const title = `${picture.title}, ${picture.channel} (${name})`;
    return picture.rows === 1 ? lineOfPicture(`${id}-${i}`, title, picture, when) : planesOfPicture(`${id}-${i}`, title, picture, when);
  }).filter((card) => card);
}

function reduced(picture) {
  const thinned = picture.every > 1 ? ` Every ${picture.every}th point is shown.` : "";
  return (picture.plane === undefined ? "" : ` Plane ${picture.plane} of the first axis.`) + thinned;
}

function lineOfPicture(id, title, picture, when) {
  if (picture.columns < 2) return null;
  const at = Array.from({ length: picture.columns }, (_, i) => i * picture.every);
  return lineChart({ id, title, wide: true, low: true, axis: "point", lines: [lineThrough("truth", 1, at, picture.truth), lineThrough("prediction", 0, at, picture.predicted)],
    summary: `${when} Values along the grid.${reduced(picture)}`.trim() });
}

// The codes of a plane in the order in which they are drawn, row by row from the top.
function codesOf(text, { rows, columns, upward }) {
  const binary = atob(text);
  const codes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  if (!upward) return codes;
  return codes.map((_, i) => codes[(rows - 1 - Math.floor(i / columns)) * columns + (i % columns)]);
}

// A PNG of the codes, one pixel each. What is not finite is transparent.
function imageOf(codes, rows, columns, colours) {
  const canvas = element("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(columns, rows);
  const table = Array.from({ length: largestCode + 1 }, (_, code) => colourAt(colours, code / largestCode));
  codes.forEach((code, i) => {
    if (code === notFiniteCode) return;
    pixels.data.set([...table[code], 255], 4 * i);
  });
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL("image/png");
}

// The borders between points that count and those that do not, such as coasts, as a path in points of the plane.
function coastOf(codes, rows, columns) {
  const counts = (row, column) => codes[row * columns + column] !== notFiniteCode;
  let path = "";
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      if (column > 0 && counts(row, column) !== counts(row, column - 1)) path += `M${column} ${row}v1`;
      if (row > 0 && counts(row, column) !== counts(row - 1, column)) path += `M${column} ${row}h1`;
    }
  }
  return path;
}

// Truth and prediction by one scale of colours, the difference by its own around zero, side by side.
function planesOfPicture(id, title, picture, when) {
  const { rows, columns, low, high, span } = picture;
  const panels = [["truth", viridis, low, high], ["predicted", viridis, low, high], ["difference", redBlue, -span, span]].map(([key, colours, from, to]) => {
    const codes = codesOf(picture[key], picture);
    return { name: key === "predicted" ? "prediction" : key, codes, url: imageOf(codes, rows, columns, colours),
      value: (code) => (code === notFiniteCode ? "not finite" : number(from + (code / largestCode) * (to - from))) };
  });
  const counts = (i) => panels[0].codes[i] !== notFiniteCode;  // points of weight 0 are blank in the truth too
  const broken = panels[1].codes.filter((code, i) => code === notFiniteCode && counts(i)).length;
  const words = `${when} Truth and prediction from ${number(low)} to ${number(high)}, difference within \u00b1${number(span)}.` +
    (broken > 0 ? ` ${plural(broken, "point")} of the prediction not finite.` : "") + reduced(picture);
  return card({ id, title, wide: true, summary: words.trim(), legend: fieldLegend(low, high, span),
    draw: (width) => drawPlanes(width, picture, panels) }).figure;
}

function fieldLegend(low, high, span) {
  const entry = (colours, from, to, text) => element("li", {}, number(from, 3), colourBar(colours, 110), `${number(to, 3)} ${text}`);
  return element("ul", { class: "legend" }, entry(viridis, low, high, "truth and prediction"), entry(redBlue, -span, span, "prediction \u2212 truth"));
}

function drawPlanes(width, { rows, columns, upward }, panels) {
  const gap = 14;
  const side = width < 520 ? width : (width - 2 * gap) / 3;  // below each other on a phone
  const across = width < 520 ? 1 : 3;
  const scale = Math.min(side / columns, 340 / rows);
  const [wide, high] = [columns * scale, rows * scale];
  const pitch = high + 26;
  const height = Math.ceil(3 / across) * pitch;
  const svg = drawing(width, height);
  const places = panels.map((_, i) => ({ x: (i % across) * (side + gap), y: Math.floor(i / across) * pitch + 20 }));
  const coast = coastOf(panels[0].codes, rows, columns);
  panels.forEach((panel, i) => svg.append(
    shape("text", { x: places[i].x, y: places[i].y - 6 }, panel.name),
    shape("image", { class: "field", href: panel.url, x: places[i].x, y: places[i].y, width: wide, height: high, preserveAspectRatio: "none" }),
    shape("path", { class: "coast", d: coast, transform: `translate(${places[i].x} ${places[i].y}) scale(${scale})` }),
    shape("rect", { class: "frame", x: places[i].x, y: places[i].y, width: wide, height: high })));
  const cursors = panels.map(() => shape("rect", { class: "cell-cursor", width: Math.max(scale, 4), height: Math.max(scale, 4), visibility: "hidden" }));
  svg.append(...cursors);
  const near = (x, y) => {
    const panel = places.find((place) => x >= place.x && x < place.x + wide && y >= place.y && y < place.y + high);
    return panel ? within(Math.floor((y - panel.y) / scale), rows) * columns + within(Math.floor((x - panel.x) / scale), columns) : -1;
  };
  const show = (place) => {
    const [row, column] = [Math.floor(place / columns), place % columns];
    cursors.forEach((cursor, i) => fill(cursor, { x: places[i].x + column * scale, y: places[i].y + row * scale, visibility: "visible" }, []));
    const at = `row ${upward ? rows - 1 - row : row}, column ${column}`;
    if (panels[0].codes[place] === notFiniteCode) return `${at}: does not count`;
    return `${at}: ${panels.map((panel) => `${panel.name} ${panel.value(panel.codes[place])}`).join(" \u00b7 ")}`;
  };
  return { svg, count: rows * columns, columns, near, show };
}
