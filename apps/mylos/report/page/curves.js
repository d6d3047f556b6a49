// The sections of curves: loss and evaluations, learning rate, loss scale, gradients, rates and the parts of a step.

function curveOf(run, name) {
  const { curves } = run.history;
  return curves[name] ? { steps: curves, values: curves[name] } : null;
}

// One line for each run.
function linesOf(runs, name) {
  return runs.map((run, i) => ({ label: run.label, look: i, curve: curveOf(run, name) }));
}

function nothing(id, text) {
  return element("p", { class: "nothing wide", id }, withCode(text));
}

const eventSigns = { warning: "!", rewind: "\u21b6", adaptation: "\u25c6", divergence: "\u2715", early_stop: "\u25a0", restart: "\u21bb", stop: "\u2016" };

function signOf(kind) {
  return eventSigns[kind] || "\u2022";
}

const maxMarks = 60;  // more would hide the curve

function eventMarks(runs) {
  const all = runs.flatMap((run) => (run.events ? run.events.rows : []).map((event) => ({
    step: event.step, sign: signOf(event.kind), text: `${event.kind}: ${event.text || event.cause}` })));
  const every = Math.ceil(all.length / maxMarks);
  return all.filter((_, i) => i % every === 0);
}

function lossSection(runs) {
  const lines = linesOf(runs, "loss").map((line) => (runs.length > 1 ? line : { ...line, label: "training, step by step" }));
  const parts = evaluationLines(runs, "loss", runs.length);
  const chart = lineChart({ id: "loss", title: "Loss", wide: true, log: "auto", lines: lines.concat(parts), marks: withinSteps(runs, eventMarks(runs)) });
  const measured = [["accuracy", "Accuracy", percent], ["top5", "Top-5 accuracy", percent], ["r2", "R\u00b2, mean over targets", number], ["rollout", "nRMSE of rollouts, mean over their steps", number], ["relative_l2", "Relative L2 error", number], ["relative_h1", "Relative H1 error", number], ["crps", "CRPS, in the units of the targets", number]]
    .map(([id, title, format]) => lineChart({ id, title, wide: true, low: true, lines: evaluationLines(runs, id, 0), format }));
  return [
    chart || nothing("loss", "No step has been written to history.csv yet."),
    ...measured,
    ...reliabilityCards(runs),
    ...targetCards(runs),
    ...confusionCards(runs),
    runs.every((run) => run.evaluations === null)
      ? nothing("evaluations", "No evaluations.csv. Give `data.validation` or `data.test`, and `run.evaluate_every` for a rhythm other than once an epoch; versions of Mylos that only print evaluations leave no curve.") : null,
  ];
}

// Training means of an evaluation are drawn only for a single run: with several, the curve of the steps shows the same.
function evaluationLines(runs, value, firstLook) {
  const lines = [];
  runs.forEach((run) => {
    for (const [part, curves] of Object.entries(run.evaluations || {})) {
      if (!curves[value] || (part === "train" && runs.length > 1)) continue;
      const label = part === "train" ? "training, mean since the evaluation before" : part;
      lines.push({ label: runs.length > 1 ? `${run.label}, ${part}` : label, look: firstLook + lines.length, curve: { steps: curves, values: curves[value] } });
    }
  });
  return lines;
}

function withinSteps(runs, marks) {
  const last = Math.max(0, ...runs.map((run) => run.history.step || 0));
  return marks.filter((mark) => mark.step <= last);
}

// 65536 -> 2 to the 16th, because the scale changes by factors of 2.
function powerOfTwo(value) {
  const power = Math.log2(value);
  if (!Number.isInteger(power) || power < 10) return number(value, 6);
  return `2${[...String(power)].map((digit) => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[digit]).join("")}`;
}

function scaleChart(runs) {
  const marks = runs.flatMap((run, line) => (run.history.overflows ? run.history.overflows.steps : []).map((step) => ({ step, line, text: "overflow, step skipped" })));
  const words = runs.map((run) => {
    const { overflows } = run.history;
    if (!overflows) return "";
    const name = runs.length > 1 ? `${run.label}: ` : "";
    const thinned = overflows.every > 1 ? `, one in ${overflows.every} of them marked` : "";
    return `${name}${plural(overflows.total, "overflow")}${overflows.total > 0 ? ` (\u00d7)${thinned}` : ""}.`;
  });
  const lines = linesOf(runs, "scale").filter((line) => line.curve);
  const shown = new Map(lines.map((line, i) => [line.look, i]));
  return lines.length > 0 ? lineChart({ id: "scale", title: "Loss scale", lines, log: "always", base: 2, format: powerOfTwo,
    marks: marks.filter((mark) => shown.has(mark.line)).map((mark) => ({ ...mark, line: shown.get(mark.line) })), summary: words.join(" ") })
    : nothing("scale", "No loss scale in history.csv.");
}

function optimizationSection(runs) {
  return [
    lineChart({ id: "lr", title: "Learning rate", lines: linesOf(runs, "lr") }) || nothing("lr", "No learning rate in history.csv."),
    scaleChart(runs),
    lineChart({ id: "gradient-norm", title: "Gradient norm", wide: true, low: true, lines: linesOf(runs, "gradient_norm"), log: "auto" })
      || nothing("gradient-norm", "No gradient norms in history.csv."),
  ];
}

function healthSection(runs) {
  const maps = [];
  runs.forEach((run, i) => {
    if (!run.health) return;
    const of = runs.length > 1 ? `, ${run.label}` : "";
    const { gradient_norm: norms, update_ratio: ratios } = run.health.maps;
    if (norms) maps.push(heatMap({ id: `health-${i}`, title: `Gradient norm of each parameter${of}`, health: run.health, map: norms, zeroText: "largest of a cell's steps; empty: zero, or not measured" }));
    if (ratios) maps.push(heatMap({ id: `ratio-${i}`, title: `Update ratio of each parameter${of}`, health: run.health, map: ratios, zeroText: "size of the update over that of the weights" }));
  });
  const drawn = maps.filter((map) => map);
  return drawn.length > 0 ? drawn
    : [nothing("health", "No numbers of single parameters. `health.every = 50` writes their norms every 50 steps.")];
}

// Of one run its curves of these [name, label] in one drawing, of several one drawing for each.
function chartsOfCurves(runs, curves, { one, each, format }) {
  if (runs.length > 1)
    return curves.map(([name, label]) => lineChart({ id: `${each.id}-${name}`, title: `${each.title}: ${label}`, lines: linesOf(runs, name), format }));
  const lines = curves.map(([name, label], look) => ({ label, look, curve: curveOf(runs[0], name) }));
  return [lineChart({ ...one, wide: true, low: true, lines, format })];
}

function memoryCurves(runs) {
  const title = "Memory of rank 0";
  return chartsOfCurves(runs, [["host_bytes", "process, resident"], ["host_peak_bytes", "its maximum so far"], ["device_bytes", "device, in use by all"]],
    { one: { id: "memory-steps", title }, each: { id: "memory", title }, format: bytes });
}

function ratesSection(runs) {
  const tokens = linesOf(runs, "tokens_per_s");
  const hasTokens = tokens.some((line) => line.curve);
  return [
    lineChart({ id: "rate", title: hasTokens ? "Tokens per second" : "Samples per second",
      lines: hasTokens ? tokens : linesOf(runs, "samples_per_s"), format: metric }) || nothing("rate", "No speeds in history.csv."),
    lineChart({ id: "share", title: "Share of the machine's peak FLOP/s", lines: linesOf(runs, "model_flop_utilisation"), format: percent })
      || nothing("share", "No share of the peak: this run's version did not measure it."),
    ...chartsOfCurves(runs, [["compute_s", "compute"], ["communication_s", "communication"], ["data_wait_s", "waiting for data"]],
      { one: { id: "parts", title: "Parts of a step" }, each: { id: "parts", title: "Of a step" }, format: (value) => `${number(value * 1000, 3)} ms` }),
  ];
}
