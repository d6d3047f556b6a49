// The sections of time, memory, types of layers and events.

const timeNames = { compute_s: "compute", communication_s: "communication", data_wait_s: "waiting for data", evaluation_s: "evaluation", checkpoints_s: "checkpoints", other_s: "other" };

function timeChart(runs) {
  const bars = runs.map((run) => ({ label: run.label, parts: Object.entries(run.summary.time || {})
    .filter(([, value]) => Number.isFinite(value)).map(([name, value]) => ({ name: timeNames[name] || name, value })) }));
  return stackedBars({ id: "time", title: "Time of the last start", summary: "From the first step to the end of the start, mean over ranks.", bars, format: duration })
    || nothing("time", "Where the time of a whole start went is in summary.json, which a start writes at its end.");
}

function memoryChart(runs) {
  const bars = runs.map((run) => ({ label: run.label, limit: run.plan && run.plan.budget_bytes,
    parts: (run.plan ? run.plan.parts : []).map((part) => ({ name: part.name, value: part.bytes })) }));
  const words = runs.filter((run) => run.plan).map((run) => {
    const peak = run.summary.memory && run.summary.memory.host_peak_bytes;
    const again = run.plan.repeated_forwards > 0 ? `, ${plural(run.plan.repeated_forwards, "forward pass")} of blocks computed again`.replace("passs", "passes") : "";
    return `${runs.length > 1 ? `${run.label}: ` : ""}${bytes(run.plan.rank_bytes || 0)} of a rank planned${again}${peak ? `, ${bytes(peak)} at most reached` : ""}.`;
  });
  return stackedBars({ id: "memory", title: "Memory plan of a rank", summary: words.join(" "), bars, format: bytes, limitText: "budget" })
    || nothing("memory", "No plan.json: a run writes it when it starts, and `mylos plan DECK` prints it.");
}

const typeNames = { fp32: "float", bf16: "bfloat16", fp16: "half" };

function typesCard(runs) {
  const known = runs.filter((run) => run.layers);
  if (known.length === 0) return nothing("types", "The types of layers follow from resolved.toml, which is missing or cannot be read.");
  const names = [...new Set(known.flatMap((run) => run.layers.map((layer) => layer.name)))];
  const layerOf = (run, name) => run.layers.find((layer) => layer.name === name);
  const counts = (run) => {
    const types = {};
    for (const layer of run.layers) (types[layer.compute] = types[layer.compute] || []).push(layer.name);
    return Object.entries(types).map(([type, layers]) => `${plural(layers.length, "layer")} in ${typeNames[type] || type}${layers.length < 4 && run.layers.length > layers.length ? ` (${layers.join(", ")})` : ""}`).join(", ");
  };
  const one = known.length === 1 ? known[0] : null;
  const rows = names.map((name) => {
    const layers = known.map((run) => layerOf(run, name));
    if (one) return { cells: [name, layers[0].kind, layers[0].compute, layers[0].input, layers[0].output] };
    const types = layers.map((layer) => (layer ? layer.compute : "\u2013"));
    const differs = new Set(types).size > 1;
    return { differs, cells: [differs ? `\u2260 ${name}` : name, ...types] };
  });
  const columns = one ? ["layer", "kind", "computes in", "reads", "gives"] : ["layer", ...known.map((run) => run.label)];
  const list = table({ columns: columns.map((title) => ({ title })), rows, label: "Types of layers", tall: true });
  return figureOf({ id: "types", title: "Types of layers", summary: known.map((run) => (known.length > 1 ? `${run.label}: ` : "") + counts(run)).join("; ") + "." },
    rows.length <= 12 ? list : element("details", { id: "types-table" }, element("summary", {}, `All ${rows.length} layers`), list));
}

// What `mylos advise` measured; only runs whose folder has it.
function adviceCards(runs) {
  return runs.filter((run) => run.advice).map((run) => {
    const { advice } = run;
    const hasTokens = advice.trials.some((trial) => trial.tokens_per_s > 0);
    const hasJoules = advice.trials.some((trial) => Number.isFinite(trial.step_joules));
    const milliseconds = (value) => (Number.isFinite(value) ? `${number(1000 * value, 3)} ms` : "\u2013");
    const size = (value) => (Number.isFinite(value) ? bytes(value) : "\u2013");
    const count = (value) => (Number.isFinite(value) ? whole(value) : "\u2013");
    const rows = advice.trials.map((trial) => ({
      differs: trial.compute === advice.compute && trial.recompute === advice.recompute,
      cells: [typeNames[trial.compute] || trial.compute, trial.recompute, ...(trial.obstacle ? [trial.obstacle, ...Array(hasJoules ? 7 : 6).fill("\u2013")]
        : [milliseconds(trial.median_step_s), count(hasTokens ? trial.tokens_per_s : trial.samples_per_s), ...(hasJoules ? [number(trial.step_joules, 3)] : []),
          size(trial.rank_bytes), size(trial.activation_bytes), count(trial.largest_micro_batch), percent(trial.loss_gap), count(trial.skipped)])] }));
    const columns = [{ title: "type" }, { title: "recomputation" }, ...["step", hasTokens ? "tokens/s" : "samples/s", ...(hasJoules ? ["joules/step"] : []),
      "a rank takes", "of that activations", "largest micro-batch", "loss gap", "skipped"].map((title) => ({ title, number: true }))];
    const conditions = `${plural(advice.steps, "step")} of ${whole(advice.batch)} samples on ${plural(advice.ranks, "rank")}, ${plural(advice.rounds, "round")}${advice.computed_by ? `, ${advice.computed_by}` : ""}`;
    return figureOf({ id: runs.length > 1 ? `advice-${run.label}` : "advice", title: `Types compared by mylos advise${runs.length > 1 ? `, ${run.label}` : ""}`,
      summary: `${advice.verdict ? `${advice.verdict}. ` : ""}${conditions}. ${(advice.reasons || []).join(" ")}` },
      table({ columns, rows, label: "Types compared" }));
  });
}

function eventsCard(runs) {
  const known = runs.filter((run) => run.events);
  if (known.length === 0) return nothing("events", "No events.jsonl and no starts.jsonl: the run warned of nothing, returned to no checkpoint, adapted nothing, and was neither stopped nor restarted."
    + (runs.some((run) => Number(valueOfKey(run, "health.every")) > 0) ? "" : " `health.every` makes a run monitor its parameters too."));
  const byStep = (run) => [...run.events.rows].sort((one, other) => one.step - other.step);  // events are written when they are found, for an earlier step
  const rows = known.flatMap((run) => byStep(run).map((event) => ({
    cells: [...(runs.length > 1 ? [run.label] : []), whole(event.step),
      element("span", {}, element("span", { class: "sign", "aria-hidden": "true" }, signOf(event.kind)), event.kind), event.cause, event.subject, event.text] })));
  const kinds = known.map((run) => `${runs.length > 1 ? `${run.label}: ` : ""}${Object.entries(run.events.kinds).map(([kind, count]) => `${whole(count)} \u00d7 ${kind}`).join(", ") || "nothing happened"}`);
  const total = known.reduce((sum, run) => sum + run.events.total, 0);
  const columns = [...(runs.length > 1 ? [{ title: "run" }] : []), { title: "step", number: true }, { title: "kind" }, { title: "cause" }, { title: "of" }, { title: "what it says", wrap: true }];
  const shown = rows.length < total ? `; the first and the last ${whole(rows.length)} of ${whole(total)} are shown.` : ".";
  return figureOf({ id: "events", title: "Warnings, returns, adaptations, stops and restarts", summary: kinds.join("; ") + shown },
    rows.length > 0 ? table({ columns, rows, label: "Events", tall: true, long: true }) : null);
}
