// The metric of each member against its steps; the best in colour, the others thin.

function sweepCurves(sweep) {
  const ranks = new Map(sweep.ranking.map((index, rank) => [index, rank]));
  const lines = sweep.curves.map((curve) => {
    const member = sweep.members[curve.index];
    const rank = ranks.get(curve.index);
    const isBest = rank !== undefined && rank < bestShown;
    const star = isBest && member.best_step !== null && member.value !== null ? { at: member.best_step, value: member.value } : null;
    return { label: isBest ? memberLabel(member) : memberName(member), quiet: !isBest, look: isBest ? rank : 5, star, curve: { steps: curve, values: curve.value } };
  });
  lines.sort((one, other) => Number(other.quiet) - Number(one.quiet) || one.look - other.look);
  const last = Math.max(0, ...sweep.curves.flatMap((curve) => curve.first));
  const first = Math.min(Infinity, ...sweep.curves.flatMap((curve) => curve.first));
  const marks = sweep.budget === "time" || sweep.rungs.length < 2 ? [] : sweep.rungs.map((step, i) => ({ step, sign: String(i), text: `rung ${i}` })).filter((mark) => mark.step >= first && mark.step <= last);
  const limit = curveLimit(sweep, lines);
  return lineChart({ id: "curves", title: `${metricName(sweep)} against steps`, wide: true, log: "auto", lines, marks, limit, quietLabel: "other members",
    summary: curvesInWords(sweep, lines, marks, limit) })
    || nothing("curves", `No member has an evaluation of ${metricName(sweep)} in its evaluations.csv yet.`);
}

// A member whose loss explodes must not flatten the curves of the others: the axis ends at the values of the best members, or
// at the upper quartile of the others.
function curveLimit(sweep, lines) {
  const valuesOf = (some) => some.flatMap((line) => line.curve.values.mean.filter((value) => value !== null));
  const loud = valuesOf(lines.filter((line) => !line.quiet));
  const quiet = valuesOf(lines.filter((line) => line.quiet)).sort((one, other) => one - other);
  if (sweep.better === "higher" || loud.length === 0 || quiet.length === 0) return Infinity;
  return Math.max(quiet[Math.floor(0.75 * (quiet.length - 1))], loud.reduce((most, value) => Math.max(most, value), -Infinity));
}

function curvesInWords(sweep, lines, marks, limit) {
  const missing = sweep.members.length - lines.length;
  const signs = marks.length > 0 ? ` Vertical lines: the rungs, ${rungsInWords(sweep).replace("rungs at ", "")}.` : sweep.rungs.length > 1 ? ` The ${rungsInWords(sweep)}.` : "";
  const omitted = missing > 0 ? ` ${plural(missing, "member")} without a curve here.` : "";
  const above = lines.filter((line) => line.curve.values.mean.some((value) => value > limit)).length;
  const clippedLines = above > 0 ? ` Values above ${number(limit)}, of ${plural(above, "member")}, are drawn at the top.` : "";
  return `Each line is a member, a point an evaluation; rings mark the best values of the best members.${signs}${clippedLines}${omitted}`;
}
