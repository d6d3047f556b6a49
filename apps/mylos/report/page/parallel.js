// Parallel coordinates (Inselberg 1985): an axis for each key and one for the metric, a line for each member.

function parallelCard(sweep) {
  if (sweep.keys.length === 0 || sweep.members.length === 0) return nothing("parallel", "No keys or members are known yet.");
  const ranked = rankedMembers(sweep);
  const others = sweep.members.map((member, index) => ({ ...member, index, rank: null })).filter((member) => !sweep.ranking.includes(member.index));
  const members = [...ranked, ...others];
  const [best] = ranked;
  const bare = others.length > 0 ? ` ${plural(others.length, "member")} without a value to compare, dotted.` : "";
  const words = best ? `${plural(ranked.length, "member")} from ${number(best.value)} to ${number(ranked[ranked.length - 1].value)}; the best: ${keysInWords(sweep, best)}.${bare}`
    : `No member has a value of ${metricName(sweep)} yet.${bare}`;
  return card({
    id: "parallel", title: `Keys and ${metricName(sweep)} of the members`, wide: true, summary: words, legend: parallelLegend(ranked, others),
    draw: (width) => drawParallel(width, sweep, members, ranked),
    table: () => table({ columns: [{ title: "member" }, ...sweep.keys.map((key) => ({ title: key.key, number: true })), { title: metricName(sweep), number: true }], tall: true, label: "Keys and values",
      rows: members.map((member) => ({ cells: [memberName(member), ...sweep.keys.map((key, i) => keyText(key, member.values[i])), number(member.value)] })) }),
  }).figure;
}

// Members after the best: the fuller the colour, the better the member.
function shareOfRank(member, ranked) {
  return ranked.length > 1 ? 1 - member.rank / (ranked.length - 1) : 1;
}

function lookOfMember(member, ranked) {
  if (member.rank === null) return { class: "curve unranked" };
  if (member.rank < bestShown) return { class: `curve best s${member.rank}`, "stroke-dasharray": dashes[member.rank] || null };
  return { class: "curve ranked", style: `--share: ${shareOfRank(member, ranked).toFixed(3)}` };
}

function parallelLegend(ranked, others) {
  const entries = ranked.slice(0, bestShown).map((member) => legendEntry(lookOfMember(member, ranked), memberLabel(member)));
  if (ranked.length > bestShown) entries.push(legendEntry({ class: "curve ranked", style: "--share: 0.8" }, "better"), legendEntry({ class: "curve ranked", style: "--share: 0.1" }, "worse"));
  if (others.length > 0) entries.push(legendEntry({ class: "curve unranked" }, "no value"));
  return element("ul", { class: "legend" }, entries);
}

// {title, place(member) or null, labels: [[position, text]]}
function keyAxis(key, i, top, bottom) {
  if (key.kind === "list") {
    const pitch = (bottom - top) / Math.max(1, key.values.length - 1);
    const at = (j) => (key.values.length > 1 ? bottom - j * pitch : (top + bottom) / 2);
    const every = Math.ceil(key.values.length / 12);
    return { title: key.key, labels: key.values.map((value, j) => [at(j), plainValue(value)]).filter((_, j) => j % every === 0),
      place: (member) => { const j = key.values.indexOf(member.values[i]); return j < 0 ? null : at(j); } };
  }
  const scale = (key.scale === "log" ? logScale : linearScale)(key.low, key.high, bottom, top, 5);
  return { title: key.key, labels: labelsOf(scale, top, bottom),
    place: (member) => { const value = numberOfKey(member.values[i] || ""); return value === null || value < key.low || value > key.high ? null : scale.place(value); } };
}

// "1e-4", not "1.0e-4".
function tickText(value) {
  return number(value, 3).replace(/\.?0+e/, "e");
}

// The ends of an axis and the ticks that are far enough from them.
function labelsOf(scale, top, bottom) {
  const ends = [[bottom, tickText(scale.least)], [top, tickText(scale.largest)]];
  if (scale.least === scale.largest) return [[scale.place(scale.least), tickText(scale.least)]];
  return [...ends, ...scale.ticks.map((tick) => [scale.place(tick), tickText(tick)]).filter(([y]) => y < bottom - 14 && y > top + 14)];
}

// The better end of the metric is at the top.
function metricAxis(sweep, ranked, top, bottom) {
  const values = ranked.map((member) => member.value);
  if (values.length === 0) return { title: metricName(sweep), labels: [], place: () => null };
  const [least, largest] = [Math.min(...values), Math.max(...values)];
  const [from, to] = sweep.better === "higher" ? [bottom, top] : [top, bottom];
  const scale = (least > 0 && largest / least > 40 ? logScale : linearScale)(least, largest, from, to, 5);
  return { title: metricName(sweep), place: (member) => (member.rank === null ? null : scale.place(member.value)),
    labels: labelsOf(scale, scale.place(largest), scale.place(least)).filter(([y]) => Number.isFinite(y)) };
}

function drawParallel(width, sweep, members, ranked) {
  const height = Math.round(Math.min(420, Math.max(280, width * 0.4)));
  const [top, bottom] = [34, height - 14];
  const axes = [...sweep.keys.map((key, i) => keyAxis(key, i, top, bottom)), metricAxis(sweep, ranked, top, bottom)];
  const pitch = (width - 76) / (axes.length - 1);
  const svg = drawing(width, height);
  const lines = members.map((member) => ({ member, points: axes.map((axis, i) => [8 + i * pitch, axis.place(member)]) }));
  for (const line of [...lines].reverse()) svg.append(shape("path", { ...lookOfMember(line.member, ranked), d: pathOf(line.points) }));
  axes.forEach((axis, i) => {
    const x = 8 + i * pitch;
    const isLast = i + 1 === axes.length;
    const most = Math.max(4, Math.floor((isLast ? 68 : pitch) / 7));
    const room = isLast ? Math.max(10, Math.floor((pitch + 60) / 7) - axes[i - 1].title.length) : most;
    svg.append(shape("line", { class: "axis strong", x1: x, x2: x, y1: top, y2: bottom }),
      shape("text", { class: "axis-title", x: isLast ? width : x - 6, y: i % 2 && pitch < 110 ? 24 : 10, "text-anchor": isLast ? "end" : "start" },
        shortKey(axis.title, pitch < 110 ? 2 * most : room)));
    for (const [y, text] of axis.labels) svg.append(shape("text", { class: "halo", x: x + 5, y: y + 4 }, clipped(text, most)));
  });
  const cursor = shape("path", { class: "curve chosen", visibility: "hidden" });
  svg.append(cursor);
  return {
    svg, count: lines.length, stride: Math.max(1, Math.round(lines.length / 10)),
    near: (x, y) => nearestLine(lines, x, y, pitch),
    show: (place) => {
      const { member, points } = lines[place];
      fill(cursor, { d: pathOf(points), visibility: "visible" }, []);
      return memberInWords(sweep, member);
    },
  };
}

// "model.layers.width" -> "width" if there is no room.
function shortKey(name, most) {
  return name.length <= most ? name : clipped(name.slice(name.lastIndexOf(".") + 1), most);
}

function clipped(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}\u2026`;
}

function memberInWords(sweep, member) {
  const rank = member.rank === null ? "" : `rank ${whole(member.rank + 1)}, `;
  const value = member.value === null ? `no ${metricName(sweep)}` : `${metricName(sweep)} ${number(member.value)}`;
  return `${memberName(member)}: ${rank}${value}, ${keysInWords(sweep, member)}, ${member.state}, ${plural(member.steps, "step")}`;
}

function nearestLine(lines, x, y, pitch) {
  let [found, least] = [-1, Infinity];
  lines.forEach(({ points }, i) => {
    const left = Math.min(points.length - 2, Math.max(0, Math.floor((x - points[0][0]) / pitch)));
    const [one, other] = [points[left], points[left + 1]];
    if (one[1] === null || other[1] === null) return;
    const at = one[1] + (Math.min(1, Math.max(0, (x - one[0]) / pitch))) * (other[1] - one[1]);
    if (Math.abs(at - y) < least) [found, least] = [i, Math.abs(at - y)];
  });
  return found;
}
