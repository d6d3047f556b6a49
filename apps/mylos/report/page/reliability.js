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
  const points = coverage.map(([nominal, observed]) => [x.place(nominal), y.place(observed)]);
  const curve = pathOf(points);
  const [first, last] = [coverage[0][0], coverage[coverage.length - 1][0]];
  const dot = shape("circle", { class: "dots f1", r: 5, visibility: "hidden" });
  const svg = drawing(width, side + 44,
    ...gridLines(y, y.ticks.map(percent), left, left + side),
    ...x.ticks.map((tick) => shape("text", { x: x.place(tick), y: bottom + 16, "text-anchor": "middle" }, percent(tick))),
    shape("text", { x: left + side / 2, y: bottom + 32, "text-anchor": "middle" }, "nominal coverage; vertical: observed"),
    shape("line", { class: "diagonal", x1: x.place(0), y1: y.place(0), x2: x.place(1), y2: y.place(1) }),
    shape("path", { class: "band f1", d: `${curve}L${x.place(last)} ${y.place(last)}L${x.place(first)} ${y.place(first)}Z` }),
    shape("path", { class: "curve s0", d: curve }),
    ...(points.length <= 40 ? points.map(([cx, cy]) => shape("circle", { class: "dots f0", cx, cy, r: 3 })) : []),
    dot);
  const near = (pointer) => points.reduce((found, [px], i) => (Math.abs(px - pointer) < Math.abs(points[found][0] - pointer) ? i : found), 0);
  const show = (place) => {
    fill(dot, { cx: points[place][0], cy: points[place][1], visibility: "visible" }, []);
    const [nominal, observed] = coverage[place];
    return `nominal ${percent(nominal)}: observed ${percent(observed)}, ${percent(Math.abs(observed - nominal))} ${observed < nominal ? "too few" : "too many"}`;
  };
  return { svg, count: points.length, stride: 5, upward: true, near, show };
}
