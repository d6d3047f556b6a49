// Fields and rollouts: error against step, spectra, and truth, prediction and difference of a few samples as images.

// RdBu (Brewer, colorbrewer2.org), of eleven colours: diverging, and readable by colour-blind people. Red: too large.
const redBlue = ["#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f"];
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

function curveOfErrors(errors, name, look, label) {
  const values = errors[name];
  if (!values || values.every((value) => value === null)) return { label, look, curve: null };
  return { label, look, curve: { steps: { first: errors.step }, values: { mean: values } } };
}

function rolloutCards(id, name, rollout) {
  const { errors, spectrum, pictures } = rollout;
  const broken = rollout.first_step_not_finite ? ` The values of a member are not finite from step ${whole(rollout.first_step_not_finite)}.` : "";
  const members = plural(rollout.members, "member");
  const pair = (key) => [curveOfErrors(errors, key, 0, "network"), curveOfErrors(errors, `persistence_${key}`, 1, "persistence")];
  const charts = [
    lineChart({ id: `${id}-nrmse`, title: `Rollout error, ${name}`, wide: true, log: "auto", lines: pair("nrmse"),
      summary: `nRMSE against step, the mean of ${members}.${broken}` }),
    lineChart({ id: `${id}-correlation`, title: `Correlation with the truth, ${name}`, lines: pair("correlation") }),
    lineChart({ id: `${id}-energy`, title: `Energy, ${name}`, lines: [curveOfErrors(errors, "energy", 0, "network"), curveOfErrors(errors, "truth_energy", 1, "truth")],
      summary: `Mean square over the points, the mean of ${members}.${broken}` }),
    spectrumChart(id, name, spectrum),
  ];
  return [...charts.filter((chart) => chart), ...pictureCards(`${id}-picture`, name, pictures, "")];
}

// The truth and the network at the last step that has both, and the difference of both.
function spectrumChart(id, name, spectrum) {
  if (!spectrum || spectrum.wavenumber.length < 3) return null;
  const last = spectrum.steps.length - 1;
  const line = (label, look, values) => ({ label, look, curve: values && values.length > 0 && values.some((value) => value > 0)
    ? { steps: { first: spectrum.wavenumber }, values: { mean: values.map((value) => (value > 0 ? value : null)) } } : null });
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
  const line = (label, look, values) => ({ label, look, curve: { steps: { first: at }, values: { mean: values } } });
  return lineChart({ id, title, wide: true, low: true, axis: "point", lines: [line("truth", 1, picture.truth), line("prediction", 0, picture.predicted)],
    summary: `${when} Values along the grid.${reduced(picture)}`.trim() });
}

// The codes of a plane in the order in which they are drawn, row by row from the top.
function codesOf(text, { rows, columns, upward }) {
  const binary = atob(text);
  const codes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  if (!upward) return codes;
  return codes.map((_, i) => codes[(rows - 1 - Math.floor(i / columns)) * columns + (i % columns)]);
}

function colourBetween(colours, share) {
  const place = share * (colours.length - 1);
  const [low, high] = [Math.floor(place), Math.ceil(place)];
  return [1, 3, 5].map((from) => {
    const part = (text) => parseInt(text.slice(from, from + 2), 16);
    return Math.round(part(colours[low]) + (place - low) * (part(colours[high]) - part(colours[low])));
  });
}

// A PNG of the codes, one pixel each. What is not finite is transparent.
function imageOf(codes, rows, columns, colours) {
  const canvas = element("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(columns, rows);
  const table = Array.from({ length: largestCode + 1 }, (_, code) => colourBetween(colours, code / largestCode));
  codes.forEach((code, i) => {
    if (code === notFiniteCode) return;
    pixels.data.set([...table[code], 255], 4 * i);
  });
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL("image/png");
}

// Truth and prediction by one scale of colours, the difference by its own around zero, side by side.
function planesOfPicture(id, title, picture, when) {
  const { rows, columns, low, high, span } = picture;
  const panels = [["truth", viridis, low, high], ["predicted", viridis, low, high], ["difference", redBlue, -span, span]].map(([key, colours, from, to]) => {
    const codes = codesOf(picture[key], picture);
    return { name: key === "predicted" ? "prediction" : key, codes, url: imageOf(codes, rows, columns, colours),
      value: (code) => (code === notFiniteCode ? "not finite" : number(from + (code / largestCode) * (to - from))) };
  });
  const broken = panels[1].codes.filter((code) => code === notFiniteCode).length;
  const words = `${when} Truth and prediction from ${number(low)} to ${number(high)}, difference within \u00b1${number(span)}.` +
    (broken > 0 ? ` ${plural(broken, "point")} of the prediction not finite.` : "") + reduced(picture);
  return card({ id, title, wide: true, summary: words.trim(), legend: fieldLegend(low, high, span),
    draw: (width) => drawPlanes(width, picture, panels) }).figure;
}

function fieldLegend(low, high, span) {
  const bar = (colours, from, to, text) => {
    const width = 110;
    const cells = Array.from({ length: colourSteps }, (_, i) => shape("rect", { x: (i * width) / colourSteps, width: width / colourSteps + 0.5, height: 10,
      fill: `rgb(${colourBetween(colours, i / (colourSteps - 1)).join(",")})` }));
    return element("li", {}, number(from, 3), shape("svg", { width, height: 10, "aria-hidden": "true" }, cells), `${number(to, 3)} ${text}`);
  };
  return element("ul", { class: "legend" }, bar(viridis, low, high, "truth and prediction"), bar(redBlue, -span, span, "prediction \u2212 truth"));
}

function drawPlanes(width, { rows, columns, upward }, panels) {
  const gap = 14;
  const side = width < 520 ? width : (width - 2 * gap) / 3;  // below each other on a phone
  const across = width < 520 ? 1 : 3;
  const scale = Math.min(side / columns, 340 / rows);
  const [wide, high] = [columns * scale, rows * scale];
  const pitch = high + 26;
  const height = Math.ceil(3 / across) * pitch;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height });
  const places = panels.map((_, i) => ({ x: (i % across) * (side + gap), y: Math.floor(i / across) * pitch + 20 }));
  panels.forEach((panel, i) => svg.append(
    shape("text", { x: places[i].x, y: places[i].y - 6 }, panel.name),
    shape("image", { class: "field", href: panel.url, x: places[i].x, y: places[i].y, width: wide, height: high, preserveAspectRatio: "none" }),
    shape("rect", { class: "frame", x: places[i].x, y: places[i].y, width: wide, height: high })));
  const cursors = panels.map(() => shape("rect", { class: "cell-cursor", width: Math.max(scale, 4), height: Math.max(scale, 4), visibility: "hidden" }));
  svg.append(...cursors);
  let [row, column] = [-1, 0];
  const move = ({ key, x, y }) => {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e9], End: [0, 1e9], PageUp: [-10, 0], PageDown: [10, 0] };
    if (key && row < 0) row = 0;
    else if (key) [row, column] = [row + moves[key][0], column + moves[key][1]];
    else {
      const panel = places.findIndex((place) => x >= place.x && x < place.x + wide && y >= place.y && y < place.y + high);
      if (panel < 0) return null;
      [row, column] = [Math.floor((y - places[panel].y) / scale), Math.floor((x - places[panel].x) / scale)];
    }
    row = Math.min(rows - 1, Math.max(0, row));
    column = Math.min(columns - 1, Math.max(0, column));
    cursors.forEach((cursor, i) => fill(cursor, { x: places[i].x + column * scale, y: places[i].y + row * scale, visibility: "visible" }, []));
    return `row ${upward ? rows - 1 - row : row}, column ${column}: ${panels.map((panel) => `${panel.name} ${panel.value(panel.codes[row * columns + column])}`).join(" \u00b7 ")}`;
  };
  return { svg, move };
}
