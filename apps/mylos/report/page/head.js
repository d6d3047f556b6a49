// The head of the page: the runs, their progress, and their figures.

const progressSigns = { done: "\u2713", running: "\u25b6", stopped: "\u25a0", diverged: "\u2715", unfinished: "\u2715" };
const progressWords = { done: "Done", running: "Running", stopped: "Stopped", diverged: "Diverged", unfinished: "Ended early" };

function stateOf(run) {
  return element("span", { class: `state ${run.progress}` },
    element("span", { "aria-hidden": "true" }, progressSigns[run.progress]), progressWords[run.progress]);
}

function stepsOf(run) {
  const step = run.history.step || 0;
  if (run.history.rows === 0) return "no step yet";
  return run.steps_of_run > 0 ? `step ${whole(step)} of ${whole(run.steps_of_run)}` : `step ${whole(step)}`;
}

function lastOf(run, part, value) {
  const curve = run.evaluations && run.evaluations[part] && run.evaluations[part][value];
  if (!curve) return null;
  const known = curve.mean.filter((one) => one !== null);
  return known.length > 0 ? known[known.length - 1] : null;
}

function lastMean(run, curve) {
  const { mean } = run.history.curves[curve] || { mean: [] };
  return mean.length > 0 ? mean[mean.length - 1] : null;
}

// Rows of [name, value, note]; missing values are omitted.
function figuresOf(run) {
  const { summary, history, plan } = run;
  const speed = summary.speed || {};
  const figures = [];
  const add = (name, value, more) => { if (value !== null && value !== undefined) figures.push([name, value, more]); };
  add("training loss", history.loss === undefined ? null : number(history.loss), history.epoch > 0 ? `epoch ${number(history.epoch, 3)}` : "");
  for (const part of ["validation", "test"]) {
    const loss = lastOf(run, part, "loss");
    const accuracy = lastOf(run, part, "accuracy");
    if (loss !== null) add(`${part} loss`, number(loss), accuracy === null ? "" : `accuracy ${percent(accuracy)}`);
  }
  const tokens = speed.tokens_per_s || lastMean(run, "tokens_per_s");
  const samples = speed.samples_per_s || lastMean(run, "samples_per_s");
  const share = speed.model_flop_utilisation || lastMean(run, "model_flop_utilisation");
  const rate = tokens || samples;
  add(tokens ? "tokens per second" : "samples per second", rate ? metric(rate) : null, share && share <= 1 && speed.peak !== "steps" ? `${percent(share)} of the peak` : "");
  add("time", history.elapsed_s === undefined ? null : duration(history.elapsed_s), "of all starts");
  const ranks = summary.ranks || (plan && plan.ranks);
  add("ranks", ranks ? whole(ranks) : null, summary.threads_per_rank ? plural(summary.threads_per_rank, "thread") + " each" : "");
  add("computes in", summary.compute_type || valueOfKey(run, "precision.compute"), plan && plan.parameters ? `${metric(plan.parameters)} parameters` : "");
  if (history.overflows) add("skipped steps", whole(history.overflows.total), history.rows > 0 ? `${percent(history.overflows.total / history.rows)} of ${whole(history.rows)}` : "");
  const memory = summary.memory && (summary.memory.device_bytes || summary.memory.host_peak_bytes);
  add("memory per rank", memory ? bytes(memory) : plan && plan.rank_bytes ? bytes(plan.rank_bytes) : null, memory ? "measured" : "planned");
  return figures;
}

function valueOfKey(run, key) {
  const found = run.deck.find(([name]) => name === key);
  return found ? found[1].replace(/^"(.*)"$/, "$1") : null;
}

function headOfOne(run) {
  const share = run.steps_of_run > 0 ? Math.min(1, (run.history.step || 0) / run.steps_of_run) : null;
  const text = `${stepsOf(run)}${share === null ? "" : ` (${percent(share)})`}`;
  return headOf(run, text, share === null ? null : { max: 1, value: share, "aria-label": "steps of the run" }, figuresOf(run));
}

// Of a run or a sweep. `progress`: the attributes of the bar, null for none; `more`: parts before the figures.
function headOf(subject, text, progress, figures, ...more) {
  const entries = figures.map(([name, value, note]) => element("div", {}, element("dt", {}, name), element("dd", {}, value), note ? element("dd", {}, note) : null));
  return [
    element("div", { class: "head" }, element("h1", {}, subject.label), stateOf(subject)),
    element("p", { class: "soft" }, `${text}; ${subject.progress_text}`),
    element("p", { class: "soft small break mono" }, subject.folder),
    progress && element("progress", progress), ...more,
    entries.length > 0 ? element("dl", { class: "figures" }, entries) : null,
  ];
}

function headOfMany(runs) {
  const names = [...new Set(runs.flatMap((run) => figuresOf(run).map(([name]) => name)))];
  const columns = [{ title: "" }, ...runs.map((run) => ({ title: run.label, wrap: true }))];
  const cellOf = (run, name) => {
    const found = figuresOf(run).find(([own]) => own === name);
    return found ? element("span", {}, element("strong", {}, found[1]), found[2] ? element("span", { class: "soft small" }, ` ${found[2]}`) : null) : "\u2013";
  };
  const rows = [
    { cells: ["state", ...runs.map(stateOf)] },
    { cells: ["steps", ...runs.map(stepsOf)] },
    ...names.map((name) => ({ cells: [name, ...runs.map((run) => cellOf(run, name))] })),
    { cells: ["folder", ...runs.map((run) => element("span", { class: "soft small mono" }, run.folder))] },
  ];
  return [
    element("h1", {}, `${runs.length} runs`),
    element("p", { class: "soft" }, "Side by side; their curves are overlaid, and keys of their decks that differ are marked."),
    element("div", { class: "card", id: "figures", style: "margin-top:1.2rem" }, table({ columns, rows, label: "Figures of the runs" })),
  ];
}

function notesOf(runs) {
  const notes = runs.flatMap((run) => run.notes.map((note) => (runs.length > 1 ? `${run.label}: ${note}` : note)));
  if (notes.length === 0) return null;
  return element("div", { class: "notes", id: "notes" }, element("strong", {}, "Left out or not found"),
    element("ul", {}, notes.map((note) => element("li", {}, note))));
}
