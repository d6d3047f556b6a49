// Confusion matrices: a row for each class, a column for each predicted class. The darker a cell, the larger its
// fraction of the row.

const maxClassesShown = 30;  // more do not fit: the most frequent confusions replace the matrix

function confusionCards(runs) {
  return runs.flatMap((run, i) => Object.entries(run.confusion ? run.confusion.parts : {}).map(([part, rows]) => {
    const { classes, step } = run.confusion;
    const of = runs.length > 1 ? `${run.label}, ${part}` : part;
    return figureOf({ id: `confusion-${i}-${part}`, title: `Confusion matrix, ${of}`, summary: confusionInWords(classes, rows, step) },
      classes.length <= maxClassesShown ? matrixOf(classes, rows, of) : pairsOf(classes, rows, of, 40));
  }));
}

function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

// [label, predicted, count] of the wrong predictions, the most frequent first.
function confusedPairs(rows) {
  return rows.flatMap((row, label) => row.map((count, predicted) => [label, predicted, count]))
    .filter(([label, predicted, count]) => label !== predicted && count > 0).sort((a, b) => b[2] - a[2]);
}

function confusionInWords(classes, rows, step) {
  const all = sumOf(rows.map(sumOf));
  const right = sumOf(rows.map((row, label) => row[label]));
  const [worst] = confusedPairs(rows);
  const most = worst ? ` Most often ${classes[worst[0]]} is taken for ${classes[worst[1]]}, ${plural(worst[2], "time")}.` : "";
  return `After step ${whole(step)}: ${whole(right)} of ${whole(all)} samples right. Rows are the labels, columns the predicted classes.${most}`;
}

function matrixOf(classes, rows, of) {
  const cells = rows.map((row, label) => {
    const all = Math.max(1, sumOf(row));
    return { cells: [classes[label], ...row.map((count, predicted) => element("span", {
      class: predicted === label ? "share right" : "share", style: `--share: ${(count / all).toFixed(3)}`,
      title: `${classes[label]} taken for ${classes[predicted]}: ${percent(count / all)}` }, whole(count)))] };
  });
  return table({ columns: [{ title: "label" }, ...classes.map((name) => ({ title: name, number: true }))], rows: cells,
    label: `Confusion matrix, ${of}` });
}

function pairsOf(classes, rows, of, most) {
  const pairs = confusedPairs(rows).slice(0, most).map(([label, predicted, count]) => ({
    cells: [classes[label], classes[predicted], whole(count), percent(count / Math.max(1, sumOf(rows[label])))] }));
  return table({ columns: [{ title: "label" }, { title: "taken for" }, { title: "samples", number: true }, { title: "of the label's", number: true }],
    rows: pairs, caption: `What is confused most, ${of}`, tall: true });
}
