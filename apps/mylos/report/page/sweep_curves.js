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
  return lineChart({ id: "curves", title: `${metricName(sweep)} against steps`, wide: true, log: "auto", lines, marks, quietLabel: "other members",
    summary: curvesInWords(sweep, lines, marks) })
    || nothing("curves", `No member has an evaluation of ${metricName(sweep)} in its evaluations.csv yet.`);
}

function curvesInWords(sweep, lines, marks) {
  const missing = sweep.members.length - lines.length;
  const signs = marks.length > 0 ? ` Vertical lines: the rungs, ${rungsInWords(sweep).replace("rungs at ", "")}.` : sweep.rungs.length > 1 ? ` The ${rungsInWords(sweep)}.` : "";
  const omitted = missing > 0 ? ` ${plural(missing, "member")} without a curve here.` : "";
  return `Each line is a member, a point an evaluation; rings mark the best values of the best members.${signs}${omitted}`;
}
