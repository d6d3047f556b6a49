// Parts of a whole as stacked bars, one for each run, with a table of the parts: the numbers in the bars are its rows.

function stackedBars({ id, title, summary, bars, format, limitText }) {
  bars = bars.filter((bar) => bar.parts.length > 0);
  if (bars.length === 0) return null;
  const names = [...new Set(bars.flatMap((bar) => bar.parts.map((part) => part.name)))];
  const totals = bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0));
  const most = Math.max(...totals);
  const valueOf = (bar, name) => bar.parts.filter((part) => part.name === name).reduce((sum, part) => sum + part.value, 0);
  const partInWords = (b, name) => {
    const value = valueOf(bars[b], name);
    return `${bars.length > 1 ? `${bars[b].label}, ` : ""}${name}: ${format(value)}, ${percent(value / totals[b])}`;
  };
  const made = card({
    id, title, wide: true, summary,
    draw: (width) => {
      const named = bars.length > 1;
      const pitch = named ? 56 : 40;
      const height = bars.length * pitch + 2;
      const svg = drawing(width, height);
      bars.forEach((bar, b) => {
        const y = b * pitch + (named ? 18 : 2);
        if (named) svg.append(shape("text", { x: 0, y: y - 5 }, `${shortened(bar.label, Math.floor(width / 9))}: ${format(totals[b])}`));
        let x = 0;
        names.forEach((name, i) => {
          const length = (valueOf(bar, name) / most) * width;
          svg.append(shape("rect", { x, y, width: length, height: 32, ...lookOfPart(i) }));
          if (length > 22) svg.append(shape("text", { class: "in-bar", x: x + length / 2, y: y + 20, "text-anchor": "middle" }, String(i + 1)));
          x += length;
        });
      });
      return { svg, count: bars.length * names.length, show: (place) => partInWords(Math.floor(place / names.length), names[place % names.length]) };
    },
  });
  const rows = names.map((name, i) => ({
    cells: [String(i + 1), element("span", {}, swatch(12, 12, shape("rect", { width: 12, height: 12, ...lookOfPart(i) })), " ", name), ...bars.map((bar, b) => {
      const value = valueOf(bar, name);
      return `${format(value)}${totals[b] > 0 ? ` (${percent(value / totals[b])})` : ""}`;
    })],
  }));
  rows.push({ cells: ["", "together", ...totals.map((total) => format(total))] });
  if (limitText) rows.push({ cells: ["", limitText, ...bars.map((bar) => (bar.limit ? format(bar.limit) : "\u2013"))] });
  made.figure.append(table({
    columns: [{ title: "#", plain: true }, { title: "part" }, ...bars.map((bar) => ({ title: bars.length > 1 ? bar.label : "", number: true }))],
    rows, label: title }));
  return made.figure;
}

function lookOfPart(i) {
  return { class: `bar f${i % 6}`, opacity: i >= 6 ? 0.65 : 1 };
}
