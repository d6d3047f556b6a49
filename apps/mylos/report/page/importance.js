// The importance of the keys: the share of the members' variance that each key explains alone.

function importanceCard(sweep) {
  const { importance } = sweep;
  const keys = importance.keys.filter((key) => key.share !== null).sort((one, other) => other.share - one.share);
  if (keys.length === 0) return nothing("importance", `No importance of keys: it takes 4 members with a value and keys of several values; ${plural(importance.members, "member")} count here.`);
  const of = importance.at_first_rung ? `${metricName(sweep)} at the first rung` : metricName(sweep);
  const gone = importance.diverged > 0 ? ` ${plural(importance.diverged, "member")} that diverged count${importance.diverged === 1 ? "s" : ""} as the worst.` : "";
  return card({
    id: "importance", title: "Importance of the keys", wide: true,
    summary: `Of the variance of ${plural(importance.members, "member")}, ranked by ${of}, ${keys[0].key} alone explains ${percent(keys[0].share)}. A key without effect is expected to reach its mark.${gone}`,
    draw: (width) => drawImportance(width, keys, sweep),
    table: () => groupsTable(sweep, keys),
  }).figure;
}

function drawImportance(width, keys, sweep) {
  const pitch = 34;
  const height = keys.length * pitch + 4;
  const most = Math.max(8, Math.floor((width * 0.4) / 7));
  const left = Math.min(width * 0.42, 14 + 6.8 * Math.max(...keys.map((key) => Math.min(most, key.key.length))));
  const room = width - left - 56;
  const svg = drawing(width, height);
  const frames = keys.map((key, i) => {
    const y = i * pitch + 4;
    const length = Math.max(1, key.share * room);
    svg.append(shape("text", { x: left - 8, y: y + 17, "text-anchor": "end" }, clipped(key.key, most)),
      shape("rect", { class: "empty-bar", x: left, y, width: room, height: 24 }),
      shape("rect", { class: "bar f0", x: left, y, width: length, height: 24 }),
      shape("line", { class: "chance", x1: left + key.chance * room, x2: left + key.chance * room, y1: y - 2, y2: y + 26 }),
      shape("text", { x: left + room + 6, y: y + 17 }, percent(key.share)));
    const frame = shape("rect", { class: "cell-cursor", x: left, y, width: room, height: 24, visibility: "hidden" });
    svg.append(frame);
    return frame;
  });
  const show = (place) => {
    frames.forEach((frame, i) => frame.setAttribute("visibility", i === place ? "visible" : "hidden"));
    return importanceInWords(keys[place], sweep);
  };
  return { svg, count: keys.length, stride: 5, near: (x, y) => within(Math.floor(y / pitch), keys.length), show };
}

function groupName(group) {
  if (group.value !== undefined) return plainValue(group.value);
  return group.low === group.high ? number(group.low) : `${number(group.low)} to ${number(group.high)}`;
}

function importanceInWords(key, sweep) {
  const best = key.groups.reduce((one, other) => (other.mean_rank < one.mean_rank ? other : one));
  const median = best.median === null ? "" : `, median ${metricName(sweep)} ${number(best.median)}`;
  return `${key.key}: ${percent(key.share)} of the variance, ${percent(key.chance)} expected at random; best on average: ${groupName(best)} (${plural(best.members, "member")}${median})`;
}

function groupsTable(sweep, keys) {
  const rows = keys.flatMap((key) => key.groups.map((group, i) => ({
    cells: [i === 0 ? key.key : "", i === 0 ? percent(key.share) : "", i === 0 ? percent(key.chance) : "", groupName(group), whole(group.members), number(group.mean_rank, 3),
      group.median === null ? "diverged" : number(group.median), group.best === null ? "diverged" : number(group.best)] })));
  return table({ columns: [{ title: "key" }, { title: "share", number: true }, { title: "at random", number: true }, { title: "values", number: true }, { title: "members", number: true },
    { title: "mean rank", number: true }, { title: `median ${metricName(sweep)}`, number: true }, { title: "best", number: true }], rows, tall: true, label: "Groups of members by key" });
}
