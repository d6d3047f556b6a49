// Reliability diagrams: the observed coverage of prediction intervals against their nominal coverage.

function reliabilityCards(runs) {
  return runs.map((run, i) => (run.uncertainty ? reliabilityCard(run.uncertainty, runs.length > 1 ? `, ${run.label}` : "", i) : null)).filter((made) => made);
}

function reliabilityCard(uncertainty, of, i) {
  const { coverage } = uncertainty;
  const farthest = coverage.reduce((one, other) => (Math.abs(other[1] - other[0]) > Math.abs(one[1] - one[0]) ? other : one));
  const side = farthest[1] < farthest[0] ? "too narrow" : "too wide";
  const words = farthest[0] === farthest[1] ? "Observed and nominal coverage are equal."
    : `The largest deviation: ${percent(farthest[1])} of the targets lie in the intervals of ${percent(farthest[0])}, which are ${side}.`;
  const ofData = `${uncertainty.split ? ` of ${uncertainty.split}` : ""}${uncertainty.samples ? ` (${plural(uncertainty.samples, "sample")})` : ""}`;
  const figures = [["calibration error", "calibration_error"], ["miscalibration area", "miscalibration_area"], ["sharpness", "sharpness"], ["CRPS", "crps"]].filter(([, name]) => uncertainty[name] !== undefined && uncertainty[name] !== null)
    .map(([title, name]) => element("li", {}, `${title} ${number(uncertainty[name])}`));
  return card({
    id: `reliability-${i}`, title: `Reliability of the uncertainty${of}`, summary: `Coverage of prediction intervals${ofData}${uncertainty.step ? `, after step ${whole(uncertainty.step)}` : ""}. ${words}`,
    legend: element("ul", { class: "legend" }, figures), draw: (width) => drawReliability(width, coverage),
    table: () => table({ columns: [{ title: "nominal", number: true }, { title: "observed", number: true }], rows: coverage.map((pair) => ({ cells: pair.map(percent) })), tall: true, label: "Coverage" }),
  }).figure;
}

function drawReliability(width, coverage) {
  const side = Math.min(320, width - 60);
  const [left, top, bottom] = [50, 8, side + 8];
  const x = linearScale(0, 1, left, left + side, 5);
  const y = linearScale(0, 1, bottom, top, 5);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${side + 44}`, height: side + 44 });
  for (const tick of y.ticks) {
    svg.append(shape("line", { class: "grid", x1: left, x2: left + side, y1: y.place(tick), y2: y.place(tick) }),
      shape("text", { x: left - 7, y: y.place(tick) + 4, "text-anchor": "end" }, percent(tick)),
      shape("text", { x: x.place(tick), y: bottom + 16, "text-anchor": "middle" }, percent(tick)));
  }
  svg.append(shape("text", { x: left + side / 2, y: bottom + 32, "text-anchor": "middle" }, "nominal coverage; vertical: observed"),
    shape("line", { class: "diagonal", x1: x.place(0), y1: y.place(0), x2: x.place(1), y2: y.place(1) }));
  const points = coverage.map(([nominal, observed]) => [x.place(nominal), y.place(observed)]);
  const text = (list) => list.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
  const [first, last] = [coverage[0][0], coverage[coverage.length - 1][0]];
  svg.append(shape("path", { class: "band f1", d: `M${text(points)}L${text([[x.place(last), y.place(last)], [x.place(first), y.place(first)]])}Z` }),
    shape("path", { class: "curve s0", d: `M${text(points)}` }));
  if (points.length <= 40) for (const [cx, cy] of points) svg.append(shape("circle", { class: "dots f0", cx, cy, r: 3 }));
  const dot = shape("circle", { class: "dots f1", r: 5, visibility: "hidden" });
  svg.append(dot);
  let place = -1;
  const move = ({ key, x: pointer }) => {
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5, Home: -Infinity, End: Infinity };
    if (key) place = Math.min(points.length - 1, Math.max(0, place + moves[key]));
    else place = points.reduce((near, [px], i) => (Math.abs(px - pointer) < Math.abs(points[near][0] - pointer) ? i : near), 0);
    fill(dot, { cx: points[place][0], cy: points[place][1], visibility: "visible" }, []);
    const [nominal, observed] = coverage[place];
    return `nominal ${percent(nominal)}: observed ${percent(observed)}, ${percent(Math.abs(observed - nominal))} ${observed < nominal ? "too few" : "too many"}`;
  };
  return { svg, move };
}
