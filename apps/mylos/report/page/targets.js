// The R2 of each target, by name: a row for each target, a column for each part of the data.

function targetCards(runs) {
  return runs.flatMap((run, i) => {
    if (!run.targets) return [];
    const { targets, parts, step } = run.targets;
    const names = Object.keys(parts);
    const title = runs.length > 1 ? `R\u00b2 of each target, ${run.label}` : "R\u00b2 of each target";
    const rows = targets.map((name, target) => ({
      cells: [name, ...names.map((part) => (parts[part][target] === null ? "\u2013" : number(parts[part][target], 4)))] }));
    return [figureOf({ id: `targets-${i}`, title, summary: `After step ${whole(step)}. A dash: the target is constant, or a prediction of it is not finite.` },
      table({ columns: [{ title: "target" }, ...names.map((part) => ({ title: part, number: true }))], rows, label: title,
        tall: targets.length > maxClassesShown }))];
  });
}
