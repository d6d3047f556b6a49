// Axes: maps values to positions, and places ticks.

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = rough / power;
  return (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10) * power;
}

function linearScale(least, largest, from, to, count) {
  if (least === largest) {
    const middle = (from + to) / 2;
    return { least, largest, place: () => middle, ticks: [least] };
  }
  const step = niceStep((largest - least) / count);
  const ticks = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= largest + step * 1e-9 && ticks.length < 50; i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  const place = (value) => from + ((value - least) / (largest - least)) * (to - from);
  return { least, largest, place, ticks };
}

// For positive values; ticks are powers of `base`.
function logScale(least, largest, from, to, count, base = 10) {
  if (least === largest) return linearScale(least, largest, from, to, count);
  const logarithm = (value) => Math.log(value) / Math.log(base);
  const [low, high] = [logarithm(least), logarithm(largest)];
  const place = (value) => from + ((logarithm(Math.max(value, least)) - low) / (high - low)) * (to - from);
  let ticks = [];
  const every = Math.max(1, Math.ceil((high - low) / count));
  for (let power = Math.ceil(low - 1e-9); power <= high + 1e-9; power += 1) {
    if (power % every === 0) ticks.push(base ** power);
  }
  if (ticks.length < 2) {
    ticks = linearScale(least, largest, from, to, count).ticks.filter((tick) => tick >= least);
  }
  return { least, largest, place, ticks };
}

// For values that are not all positive: linear up to about `linearUpTo` on both sides of zero, logarithmic beyond. Ticks are zero and
// powers of ten at least 14 pixels apart.
function symmetricScale(least, largest, linearUpTo, from, to) {
  const [low, high] = [Math.asinh(least / linearUpTo), Math.asinh(largest / linearUpTo)];
  const place = (value) => from + ((Math.asinh(value / linearUpTo) - low) / (high - low)) * (to - from);
  const ticks = [0];
  for (let power = Math.floor(Math.log10(linearUpTo)); 10 ** power <= Math.max(-least, largest); power += 1) {
    for (const tick of [10 ** power, -(10 ** power)]) {
      if (tick >= least && tick <= largest && ticks.every((other) => Math.abs(place(tick) - place(other)) >= 14)) ticks.push(tick);
    }
  }
  for (const end of [least, largest]) {  // a side without a power of ten gets its end, of one digit
    const unit = 10 ** Math.floor(Math.log10(Math.abs(end)));
    if (end !== 0 && ticks.every((tick) => tick * end <= 0)) ticks.push(Number((Math.trunc(end / unit) * unit).toPrecision(1)));
  }
  return { least, largest, place, ticks };
}

// The lines of a vertical scale from `left` to `right`, with its ticks' labels.
function gridLines(y, labels, left, right) {
  return y.ticks.flatMap((tick, i) => [
    shape("line", { class: "grid", x1: left, x2: right, y1: y.place(tick), y2: y.place(tick) }),
    shape("text", { x: left - 7, y: y.place(tick) + 4, "text-anchor": "end" }, labels[i])]);
}

// The width of the labels of a vertical axis.
function labelWidth(labels) {
  return 12 + 6.6 * Math.max(2, ...labels.map((label) => label.length));
}
