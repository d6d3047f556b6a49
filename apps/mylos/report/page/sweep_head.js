// The head of a sweep's page: its progress, the states of its members, and its best value.

function headOfSweep(sweep) {
  const { members, counts } = sweep;
  const ended = members.filter((member) => !["waiting", "running"].includes(member.state)).length;
  const all = Math.max(sweep.trials, members.length);
  const states = Object.entries(counts).map(([state, count]) => element("li", {}, memberState(sweep, state, count)));
  return headOf(sweep, `${whole(ended)} of ${plural(all, "member")} ended`, all > 0 ? { max: all, value: ended, "aria-label": "members that have ended" } : null, figuresOfSweep(sweep),
    element("ul", { class: "legend states", id: "states", "aria-label": "States of the members" }, states));
}

// Rows of [name, value, note]; missing values are omitted.
function figuresOfSweep(sweep) {
  const [best] = rankedMembers(sweep);
  const { members } = sweep;
  const figures = [[`best ${metricName(sweep)}`, best ? number(best.value) : "\u2013", best ? `member ${memberName(best)}${best.best_step === null ? "" : `, step ${whole(best.best_step)}`}; ${sweep.better} is better` : "no member has been measured"]];
  figures.push(["search", sweep.strategy || "\u2013", [plural(sweep.keys.length, "key"), rungsInWords(sweep)].filter((text) => text).join(", ")]);
  const steps = sumOf(members.map((member) => member.steps));
  figures.push(["steps of all members", metric(steps), ""]);
  const seconds = sumOf(members.map((member) => member.seconds || 0));
  if (seconds > 0) figures.push(["time of all members", duration(seconds), ""]);
  if (sweep.ranks_per_trial > 0) figures.push(["ranks of a member", whole(sweep.ranks_per_trial), ""]);
  return figures;
}

function rungsInWords(sweep) {
  if (sweep.rungs.length < 2) return "";
  const ends = sweep.rungs.map((rung) => (sweep.budget === "time" ? duration(rung) : whole(rung)));
  return `rungs at ${ends.join(", ")}${sweep.budget === "time" ? "" : " steps"}`;
}
